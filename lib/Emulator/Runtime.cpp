//===- Runtime.cpp - Functions that generated code calls ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runtime.h"
#include "Access.h"
#include "FiberStacks.h"
#include "WarpOps.h"
#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

using namespace sparseditto;
using namespace sparseditto::emulator;

//===----------------------------------------------------------------------===//
// Called from generated code
//===----------------------------------------------------------------------===//

static void emuAccess(ThreadContext *thread, uint64_t address, uint32_t size,
                      uint32_t alignment, uint32_t kind, uint32_t site) {
  if (size != 0)
    accessMemory(*thread, address, size, alignment, AccessKind(kind), site);
}

static void emuLocalBounds(ThreadContext *thread, int64_t offset, uint32_t size,
                           uint64_t limit, uint32_t site) {
  thread->runner->raise(*thread, FaultKind::OutOfBounds, site, [&] {
    return std::to_string(size) + "-byte access at byte " +
           std::to_string(offset) + " of a local array of " +
           std::to_string(limit) + " bytes";
  });
}

static void emuWarp(ThreadContext *thread, uint32_t site, uint32_t mask,
                    const uint64_t *args, uint64_t *results) {
  arriveAtWarpOp(*thread, site, mask, args, results);
}

static void finishBarrier(BlockRunner &runner, BarrierState &state) {
  ++runner.counts.barriers;
  std::vector<ThreadContext *> waiters = std::move(state.waiters);
  std::vector<unsigned> indices;
  for (const ThreadContext *waiter : waiters)
    indices.push_back(waiter->index);
  orderThreads(runner, state.arrivals, indices);
  BarrierState finished = std::exchange(state, BarrierState());
  for (ThreadContext *waiter : waiters) {
    waiter->reduction[0] = finished.reductionCount;
    waiter->reduction[1] = finished.reductionAnd;
    waiter->reduction[2] = finished.reductionOr;
    runner.makeReady(*waiter);
  }
  runner.noteProgress();
}

static uint32_t emuBarrier(ThreadContext *thread, uint32_t site, uint32_t id,
                           uint32_t count, uint32_t modeBits, uint32_t aligned,
                           uint32_t predicate) {
  BlockRunner &runner = *thread->runner;
  BarrierMode mode = BarrierMode(modeBits);
  if (id >= 16)
    runner.raise(*thread, FaultKind::InvalidOperand, site, [&] {
      return "barrier " + std::to_string(id) + " does not exist";
    });
  if (count % 32 != 0)
    runner.raise(*thread, FaultKind::InvalidOperand, site, [&] {
      return "thread count " + std::to_string(count) + " of barrier " +
             std::to_string(id) + " is no multiple of 32";
    });
  BarrierState &state = runner.barrier(id);
  // On hardware whole warps arrive, so a count may exceed a partial last warp.
  unsigned expected = count == 0 ? runner.numThreads() : count;
  if (state.arrived != 0 && state.expected != expected)
    runner.raise(*thread, FaultKind::DivergentBarrier, site, [&] {
      return "arrives at barrier " + std::to_string(id) + " for " +
             std::to_string(expected) + " threads while others wait for " +
             std::to_string(state.expected);
    });
  if (aligned) {
    WarpState &warp = runner.warpOf(*thread);
    for (uint32_t rest = warp.valid & ~warp.exited; rest; rest &= rest - 1) {
      const ThreadContext &lane = warp.lanes[__builtin_ctz(rest)];
      if (lane.state != ThreadState::Barrier || lane.barrier != id ||
          lane.site == site)
        continue;
      const OperationRecord &other =
          (*runner.launch().operations)[runner.site(lane.site).operation];
      runner.raise(*thread, FaultKind::DivergentBarrier, site, [&] {
        return "lane " + std::to_string(lane.laneId) +
               " of the same warp waits at another place, '" + other.name +
               "' " + other.location;
      });
    }
  }
  state.expected = expected;
  ++state.arrived;
  state.arrivals.push_back(thread->index);
  bool bit = predicate & 1;
  state.reductionCount += bit;
  state.reductionAnd &= bit;
  state.reductionOr |= bit;
  thread->site = site;
  thread->barrier = id;
  if (mode != BarrierMode::Arrive)
    state.waiters.push_back(thread);
  if (state.arrived == state.expected) {
    finishBarrier(runner, state);
  } else if (mode != BarrierMode::Arrive) {
    thread->state = ThreadState::Barrier;
    runner.suspend(*thread);
  }
  switch (mode) {
  case BarrierMode::ReducePopc:
    return thread->reduction[0];
  case BarrierMode::ReduceAnd:
    return thread->reduction[1];
  case BarrierMode::ReduceOr:
    return thread->reduction[2];
  default:
    return 0;
  }
}

