//===- Access.h - Checked memory accesses -----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_ACCESS_H
#define SPARSEDITTO_LIB_EMULATOR_ACCESS_H

#include "BlockRunner.h"

namespace sparseditto::emulator {

enum class AccessKind : uint8_t {
  Load = 0,
  Store = 1,
  Atomic = 2,
  WarpLoad = 3, ///< By all lanes of the thread's warp at once.
  WarpStore = 4,
};
inline bool isStore(AccessKind kind) {
  return kind == AccessKind::Store || kind == AccessKind::WarpStore;
}

/// Checks one access of `thread` to global or shared memory: bounds, alignment,
/// read-only buffers, the state of shared bytes, races. Raises a fault or
/// returns; afterwards the access is safe to do. Stores and atomics count as
/// done. On a fibre.
void accessMemory(ThreadContext &thread, uint64_t address, unsigned size,
                  unsigned alignment, AccessKind kind, unsigned site);

/// Raises a fault unless the address is in the shared window, for operations
/// that take nothing else.
void checkSharedOperand(ThreadContext &thread, uint64_t address, unsigned site);

/// The part of accessMemory that looks for races, for bytes of shared memory
/// that some other agent moves on the thread's behalf.
void checkSharedRace(ThreadContext &thread, unsigned offset, unsigned size,
                     AccessKind kind, unsigned site);
/// The part of accessMemory for global memory, for ranges of any size.
void checkGlobalRange(ThreadContext &thread, uint64_t address, unsigned size,
                      AccessKind kind, unsigned site);

/// A barrier: what `before` did comes before what `after` does next.
void orderThreads(BlockRunner &runner, llvm::ArrayRef<unsigned> before,
                  llvm::ArrayRef<unsigned> after);

// Asynchronous copies of 4, 8 or 16 bytes.
void issueCopy(ThreadContext &thread, unsigned site, uint64_t destination,
               uint64_t source, unsigned size, unsigned sourceSize);
void commitCopies(ThreadContext &thread);
/// Completes all but the newest `pending` groups.
void waitCopies(ThreadContext &thread, unsigned pending);
/// Completes everything, committed or not.
void waitAllCopies(ThreadContext &thread);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_ACCESS_H
