//===- Structure.h - What needs the whole mask ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_ANALYSIS_STRUCTURE_H
#define SPARSEDITTO_LIB_ANALYSIS_STRUCTURE_H

#include "sparseditto/Analysis/NonZeroMask.h"
#include "sparseditto/Analysis/PatternReport.h"

namespace sparseditto::detail {

/// Fills blockDiagonal, channelGroup, almost and fingerprint of a report whose
/// counts are complete.
void findStructure(const NonZeroMask &mask, PatternReport &report);

/// Elements (i, j) of a rows x cols matrix with i - j <= lower and
/// j - i <= upper.
double bandElements(int64_t rows, int64_t cols, int64_t lower, int64_t upper);

} // namespace sparseditto::detail

#endif // SPARSEDITTO_LIB_ANALYSIS_STRUCTURE_H
