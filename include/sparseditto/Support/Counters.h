//===- Counters.h - Names of profiler counters ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a profiler's counters are called here, whoever reads them: the keys of
// KernelFacts::counters. Stall reasons are "stall_<reason>", in warps that wait
// for it per instruction issued.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_COUNTERS_H
#define SPARSEDITTO_SUPPORT_COUNTERS_H

#include "llvm/ADT/StringRef.h"

namespace sparseditto::counter {

/// Percent of the peak, over the whole launch.
inline constexpr llvm::StringLiteral memoryThroughput = "memory_throughput_pct";
inline constexpr llvm::StringLiteral computeThroughput =
    "compute_throughput_pct";
/// Percent of the cycles in which the tensor pipe was busy.
inline constexpr llvm::StringLiteral tensorPipe = "tensor_pipe_pct";
inline constexpr llvm::StringLiteral occupancy = "achieved_occupancy_pct";
inline constexpr llvm::StringLiteral waves = "waves_per_sm";
inline constexpr llvm::StringLiteral l2HitRate = "l2_hit_rate_pct";
/// A count, of the whole launch.
inline constexpr llvm::StringLiteral sharedConflicts = "shared_bank_conflicts";
inline constexpr llvm::StringLiteral stallPrefix = "stall_";

/// All but the stall reasons, in the order in which they are shown.
inline constexpr llvm::StringLiteral all[] = {
    memoryThroughput, computeThroughput, tensorPipe, occupancy, waves,
    l2HitRate,        sharedConflicts};

} // namespace sparseditto::counter

#endif // SPARSEDITTO_SUPPORT_COUNTERS_H
