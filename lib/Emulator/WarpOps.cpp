//===- WarpOps.cpp - Operations of a whole warp ---------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last lane to arrive executes the operation for all.
//
//===----------------------------------------------------------------------===//

#include "WarpOps.h"
#include "Access.h"
#include "MatrixOps.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace sparseditto;
using namespace sparseditto::emulator;

namespace {

/// One execution: the warp, the lanes taking part and the site.
struct Execution {
  BlockRunner &runner;
  WarpState &warp;
  unsigned siteIndex;
  const Site &site;
  uint32_t lanes; ///< Taking part; the others have exited.

  ThreadContext &lane(unsigned i) const { return warp.lanes[i]; }
  uint32_t arg(unsigned lane, unsigned i) const {
    return static_cast<uint32_t>(warp.lanes[lane].args[i]);
  }
  void setResult(unsigned lane, unsigned i, uint32_t value) const {
    warp.lanes[lane].results[i] = value;
  }
  template <typename Fn> void forEachLane(Fn fn) const {
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
      fn(static_cast<unsigned>(__builtin_ctz(rest)));
  }
};

} // namespace

static void executeShuffle(const Execution &e) {
  e.forEachLane([&](unsigned lane) {
    int b = e.arg(lane, 1) & 31, c = e.arg(lane, 2) & 31;
    int segment = e.arg(lane, 2) >> 8 & 31, self = lane;
    int maxLane = (self & segment) | (c & ~segment), minLane = self & segment;
    int source = self;
    bool inRange = true;
    switch (e.site.warpOp) {
    case WarpOp::ShuffleUp:
      source = self - b;
      inRange = source >= maxLane;
      break;
    case WarpOp::ShuffleDown:
      source = self + b;
      inRange = source <= maxLane;
      break;
    case WarpOp::ShuffleBfly:
      source = self ^ b;
      inRange = source <= maxLane;
      break;
    default:
      source = minLane | (b & ~segment);
      inRange = source <= maxLane;
      break;
    }
    if (!inRange)
      source = self;
    if (!(e.lanes >> source & 1))
      e.runner.raise(
          e.lane(lane), FaultKind::DivergentCollective, e.siteIndex, [&] {
            return "'" + e.site.instruction + "' reads lane " +
                   std::to_string(source) + ", which does not take part in it";
          });
    e.setResult(lane, 0, e.arg(source, 0));
    e.setResult(lane, 1, inRange);
  });
}

static void executeVote(const Execution &e) {
  uint32_t ballot = 0;
  e.forEachLane([&](unsigned lane) {
    if (e.arg(lane, 0) & 1)
      ballot |= 1u << lane;
  });
  uint32_t value = ballot;
  if (e.site.warpOp == WarpOp::VoteAll)
    value = ballot == e.lanes;
  else if (e.site.warpOp == WarpOp::VoteAny)
    value = ballot != 0;
  else if (e.site.warpOp == WarpOp::VoteUni)
    value = ballot == 0 || ballot == e.lanes;
  e.forEachLane([&](unsigned lane) { e.setResult(lane, 0, value); });
}

static void executeMatch(const Execution &e) {
  e.forEachLane([&](unsigned lane) {
    uint32_t same = 0;
    e.forEachLane([&](unsigned other) {
      if (e.arg(other, 0) == e.arg(lane, 0))
        same |= 1u << other;
    });
    e.setResult(lane, 0, same);
  });
}

static void executeReduce(const Execution &e) {
  uint32_t value = e.arg(__builtin_ctz(e.lanes), 0);
  bool first = true;
  e.forEachLane([&](unsigned lane) {
    if (std::exchange(first, false))
      return;
    uint32_t other = e.arg(lane, 0);
    switch (e.site.warpOp) {
    case WarpOp::ReduceAdd:
      value += other;
      break;
    case WarpOp::ReduceAnd:
      value &= other;
      break;
    case WarpOp::ReduceOr:
      value |= other;
      break;
    case WarpOp::ReduceXor:
      value ^= other;
      break;
    case WarpOp::ReduceMin:
      value = std::min(int32_t(value), int32_t(other));
      break;
    case WarpOp::ReduceMax:
      value = std::max(int32_t(value), int32_t(other));
      break;
    case WarpOp::ReduceUMin:
      value = std::min(value, other);
      break;
    default:
      value = std::max(value, other);
      break;
    }
  });
  e.forEachLane([&](unsigned lane) { e.setResult(lane, 0, value); });
}