static void emuCopy(ThreadContext *thread, uint32_t site, uint64_t destination,
                    uint64_t source, uint32_t size, uint32_t sourceSize) {
  issueCopy(*thread, site, destination, source, size, sourceSize);
}
static void emuCopyCommit(ThreadContext *thread) { commitCopies(*thread); }
static void emuCopyWait(ThreadContext *thread, uint32_t pending) {
  waitCopies(*thread, pending);
}
static void emuCopyWaitAll(ThreadContext *thread) { waitAllCopies(*thread); }

static uint64_t emuMbarrier(ThreadContext *thread, uint32_t site, uint32_t op,
                            uint64_t address, uint64_t value) {
  return mbarrierOperation(*thread, site, MbarrierOp(op), address, value);
}
static void emuBulkLoad(ThreadContext *thread, uint32_t site,
                        uint64_t destination, uint64_t source, uint32_t size,
                        uint64_t barrier) {
  issueBulkLoad(*thread, site, destination, source, size, barrier);
}
static void emuBulkStore(ThreadContext *thread, uint32_t site,
                         uint64_t destination, uint64_t source, uint32_t size) {
  issueBulkStore(*thread, site, destination, source, size);
}
static void emuBulkCommit(ThreadContext *thread) { commitBulkStores(*thread); }
static void emuBulkWait(ThreadContext *thread, uint32_t pending) {
  waitBulkStores(*thread, pending);
}

static void emuExit(ThreadContext *thread) {
  thread->runner->exitThread(*thread);
}
static void emuTrap(ThreadContext *thread, uint32_t site) {
  thread->runner->raise(*thread, FaultKind::Trap, site,
                        [&] { return "the kernel executed a trap"; });
}

/// Instead of a kernel whose local arrays do not fit a fibre's stack.
static void emuHugeFrame(ThreadContext *thread, uint64_t bytes, uint32_t site) {
  thread->runner->raise(*thread, FaultKind::StackOverflow, site, [&] {
    return "local arrays take " + std::to_string(bytes) +
           " bytes, of at most " + std::to_string(FiberStacks::localBytes);
  });
}

/// A loop ran out of fuel: look at the clock and let the other threads go on,
/// one of which may be what this one is waiting for.
static void emuTick(ThreadContext *thread) {
  BlockRunner &runner = *thread->runner;
  thread->fuel = 1 << 20;
  runner.checkDeadline(*thread, ~0u);
  runner.noteProgress();
  thread->state = ThreadState::Polling;
  runner.suspend(*thread);
}

