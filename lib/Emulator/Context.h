//===- Context.h - State of threads, warps and blocks -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One ThreadContext a GPU thread. Generated code reads its first members by
// offset; the rest belongs to the scheduler.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_CONTEXT_H
#define SPARSEDITTO_LIB_EMULATOR_CONTEXT_H

#include "AllocationMap.h"
#include "Mbarrier.h"
#include "SharedMemory.h"
#include "Site.h"
#include "StackSwitch.h"
#include "sparseditto/Emulator/Emulator.h"
#include "sparseditto/Emulator/Fault.h"
#include <array>
#include <chrono>
#include <csetjmp>
#include <memory>
#include <optional>
#include <vector>

namespace sparseditto::emulator {

class BlockRunner;

/// The global range that a site touched last: `address - base <= limit` needs
/// no look-up. The initial value matches nothing.
struct SiteCache {
  uint64_t base = ~uint64_t(0), limit = 0;
};

enum class ThreadState : uint8_t {
  Ready,
  Collective,
  Barrier,
  Mbarrier,
  Polling,
  Exited
};

/// One cp.async that has not been waited for.
struct PendingCopy {
  uint64_t destination = 0, source = 0;
  unsigned size = 0, sourceSize = 0, site = 0;
};

struct ThreadContext {
  // Read by generated code.
  uint32_t tid[3] = {0, 0, 0};
  uint32_t laneId = 0, warpId = 0;
  uint32_t ntid[3] = {1, 1, 1};
  uint32_t ctaid[3] = {0, 0, 0};
  uint32_t nctaid[3] = {1, 1, 1};
  uint32_t warpCount = 1;
  uint32_t dynamicSharedBytes = 0;
  uint32_t fuel = 0; ///< Loop back-edges until the scheduler looks again.
  char *sharedBase = nullptr;
  SiteCache *cache = nullptr;

  // The scheduler's.
  BlockRunner *runner = nullptr;
  void *fiber = nullptr;
  StackExtent stack;
  unsigned index = 0; ///< Linear thread index.
  ThreadState state = ThreadState::Ready;
  unsigned site = 0;                 ///< Where it waits.
  uint32_t mask = 0;                 ///< Lanes it waits for.
  bool done = false;                 ///< Its warp operation has been executed.
  unsigned barrier = 0;              ///< Id of the barrier it waits at.
  uint32_t reduction[3] = {0, 0, 0}; ///< popc, and, or of its last barrier.
  const MbarrierState *waitsFor = nullptr;
  const uint64_t *args = nullptr;
  uint64_t *results = nullptr;
  std::vector<PendingCopy> uncommitted;
  std::vector<std::vector<PendingCopy>> groups; ///< Oldest first.
  std::vector<BulkCopy> bulkUncommitted;        ///< To global memory.
  std::vector<std::vector<BulkCopy>> bulkGroups;
};

struct WarpState {
  ThreadContext *lanes = nullptr; ///< Its first thread; lanes are contiguous.
  uint32_t valid = 0;             ///< Lanes that exist.
  uint32_t ready = 0, waiting = 0, exited = 0;
  /// What the lanes of `waiting` wait for, if it is one operation.
  unsigned site = 0;
  uint32_t mask = 0;
  bool uniform = true;
};

/// A named barrier of the block.
struct BarrierState {
  unsigned arrived = 0;  ///< Threads, waiting or not.
  unsigned expected = 0; ///< 0 until the first arrival.
  bool all = false;      ///< Counts every thread of the block.
  std::vector<ThreadContext *> waiters;
  std::vector<unsigned> arrivals; ///< Indices of the threads.
  uint32_t reductionAnd = 1, reductionOr = 0, reductionCount = 0;
};

/// What stays the same during a launch.
struct LaunchState {
  std::string kernel;
  const std::vector<Site> *sites = nullptr;
  const std::vector<OperationRecord> *operations = nullptr;
  const std::vector<SharedRegion> *sharedRegions = nullptr;
  void (*entry)(ThreadContext *, const uint64_t *) = nullptr;
  const uint64_t *args = nullptr;
  std::array<unsigned, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  unsigned staticSharedBytes = 0; ///< Including red zones.
  unsigned dynamicSharedBytes = 0;
  AllocationMap allocations{{}};
  EmulatorOptions options;
  std::chrono::steady_clock::time_point deadline;
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_CONTEXT_H