/// Lane 8*j + r gives the address of row r of matrix j; in the registers lane l
/// has row l/4, columns 2*(l%4) and the next (row and column swapped with
/// .trans).
static void executeLoadMatrix(const Execution &e) {
  for (unsigned matrix = 0; matrix < e.site.count; ++matrix) {
    uint16_t rows[8][8];
    for (unsigned r = 0; r < 8; ++r) {
      ThreadContext &owner = e.lane(8 * matrix + r);
      uint64_t address = owner.args[0];
      checkSharedOperand(owner, address, e.siteIndex);
      accessMemory(owner, address, 16, 16, AccessKind::WarpLoad, e.siteIndex);
      std::memcpy(rows[r], reinterpret_cast<const void *>(address), 16);
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned r = lane / 4, c = 2 * (lane % 4);
      uint32_t low = e.site.transpose ? rows[c][r] : rows[r][c];
      uint32_t high = e.site.transpose ? rows[c + 1][r] : rows[r][c + 1];
      e.setResult(lane, matrix, low | high << 16);
    }
  }
}

static void executeStoreMatrix(const Execution &e) {
  for (unsigned matrix = 0; matrix < e.site.count; ++matrix) {
    uint16_t rows[8][8];
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned r = lane / 4, c = 2 * (lane % 4);
      uint32_t value = e.arg(lane, 1 + matrix);
      uint16_t low = value, high = value >> 16;
      (e.site.transpose ? rows[c][r] : rows[r][c]) = low;
      (e.site.transpose ? rows[c + 1][r] : rows[r][c + 1]) = high;
    }
    for (unsigned r = 0; r < 8; ++r) {
      ThreadContext &owner = e.lane(8 * matrix + r);
      uint64_t address = owner.args[0];
      checkSharedOperand(owner, address, e.siteIndex);
      accessMemory(owner, address, 16, 16, AccessKind::WarpStore, e.siteIndex);
      std::memcpy(reinterpret_cast<void *>(address), rows[r], 16);
    }
  }
}

static void executeMatrix(const Execution &e) {
  const uint64_t *args[32];
  uint64_t *results[32];
  for (unsigned lane = 0; lane < 32; ++lane) {
    args[lane] = e.lane(lane).args;
    results[lane] = e.lane(lane).results;
  }
  MatrixProblem problem = computeMatrixOp(e.site.matrix, args, results);
  if (!problem.lane)
    return;
  e.runner.raise(e.lane(*problem.lane), FaultKind::InvalidOperand, e.siteIndex,
                 [&] { return std::move(problem.message); });
}

static void execute(const Execution &e) {
  ++e.runner.counts.warpOperations;
  switch (e.site.warpOp) {
  case WarpOp::Matrix:
    return executeMatrix(e);
  case WarpOp::LoadMatrix:
    return executeLoadMatrix(e);
  case WarpOp::StoreMatrix:
    return executeStoreMatrix(e);
  case WarpOp::ShuffleIdx:
  case WarpOp::ShuffleUp:
  case WarpOp::ShuffleDown:
  case WarpOp::ShuffleBfly:
    return executeShuffle(e);
  case WarpOp::VoteAll:
  case WarpOp::VoteAny:
  case WarpOp::VoteUni:
  case WarpOp::VoteBallot:
    return executeVote(e);
  case WarpOp::MatchAny:
    return executeMatch(e);
  case WarpOp::ReduceAdd:
  case WarpOp::ReduceAnd:
  case WarpOp::ReduceOr:
  case WarpOp::ReduceXor:
  case WarpOp::ReduceMin:
  case WarpOp::ReduceMax:
  case WarpOp::ReduceUMin:
  case WarpOp::ReduceUMax:
    return executeReduce(e);
  case WarpOp::Sync: {
    std::vector<unsigned> threads;
    e.forEachLane(
        [&](unsigned lane) { threads.push_back(e.lane(lane).index); });
    return orderThreads(e.runner, threads, threads);
  }
  case WarpOp::Elect:
    e.forEachLane([&](unsigned lane) {
      unsigned leader = __builtin_ctz(e.lanes);
      e.setResult(lane, 0, leader);
      e.setResult(lane, 1, lane == leader);
    });
    return;
  }
}

