//===- BlockRunner.cpp - Fibres of one block ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fault abandons all fibres of the block: nothing on their stacks owns
// memory, so they are never unwound. raise() makes its message itself, because
// a caller's would be left there.
//
//===----------------------------------------------------------------------===//

#include "BlockRunner.h"
#include "WarpOps.h"
#include "llvm/ADT/StringExtras.h"
#include <boost/context/detail/fcontext.hpp>
#include <csignal>

using namespace sparseditto;
using namespace sparseditto::emulator;
using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

/// The runner whose fibre this host thread executes, for the signal handler.
static thread_local BlockRunner *activeRunner = nullptr;

/// Rounds in which threads do nothing but failing tests.
static constexpr unsigned maxIdleRounds = 1000;
/// Back-edges between two looks at the clock.
static constexpr uint32_t fuelPerTurn = 1 << 20;

llvm::Error BlockRunner::prepare() {
  const auto &b = Launch.block;
  unsigned count = b[0] * b[1] * b[2];
  if (llvm::Error error = Shared.map())
    return error;
  if (llvm::Error error = Stacks.map(count))
    return error;
  Threads.resize(count);
  Warps.resize((count + 31) / 32);
  Cache.resize(Launch.sites->size());
  for (unsigned i = 0; i < count; ++i) {
    ThreadContext &t = Threads[i];
    t.index = i;
    t.tid[0] = i % b[0];
    t.tid[1] = i / b[0] % b[1];
    t.tid[2] = i / b[0] / b[1];
    t.laneId = i % 32;
    t.warpId = i / 32;
    for (unsigned d = 0; d < 3; ++d) {
      t.ntid[d] = b[d];
      t.nctaid[d] = Launch.grid[d];
    }
    t.warpCount = Warps.size();
    t.dynamicSharedBytes = Launch.dynamicSharedBytes;
    t.sharedBase = Shared.base();
    t.cache = Cache.data();
    t.runner = this;
  }
  for (unsigned w = 0; w < Warps.size(); ++w) {
    unsigned lanes = std::min(32u, count - w * 32);
    Warps[w].lanes = &Threads[w * 32];
    Warps[w].valid = lanes == 32 ? ~0u : (1u << lanes) - 1;
  }
  return llvm::Error::success();
}

static void fiberMain(transfer_t transfer) {
  auto *thread = static_cast<ThreadContext *>(transfer.data);
  // The first resume hands over the scheduler the same way suspend() does.
  BlockRunner *runner = thread->runner;
  thread->fiber = transfer.fctx;
  runner->arrive(*thread);
  runner->launch().entry(thread, runner->launch().args);
  runner->exitThread(*thread);
}

void BlockRunner::resetBlock(std::array<unsigned, 3> block) {
  Shared.reset(*Launch.sharedRegions, Launch.dynamicSharedBytes);
  if (Launch.options.checkRaces)
    Races.reset(Threads.size(), Shared.usedBytes());
  for (BarrierState &barrier : Barriers)
    barrier = BarrierState();
  Mbarriers.clear();
  for (ThreadContext &t : Threads) {
    for (unsigned d = 0; d < 3; ++d)
      t.ctaid[d] = block[d];
    t.state = ThreadState::Ready;
    t.fuel = fuelPerTurn;
    t.site = 0;
    t.uncommitted.clear();
    t.groups.clear();
    t.bulkUncommitted.clear();
    t.bulkGroups.clear();
    t.stack = Stacks.fresh(t.index);
    t.fiber =
        make_fcontext(Stacks.top(t.index), FiberStacks::usableBytes, fiberMain);
  }
  for (WarpState &w : Warps) {
    w.ready = w.valid;
    w.waiting = w.exited = 0;
  }
  Live = Threads.size();
}

bool BlockRunner::run(std::array<unsigned, 3> block) {
  resetBlock(block);
  schedule();
  if (Failed)
    return false;
  ++counts.blocks;
  counts.threads += Threads.size();
  return true;
}

llvm::Error BlockRunner::takeFault() {
  return llvm::Error(std::unique_ptr<llvm::ErrorInfoBase>(std::move(Fault)));
}