static uint32_t emuPrmt(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned s = selector >> (4 * i) & 15;
    uint32_t byte = bytes >> (8 * (s & 7)) & 0xff;
    if (s & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Conversions. A half or bfloat travels in the low bits of a vector register,
// which is how a float with those bits is passed, too.
//===----------------------------------------------------------------------===//

static float asFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
static uint16_t lowBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>(bits);
}
static float truncateToBFloat(float value) {
  return asFloat(floatToBFloat16(value));
}
static float truncateToHalf(float value) { return asFloat(floatToHalf(value)); }
static float extendHalf(float half) { return halfToFloat(lowBits(half)); }
static float truncateDoubleToBFloat(double value) {
  uint16_t bits;
  storeFromDouble(ElementType::BF16, value, &bits);
  return asFloat(bits);
}
static float truncateDoubleToHalf(double value) {
  uint16_t bits;
  storeFromDouble(ElementType::F16, value, &bits);
  return asFloat(bits);
}

/// libdevice's rsqrt, for kernels whose math was lowered to calls.
static float reciprocalSqrt(float x) { return 1.0f / std::sqrt(x); }

template <typename Fn> static void *address(Fn *fn) {
  return reinterpret_cast<void *>(fn);
}
using FloatFn = float(float);
using FloatFn2 = float(float, float);
using FloatFn3 = float(float, float, float);
using DoubleFn = double(double);
using DoubleFn3 = double(double, double, double);

llvm::ArrayRef<RuntimeSymbol> emulator::runtimeSymbols() {
  static const RuntimeSymbol symbols[] = {
      {"sd_emu_access", address(emuAccess)},
      {"sd_emu_local_bounds", address(emuLocalBounds)},
      {"sd_emu_warp", address(emuWarp)},
      {"sd_emu_barrier", address(emuBarrier)},
      {"sd_emu_copy", address(emuCopy)},
      {"sd_emu_copy_commit", address(emuCopyCommit)},
      {"sd_emu_copy_wait", address(emuCopyWait)},
      {"sd_emu_copy_wait_all", address(emuCopyWaitAll)},
      {"sd_emu_mbarrier", address(emuMbarrier)},
      {"sd_emu_bulk_load", address(emuBulkLoad)},
      {"sd_emu_bulk_store", address(emuBulkStore)},
      {"sd_emu_bulk_commit", address(emuBulkCommit)},
      {"sd_emu_bulk_wait", address(emuBulkWait)},
      {"sd_emu_exit", address(emuExit)},
      {"sd_emu_trap", address(emuTrap)},
      {"sd_emu_huge_frame", address(emuHugeFrame)},
      {"sd_emu_tick", address(emuTick)},
      {"sd_emu_prmt", address(emuPrmt)},
      {"__truncsfbf2", address(truncateToBFloat)},
      {"__truncdfbf2", address(truncateDoubleToBFloat)},
      {"__truncsfhf2", address(truncateToHalf)},
      {"__truncdfhf2", address(truncateDoubleToHalf)},
      {"__extendhfsf2", address(extendHalf)},
      {"memcpy", address<void *(void *, const void *, size_t)>(std::memcpy)},
      {"memmove", address<void *(void *, const void *, size_t)>(std::memmove)},
      {"memset", address<void *(void *, int, size_t)>(std::memset)},
      {"expf", address<FloatFn>(std::exp)},
      {"exp2f", address<FloatFn>(std::exp2)},
      {"exp10f", address<FloatFn>(::exp10f)},
      {"logf", address<FloatFn>(std::log)},
      {"log2f", address<FloatFn>(std::log2)},
      {"log10f", address<FloatFn>(std::log10)},
      {"sinf", address<FloatFn>(std::sin)},
      {"cosf", address<FloatFn>(std::cos)},
      {"tanhf", address<FloatFn>(std::tanh)},
      {"erff", address<FloatFn>(std::erf)},
      {"floorf", address<FloatFn>(std::floor)},
      {"ceilf", address<FloatFn>(std::ceil)},
      {"truncf", address<FloatFn>(std::trunc)},
      {"roundf", address<FloatFn>(std::round)},
      {"rintf", address<FloatFn>(std::rint)},
      {"nearbyintf", address<FloatFn>(std::nearbyint)},
      {"roundevenf", address<FloatFn>(std::nearbyint)},
      {"sqrtf", address<FloatFn>(std::sqrt)},
      {"powf", address<FloatFn2>(std::pow)},
      {"fmodf", address<FloatFn2>(std::fmod)},
      {"fminf", address<FloatFn2>(std::fmin)},
      {"fmaxf", address<FloatFn2>(std::fmax)},
      {"fmaf", address<FloatFn3>(std::fma)},
      {"fma", address<DoubleFn3>(std::fma)},
      {"exp", address<DoubleFn>(std::exp)},
      {"exp2", address<DoubleFn>(std::exp2)},
      {"log", address<DoubleFn>(std::log)},
      {"log2", address<DoubleFn>(std::log2)},
      {"__nv_expf", address<FloatFn>(std::exp)},
      {"__nv_exp2f", address<FloatFn>(std::exp2)},
      {"__nv_fast_expf", address<FloatFn>(std::exp)},
      {"__nv_logf", address<FloatFn>(std::log)},
      {"__nv_log2f", address<FloatFn>(std::log2)},
      {"__nv_erff", address<FloatFn>(std::erf)},
      {"__nv_tanhf", address<FloatFn>(std::tanh)},
      {"__nv_sinf", address<FloatFn>(std::sin)},
      {"__nv_cosf", address<FloatFn>(std::cos)},
      {"__nv_sqrtf", address<FloatFn>(std::sqrt)},
      {"__nv_rsqrtf", address(reciprocalSqrt)},
      {"__nv_fabsf", address<FloatFn>(std::fabs)},
      {"__nv_floorf", address<FloatFn>(std::floor)},
      {"__nv_ceilf", address<FloatFn>(std::ceil)},
      {"__nv_powf", address<FloatFn2>(std::pow)},
      {"__nv_fminf", address<FloatFn2>(std::fmin)},
      {"__nv_fmaxf", address<FloatFn2>(std::fmax)},
      {"__nv_fmaf", address<FloatFn3>(std::fma)},
  };
  return symbols;
}

//===----------------------------------------------------------------------===//
// Traps
//===----------------------------------------------------------------------===//

static struct sigaction previousHandlers[NSIG];

static void onTrap(int signal, siginfo_t *info, void *context) {
  // Returns only if no fibre of this thread caused it.
  BlockRunner::handleSignal(signal, reinterpret_cast<uint64_t>(info->si_addr));
  const struct sigaction &previous = previousHandlers[signal];
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // Default action: the instruction faults again without a handler.
    sigaction(signal, &previous, nullptr);
  }
}

void emulator::installTrapHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = onTrap;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE})
      sigaction(signal, &action, &previousHandlers[signal]);
  });
}

static constexpr size_t trapStackBytes = 64 * 1024;

TrapStack::TrapStack() {
  Memory = mmap(nullptr, trapStackBytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (Memory == MAP_FAILED) {
    Memory = nullptr;
    return;
  }
  stack_t stack = {};
  stack.ss_sp = Memory;
  stack.ss_size = trapStackBytes;
  sigaltstack(&stack, &Previous);
}

TrapStack::~TrapStack() {
  if (!Memory)
    return;
  sigaltstack(&Previous, nullptr);
  munmap(Memory, trapStackBytes);
}
