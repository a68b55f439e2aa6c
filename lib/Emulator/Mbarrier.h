//===- Mbarrier.h - Barrier objects and bulk copies -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_MBARRIER_H
#define SPARSEDITTO_LIB_EMULATOR_MBARRIER_H

#include "RaceDetector.h"
#include <cstdint>
#include <vector>

namespace sparseditto::emulator {

struct ThreadContext;

/// A bulk copy from global memory that no phase has completed yet.
struct BulkCopy {
  uint64_t destination = 0, source = 0;
  unsigned size = 0, site = 0;
  ThreadContext *issuer = nullptr;
};

/// One mbarrier object, by its offset in shared memory.
struct MbarrierState {
  uint32_t count = 0;       ///< Arrivals a phase needs.
  uint32_t pending = 0;     ///< Of the current phase.
  int64_t transactions = 0; ///< Bytes expected and not yet copied.
  uint64_t phase = 0;
  std::vector<BulkCopy> copies; ///< Done as late as the phase allows.
  std::vector<ThreadContext *> waiters;
  RaceDetector::Snapshot arriving;  ///< What arrivals of this phase did.
  RaceDetector::Snapshot completed; ///< Of the last complete phase.
};

enum class MbarrierOp : uint32_t {
  Init, ///< value: count.
  Invalidate,
  Arrive, ///< value: arrivals. Gives the phase's token.
  ArriveDrop,
  ArriveExpect, ///< value: bytes.
  ArriveDropExpect,
  Expect,         ///< value: bytes.
  Complete,       ///< value: bytes.
  TestWait,       ///< value: token.
  TestWaitParity, ///< value: parity.
  TryWait,        ///< Like TestWait, but suspends until it is true.
  TryWaitParity,
  ArriveAfterCopies, ///< cp.async.mbarrier.arrive; value: 1 without increment.
};

/// One operation of `thread` on the object at `address`. On a fibre.
uint64_t mbarrierOperation(ThreadContext &thread, unsigned site, MbarrierOp op,
                           uint64_t address, uint64_t value);

/// cp.async.bulk from global to shared memory, completing on an mbarrier.
void issueBulkLoad(ThreadContext &thread, unsigned site, uint64_t destination,
                   uint64_t source, unsigned size, uint64_t barrier);
/// cp.async.bulk from shared to global memory, completing in a bulk group.
void issueBulkStore(ThreadContext &thread, unsigned site, uint64_t destination,
                    uint64_t source, unsigned size);
void commitBulkStores(ThreadContext &thread);
void waitBulkStores(ThreadContext &thread, unsigned pending);
/// What a thread leaves behind is copied before the kernel ends.
void finishBulkStores(ThreadContext &thread);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_MBARRIER_H
