//===- WarpOps.h - Operations of a whole warp -------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_WARPOPS_H
#define SPARSEDITTO_LIB_EMULATOR_WARPOPS_H

#include "BlockRunner.h"

namespace sparseditto::emulator {

/// Lets `thread` arrive at the operation of `site`; returns when the operation
/// is done and its results are stored. On a fibre.
void arriveAtWarpOp(ThreadContext &thread, unsigned site, uint32_t mask,
                    const uint64_t *args, uint64_t *results);

/// Wakes a lane whose operation misses only exited lanes and allows that; it
/// executes the operation at its next turn. True if there was one.
bool retryWithoutExited(BlockRunner &runner, WarpState &warp);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_WARPOPS_H
