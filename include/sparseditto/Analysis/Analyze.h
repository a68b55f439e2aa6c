//===- Analyze.h - Finding the sparsity pattern of a weight -----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a matrix once and says what is true of its zeros. The rules that turn
// counts into a verdict are in docs/Analysis.md.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_ANALYSIS_ANALYZE_H
#define SPARSEDITTO_ANALYSIS_ANALYZE_H

#include "sparseditto/Analysis/PatternReport.h"
#include "sparseditto/IO/Matrix.h"
#include "llvm/Support/Error.h"

namespace sparseditto {

struct AnalyzeOptions {
  /// Worker threads; 0 takes every core. The report does not depend on it.
  unsigned threads = 0;
  /// Only instructions that every processor of this kind has. The report is the
  /// same; this is what runs where AVX2 is missing.
  bool portable = false;
};

/// Counts everything in `matrix` and decides its pattern. Fails on a dimension
/// beyond 2^31-1 or when memory for the mask (one bit an element) is refused.
llvm::Expected<PatternReport> analyze(const Matrix &matrix,
                                      const AnalyzeOptions &options = {});

} // namespace sparseditto

#endif // SPARSEDITTO_ANALYSIS_ANALYZE_H