void BlockRunner::schedule() {
  activeRunner = this;
  volatile unsigned idle = 0;
  // A trap on a fibre comes back here with its fault recorded.
  if (sigsetjmp(SignalExit, 1) != 0) {
    afterJump(OwnStack, __builtin_frame_address(0));
  } else {
    while (Live != 0 && !Failed) {
      Progress = Polled = false;
      bool reverse = Launch.options.order == EmulatorOptions::Reverse;
      for (unsigned i = 0, n = Warps.size(); i < n && !Failed; ++i)
        if (runWarp(Warps[reverse ? n - 1 - i : i]))
          Progress = true;
      // Tests that fail may be repeated a number of times before the thread
      // does something else.
      idle = Progress ? 0 : idle + 1;
      if (!Failed && Live != 0 && (idle > maxIdleRounds || (idle && !Polled)))
        reportDeadlock();
    }
  }
  activeRunner = nullptr;
  Running = nullptr;
}

bool BlockRunner::runWarp(WarpState &warp) {
  bool progress = false;
  while (uint32_t ready = warp.ready) {
    ThreadContext &thread = warp.lanes[__builtin_ctz(ready)];
    resume(thread);
    if (Failed)
      return true;
    // A polling lane got no further: let the other warps go first.
    if (thread.state == ThreadState::Polling) {
      Polled = true;
      continue;
    }
    progress = true;
  }
  // Lanes that polled get their next turn in the next round.
  for (uint32_t lanes = warp.valid & ~warp.exited & ~warp.waiting; lanes;
       lanes &= lanes - 1) {
    ThreadContext &thread = warp.lanes[__builtin_ctz(lanes)];
    if (thread.state == ThreadState::Polling)
      makeReady(thread);
  }
  return progress;
}

void BlockRunner::resume(ThreadContext &thread) {
  Running = &thread;
  beforeSwitch(OwnStack, thread.stack);
  transfer_t back = jump_fcontext(thread.fiber, &thread);
  afterSwitch(OwnStack, thread.stack);
  thread.fiber = back.fctx;
}

void BlockRunner::suspend(ThreadContext &thread) {
  warpOf(thread).ready &= ~(1u << thread.laneId);
  // While a fibre runs, `fiber` holds the scheduler's continuation.
  beforeSwitch(thread.stack, OwnStack,
               /*forGood=*/thread.state == ThreadState::Exited);
  transfer_t back = jump_fcontext(thread.fiber, nullptr);
  afterSwitch(thread.stack, OwnStack);
  thread.fiber = back.fctx;
}

void BlockRunner::makeReady(ThreadContext &thread) {
  thread.state = ThreadState::Ready;
  WarpState &warp = warpOf(thread);
  warp.ready |= 1u << thread.laneId;
  warp.waiting &= ~(1u << thread.laneId);
}

void BlockRunner::exitThread(ThreadContext &thread) {
  finishBulkStores(thread);
  thread.state = ThreadState::Exited;
  warpOf(thread).exited |= 1u << thread.laneId;
  --Live;
  suspend(thread);
  __builtin_unreachable();
}

void BlockRunner::record(const ThreadContext &thread, FaultKind kind,
                         unsigned siteIndex, std::string message) {
  Failed = true;
  Fault = std::make_unique<EmulatorFault>();
  Fault->kind = kind;
  Fault->kernel = Launch.kernel;
  Fault->inThread = true;
  for (unsigned d = 0; d < 3; ++d) {
    Fault->block[d] = thread.ctaid[d];
    Fault->thread[d] = thread.tid[d];
  }
  if (siteIndex < Launch.sites->size()) {
    const OperationRecord &op = (*Launch.operations)[site(siteIndex).operation];
    Fault->operation = op.name;
    Fault->location = op.location;
  }
  Fault->message = std::move(message);
}

void BlockRunner::raise(const ThreadContext &thread, FaultKind kind,
                        unsigned siteIndex,
                        llvm::function_ref<std::string()> message) {
  record(thread, kind, siteIndex, message());
  // `thread` may be a lane the running fibre acts for; leave from the latter.
  suspend(*Running);
  __builtin_unreachable();
}

void BlockRunner::checkDeadline(ThreadContext &thread, unsigned siteIndex) {
  if (std::chrono::steady_clock::now() < Launch.deadline)
    return;
  raise(thread, FaultKind::Hang, siteIndex, [&] {
    return "the launch ran longer than " +
           llvm::utostr(uint64_t(Launch.options.timeoutSeconds)) + " s";
  });
}

