//===- TestWeights.h - Weights for kernel tests -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_KERNELS_TESTWEIGHTS_H
#define SPARSEDITTO_UNITTESTS_KERNELS_TESTWEIGHTS_H

#include "sparseditto/Analysis/PatternReport.h"
#include "sparseditto/IO/Matrix.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include <random>

namespace sparseditto::test {

/// Normal values at random places, never a stored zero where one is kept.
inline Matrix randomWeight(ElementType type, int64_t rows, int64_t cols,
                           double density, uint64_t seed) {
  Matrix weight = llvm::cantFail(Matrix::allocate("random", type, rows, cols));
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int64_t i = 0; i < weight.numElements(); ++i)
    if (uniform(generator) < density) {
      double value = normal(generator);
      storeFromDouble(type, value + (value < 0 ? -0.25 : 0.25),
                      weight.mutableData() + i * byteSize(type));
    }
  return weight;
}

/// A weight that `family` is made for: 2 of 4 for "nm", a fifth of the 32 x 32
/// blocks for "block", half of the columns and two of three rows for "channel",
/// all weights for others.
inline Matrix structuredWeight(llvm::StringRef family, ElementType type,
                               int64_t rows, int64_t cols, uint64_t seed) {
  Matrix weight = randomWeight(type, rows, cols, 1, seed);
  std::mt19937_64 generator(seed + 1);
  auto clear = [&](int64_t r, int64_t c) {
    storeFromDouble(type, 0,
                    weight.mutableData() + (r * cols + c) * byteSize(type));
  };
  if (family == "nm") {
    // Two of the four positions go, all six pairs alike.
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t g = 0; g < cols; g += 4) {
        unsigned first = generator() % 4,
                 second = (first + 1 + generator() % 3) % 4;
        for (unsigned p : {first, second})
          if (g + p < cols)
            clear(r, g + p);
      }
  } else if (family == "block") {
    constexpr int64_t side = 32;
    for (int64_t i = 0; i < rows; i += side)
      for (int64_t j = 0; j < cols; j += side) {
        if (generator() % 5 == 0)
          continue;
        for (int64_t r = i; r < std::min(i + side, rows); ++r)
          for (int64_t c = j; c < std::min(j + side, cols); ++c)
            clear(r, c);
      }
  } else if (family == "channel") {
    std::vector<bool> gone(cols);
    for (int64_t c = 0; c < cols; ++c)
      gone[c] = generator() % 2 == 0;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        if (gone[c] || r % 3 == 1)
          clear(r, c);
  }
  return weight;
}

/// A report with the counts of rows and columns.
inline PatternReport channelReport(const Matrix &weight) {
  PatternReport report;
  report.rows = weight.rows;
  report.cols = weight.cols;
  report.rowNnz.resize(weight.rows);
  report.colNnz.resize(weight.cols);
  for (int64_t r = 0; r < weight.rows; ++r)
    for (int64_t c = 0; c < weight.cols; ++c)
      if (weight.value(r, c) != 0) {
        ++report.rowNnz[r];
        ++report.colNnz[c];
      }
  report.rowCounts.zeros = llvm::count(report.rowNnz, 0);
  report.colCounts.zeros = llvm::count(report.colNnz, 0);
  return report;
}

/// The same with the block counts that packing by panels depends on.
inline PatternReport blockReport(const Matrix &weight) {
  PatternReport report = channelReport(weight);
  for (int r : {16, 32, 64, 128}) {
    BlockStats stats;
    stats.r = r;
    stats.c = 16;
    int64_t blockRows = (weight.rows + r - 1) / r;
    int64_t blockCols = (weight.cols + 15) / 16;
    stats.blocks = blockRows * blockCols;
    for (int64_t i = 0; i < blockRows; ++i)
      for (int64_t j = 0; j < blockCols; ++j) {
        bool kept = false;
        for (int64_t y = i * r; y < std::min((i + 1) * r, weight.rows); ++y)
          for (int64_t x = j * 16; x < std::min((j + 1) * 16, weight.cols); ++x)
            kept |= weight.value(y, x) != 0;
        stats.nonZeroBlocks += kept;
      }
    report.blocks.push_back(stats);
  }
  return report;
}

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_KERNELS_TESTWEIGHTS_H