/// Lanes of `mask` that wait for the very operation that `thread` waits for.
static uint32_t matchingLanes(const WarpState &warp,
                              const ThreadContext &thread) {
  if (warp.uniform)
    return warp.waiting & thread.mask;
  uint32_t result = 0;
  for (uint32_t rest = warp.waiting & thread.mask; rest; rest &= rest - 1) {
    unsigned lane = __builtin_ctz(rest);
    const ThreadContext &other = warp.lanes[lane];
    if (other.site == thread.site && other.mask == thread.mask)
      result |= 1u << lane;
  }
  return result;
}

void emulator::arriveAtWarpOp(ThreadContext &thread, unsigned siteIndex,
                              uint32_t mask, const uint64_t *args,
                              uint64_t *results) {
  BlockRunner &runner = *thread.runner;
  WarpState &warp = runner.warpOf(thread);
  const Site &site = runner.site(siteIndex);
  uint32_t self = 1u << thread.laneId;
  if (site.aligned) {
    mask = ~0u;
    if (warp.valid != mask)
      runner.raise(thread, FaultKind::DivergentCollective, siteIndex, [&] {
        return "'" + site.instruction + "' needs 32 lanes; warp " +
               std::to_string(thread.warpId) + " has " +
               std::to_string(__builtin_popcount(warp.valid));
      });
  } else if (!(mask & self)) {
    runner.raise(thread, FaultKind::DivergentCollective, siteIndex, [&] {
      return "lane " + std::to_string(thread.laneId) + " executes '" +
             site.instruction + "' with member mask 0x" +
             llvm::utohexstr(mask) + ", which leaves it out";
    });
  }
  thread.state = ThreadState::Collective;
  thread.site = siteIndex;
  thread.mask = mask;
  thread.args = args;
  thread.results = results;
  thread.done = false;
  if (warp.waiting == 0) {
    warp.site = siteIndex;
    warp.mask = mask;
    warp.uniform = true;
  } else if (warp.site != siteIndex || warp.mask != mask) {
    warp.uniform = false;
  }
  warp.waiting |= self;
  uint32_t missing = mask & ~matchingLanes(warp, thread);
  if (missing != 0) {
    runner.suspend(thread);
    if (thread.done)
      return;
    // Woken by retryWithoutExited: the missing lanes are gone.
    missing = mask & ~matchingLanes(warp, thread);
  }
  Execution e{runner, warp, siteIndex, site, mask & ~missing};
  execute(e);
  e.forEachLane([&](unsigned lane) {
    ThreadContext &other = warp.lanes[lane];
    other.done = true;
    runner.makeReady(other);
  });
}

bool emulator::retryWithoutExited(BlockRunner &runner, WarpState &warp) {
  for (uint32_t rest = warp.waiting; rest; rest &= rest - 1) {
    ThreadContext &thread = warp.lanes[__builtin_ctz(rest)];
    if (thread.state != ThreadState::Collective ||
        runner.site(thread.site).aligned)
      continue;
    uint32_t gone = warp.exited | ~warp.valid;
    if ((thread.mask & ~matchingLanes(warp, thread) & ~gone) != 0)
      continue;
    // It still counts as waiting, so that it finds itself in the mask.
    thread.state = ThreadState::Ready;
    warp.ready |= 1u << thread.laneId;
    return true;
  }
  return false;
}