std::string
BlockRunner::whereabouts(const std::vector<const ThreadContext *> &threads) {
  // Grouped by what they do, in order of first appearance.
  std::vector<std::pair<std::string, unsigned>> groups;
  for (const ThreadContext *t : threads) {
    std::string what;
    if (t->state == ThreadState::Exited) {
      what = "have exited";
    } else {
      const OperationRecord &op = (*Launch.operations)[site(t->site).operation];
      what = "wait at '" + op.name + "' " + op.location;
    }
    auto it = llvm::find_if(groups, [&](auto &g) { return g.first == what; });
    if (it == groups.end())
      groups.emplace_back(what, 1);
    else
      ++it->second;
  }
  std::string text;
  for (auto &[what, count] : groups)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  return text;
}

void BlockRunner::reportDeadlock() {
  // Non-exited lanes suffice for the operations that say so; try those first.
  for (WarpState &warp : Warps)
    if (retryWithoutExited(*this, warp))
      return;
  const ThreadContext *collective = nullptr, *barrier = nullptr,
                      *polling = nullptr, *mbarrier = nullptr;
  for (const ThreadContext &t : Threads) {
    if (t.state == ThreadState::Collective && !collective)
      collective = &t;
    else if (t.state == ThreadState::Barrier && !barrier)
      barrier = &t;
    else if (t.state == ThreadState::Mbarrier && !mbarrier)
      mbarrier = &t;
    else if (t.state == ThreadState::Ready && !polling)
      polling = &t;
  }
  if (collective) {
    WarpState &warp = warpOf(*collective);
    std::vector<const ThreadContext *> missing;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const ThreadContext &t = warp.lanes[lane];
      if (!(collective->mask >> lane & 1) || !(warp.valid >> lane & 1))
        continue;
      if (t.state != ThreadState::Collective || t.site != collective->site ||
          t.mask != collective->mask)
        missing.push_back(&t);
    }
    record(*collective, FaultKind::DivergentCollective, collective->site,
           "'" + site(collective->site).instruction + "' waits for lanes 0x" +
               llvm::utohexstr(collective->mask) + " of warp " +
               std::to_string(collective->warpId) + ", of which " +
               whereabouts(missing));
    return;
  }
  if (barrier) {
    const BarrierState &state = Barriers[barrier->barrier];
    std::vector<const ThreadContext *> others;
    for (const ThreadContext &t : Threads)
      if (t.state != ThreadState::Barrier || t.barrier != barrier->barrier)
        others.push_back(&t);
    record(*barrier, FaultKind::DivergentBarrier, barrier->site,
           std::to_string(state.arrived) + " of " +
               std::to_string(state.expected) +
               " threads have arrived at barrier " +
               std::to_string(barrier->barrier) + "; of the other threads " +
               (others.empty() ? std::string("there are none")
                               : whereabouts(others)));
    return;
  }
  if (mbarrier) {
    const MbarrierState &state = *mbarrier->waitsFor;
    int64_t bytes = state.transactions;
    for (const BulkCopy &copy : state.copies)
      bytes -= copy.size;
    record(*mbarrier, FaultKind::Hang, mbarrier->site,
           "phase " + llvm::utostr(state.phase) +
               " of the mbarrier never completes: " +
               std::to_string(state.pending) + " arrivals and " +
               std::to_string(bytes) + " bytes are missing");
    return;
  }
  const ThreadContext &t = polling ? *polling : Threads.front();
  record(t, FaultKind::Hang, t.site,
         "the wait never completes: no thread of the block can make progress");
}

void BlockRunner::handleSignal(int signal, uint64_t address) {
  BlockRunner *runner = activeRunner;
  if (!runner || !runner->Running)
    return;
  const ThreadContext &thread = *runner->Running;
  if (signal == SIGFPE) {
    runner->record(thread, FaultKind::Trap, ~0u, "integer division by zero");
  } else if (runner->Stacks.inGuard(address)) {
    runner->record(thread, FaultKind::StackOverflow, ~0u,
                   "local memory exceeds " +
                       std::to_string(FiberStacks::usableBytes) + " bytes");
  } else {
    const Allocation *buffer = runner->Launch.allocations.find(address);
    std::string text = "access to address 0x" + llvm::utohexstr(address);
    if (buffer)
      text += ", in the guard zone of buffer '" + buffer->name + "' (" +
              std::to_string(buffer->end - buffer->begin) + " bytes) at byte " +
              std::to_string(int64_t(address - buffer->begin));
    runner->record(thread, FaultKind::GuardPage, ~0u, std::move(text));
  }
  siglongjmp(runner->SignalExit, 1);
}
