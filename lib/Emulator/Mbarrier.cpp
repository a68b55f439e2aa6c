//===- Mbarrier.cpp - Barrier objects and bulk copies ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bulk copies happen when a phase has all its arrivals and someone looks, which
// is later than on any hardware: data read without a wait is not there yet.
//
//===----------------------------------------------------------------------===//

#include "Mbarrier.h"
#include "Access.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace sparseditto;
using namespace sparseditto::emulator;

static MbarrierState &find(ThreadContext &thread, unsigned site,
                           uint64_t address) {
  BlockRunner &runner = *thread.runner;
  auto &barriers = runner.mbarriers();
  auto it = barriers.find(runner.shared().offsetOf(address));
  if (it == barriers.end())
    runner.raise(thread, FaultKind::InvalidOperand, site, [&] {
      return llvm::formatv(
                 "no mbarrier was initialized at {0}",
                 runner.shared().describe(runner.shared().offsetOf(address)))
          .str();
    });
  return it->second;
}

static void copyNow(BlockRunner &runner, const BulkCopy &copy,
                    MbarrierState &barrier) {
  SharedMemory &shared = runner.shared();
  unsigned offset = shared.offsetOf(copy.destination);
  std::memcpy(reinterpret_cast<void *>(copy.destination),
              reinterpret_cast<const void *>(copy.source), copy.size);
  shared.mark(offset, copy.size, ByteState::Written);
  barrier.transactions -= copy.size;
  if (!runner.launch().options.checkRaces)
    return;
  // As if the issuer had stored the bytes before it arrived.
  checkSharedRace(*copy.issuer, offset, copy.size, AccessKind::Store,
                  copy.site);
  runner.races().release(copy.issuer->index, barrier.arriving);
}

/// Ends the phase if nothing is missing; with `copy`, copies what is pending
/// once all have arrived.
static void settle(BlockRunner &runner, MbarrierState &barrier, bool copy) {
  if (barrier.pending != 0)
    return;
  if (copy) {
    std::vector<BulkCopy> copies = std::move(barrier.copies);
    barrier.copies.clear();
    for (const BulkCopy &c : copies)
      copyNow(runner, c, barrier);
  }
  if (!barrier.copies.empty() || barrier.transactions != 0)
    return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.completed = std::move(barrier.arriving);
  barrier.arriving = RaceDetector::Snapshot();
  for (ThreadContext *waiter : barrier.waiters)
    runner.makeReady(*waiter);
  barrier.waiters.clear();
  runner.noteProgress();
}

static uint64_t arrive(ThreadContext &thread, unsigned site,
                       MbarrierState &barrier, uint64_t count) {
  BlockRunner &runner = *thread.runner;
  if (count == 0 || count > barrier.pending)
    runner.raise(thread, FaultKind::InvalidOperand, site, [&] {
      return llvm::formatv("{0} arrivals at an mbarrier that waits for {1}",
                           count, barrier.pending)
          .str();
    });
  uint64_t token = barrier.phase;
  if (runner.launch().options.checkRaces)
    runner.races().release(thread.index, barrier.arriving);
  barrier.pending -= count;
  settle(runner, barrier, !barrier.waiters.empty());
  return token;
}

/// Later phases need that many arrivals fewer.
static void dropFrom(MbarrierState &barrier, uint64_t count) {
  barrier.count -= std::min<uint64_t>(barrier.count, count);
}

static bool waitFor(ThreadContext &thread, unsigned site,
                    MbarrierState &barrier, bool isParity, uint64_t value,
                    bool suspends) {
  BlockRunner &runner = *thread.runner;
  auto done = [&] {
    return isParity ? (barrier.phase & 1) != (value & 1)
                    : barrier.phase > value;
  };
  if (!done())
    settle(runner, barrier, true);
  if (!done() && suspends) {
    // Woken when the phase ends, even if the next one has ended by then, too.
    thread.state = ThreadState::Mbarrier;
    thread.site = site;
    thread.waitsFor = &barrier;
    barrier.waiters.push_back(&thread);
    runner.suspend(thread);
  } else if (!done()) {
    // A test that fails may be repeated: let the others go first.
    thread.state = ThreadState::Polling;
    thread.site = site;
    runner.suspend(thread);
    if (!done())
      return false;
  }
  if (runner.launch().options.checkRaces)
    runner.races().acquire(thread.index, barrier.completed);
  return true;
}

static void initialize(ThreadContext &thread, unsigned site, uint64_t address,
                       uint64_t count) {
  BlockRunner &runner = *thread.runner;
  if (count == 0 || count >= 1u << 20)
    runner.raise(thread, FaultKind::InvalidOperand, site, [&] {
      return llvm::formatv("an mbarrier cannot wait for {0} arrivals", count)
          .str();
    });
  accessMemory(thread, address, 8, 8, AccessKind::Store, site);
  MbarrierState state;
  state.count = state.pending = static_cast<uint32_t>(count);
  runner.mbarriers()[runner.shared().offsetOf(address)] = std::move(state);
}

