//===- Generate.h - Matrices with a known pattern ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_ANALYSIS_GENERATE_H
#define SPARSEDITTO_UNITTESTS_ANALYSIS_GENERATE_H

#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/IO/Matrix.h"
#include <functional>
#include <random>

/// A matrix whose element (i, j) is 1, 2 or 3 where `kept(i, j)` and 0
/// elsewhere.
inline sparseditto::Matrix
generate(sparseditto::ElementType type, int64_t rows, int64_t cols,
         const std::function<bool(int64_t, int64_t)> &kept) {
  sparseditto::Matrix matrix = llvm::cantFail(
      sparseditto::Matrix::allocate("generated", type, rows, cols));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      if (kept(i, j))
        sparseditto::storeFromDouble(type, double(1 + (i + j) % 3),
                                     matrix.mutableData() +
                                         (i * cols + j) * byteSize(type));
  return matrix;
}

inline sparseditto::PatternReport analyzed(const sparseditto::Matrix &matrix,
                                           unsigned threads = 1) {
  return llvm::cantFail(sparseditto::analyze(matrix, {threads}));
}

/// Random placement with a fixed seed.
class Coin {
public:
  explicit Coin(unsigned seed) : engine(seed) {}
  bool operator()(double p) {
    // Not std::bernoulli_distribution, whose stream differs between libraries.
    return double(engine()) < p * 4294967296.0;
  }
  uint32_t below(uint32_t n) { return uint32_t(uint64_t(engine()) * n >> 32); }

private:
  std::mt19937 engine;
};

#endif // SPARSEDITTO_UNITTESTS_ANALYSIS_GENERATE_H