uint64_t emulator::mbarrierOperation(ThreadContext &thread, unsigned site,
                                     MbarrierOp op, uint64_t address,
                                     uint64_t value) {
  BlockRunner &runner = *thread.runner;
  checkSharedOperand(thread, address, site);
  if (op == MbarrierOp::Init) {
    initialize(thread, site, address, value);
    return 0;
  }
  accessMemory(thread, address, 8, 8, AccessKind::Atomic, site);
  MbarrierState &barrier = find(thread, site, address);
  // Whatever could have completed before this operation has.
  bool isWait = op == MbarrierOp::TestWait ||
                op == MbarrierOp::TestWaitParity || op == MbarrierOp::TryWait ||
                op == MbarrierOp::TryWaitParity;
  if (!isWait)
    settle(runner, barrier, true);
  switch (op) {
  case MbarrierOp::Init:
    break;
  case MbarrierOp::Invalidate:
    runner.mbarriers().erase(runner.shared().offsetOf(address));
    break;
  case MbarrierOp::ArriveDrop:
    dropFrom(barrier, value);
    return arrive(thread, site, barrier, value);
  case MbarrierOp::Arrive:
    return arrive(thread, site, barrier, value);
  case MbarrierOp::ArriveDropExpect:
    dropFrom(barrier, 1);
    barrier.transactions += value;
    return arrive(thread, site, barrier, 1);
  case MbarrierOp::ArriveExpect:
    barrier.transactions += value;
    return arrive(thread, site, barrier, 1);
  case MbarrierOp::Expect:
    barrier.transactions += value;
    break;
  case MbarrierOp::Complete:
    barrier.transactions -= value;
    settle(runner, barrier, true);
    break;
  case MbarrierOp::TestWait:
    return waitFor(thread, site, barrier, false, value, false);
  case MbarrierOp::TestWaitParity:
    return waitFor(thread, site, barrier, true, value, false);
  case MbarrierOp::TryWait:
    return waitFor(thread, site, barrier, false, value, true);
  case MbarrierOp::TryWaitParity:
    return waitFor(thread, site, barrier, true, value, true);
  case MbarrierOp::ArriveAfterCopies:
    // The thread's own copies end here at the latest.
    waitAllCopies(thread);
    if (value == 0)
      ++barrier.pending;
    arrive(thread, site, barrier, 1);
    break;
  }
  return 0;
}

static void checkBulk(ThreadContext &thread, unsigned site, uint64_t a,
                      uint64_t b, unsigned size) {
  if ((a | b | size) % 16 != 0)
    thread.runner->raise(thread, FaultKind::Misaligned, site, [&] {
      return llvm::formatv(
                 "bulk copy of {0} bytes between {1:x} and {2:x}; size and "
                 "addresses must be multiples of 16",
                 size, a, b)
          .str();
    });
}

void emulator::issueBulkLoad(ThreadContext &thread, unsigned site,
                             uint64_t destination, uint64_t source,
                             unsigned size, uint64_t barrierAddress) {
  BlockRunner &runner = *thread.runner;
  checkBulk(thread, site, destination, source, size);
  checkSharedOperand(thread, destination, site);
  checkSharedOperand(thread, barrierAddress, site);
  MbarrierState &barrier = find(thread, site, barrierAddress);
  if (size == 0)
    return;
  accessMemory(thread, destination, size, 16, AccessKind::Store, site);
  checkGlobalRange(thread, source, size, AccessKind::Load, site);
  runner.shared().mark(runner.shared().offsetOf(destination), size,
                       ByteState::InFlight);
  barrier.copies.push_back({destination, source, size, site, &thread});
  if (!barrier.waiters.empty())
    settle(runner, barrier, true);
}

void emulator::issueBulkStore(ThreadContext &thread, unsigned site,
                              uint64_t destination, uint64_t source,
                              unsigned size) {
  checkBulk(thread, site, destination, source, size);
  if (size == 0)
    return;
  checkSharedOperand(thread, source, site);
  accessMemory(thread, source, size, 16, AccessKind::Load, site);
  checkGlobalRange(thread, destination, size, AccessKind::Store, site);
  thread.bulkUncommitted.push_back({destination, source, size, site, &thread});
}

void emulator::commitBulkStores(ThreadContext &thread) {
  thread.bulkGroups.push_back(std::move(thread.bulkUncommitted));
  thread.bulkUncommitted.clear();
}

static void storeNow(const std::vector<BulkCopy> &copies) {
  for (const BulkCopy &copy : copies)
    std::memcpy(reinterpret_cast<void *>(copy.destination),
                reinterpret_cast<const void *>(copy.source), copy.size);
}

void emulator::waitBulkStores(ThreadContext &thread, unsigned pending) {
  if (thread.bulkGroups.size() <= pending)
    return;
  auto end = thread.bulkGroups.end() - pending;
  for (auto it = thread.bulkGroups.begin(); it != end; ++it)
    storeNow(*it);
  thread.bulkGroups.erase(thread.bulkGroups.begin(), end);
}

void emulator::finishBulkStores(ThreadContext &thread) {
  waitBulkStores(thread, 0);
  storeNow(thread.bulkUncommitted);
  thread.bulkUncommitted.clear();
}
