//===- NonZeroMask.h - One bit an element -----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the non-zeros of a matrix are: rows of 64-bit words, bit c % 64 of word
// c / 64 set where element c is not zero. Zero is decided by value: -0.0 is
// zero, NaN is not.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_ANALYSIS_NONZEROMASK_H
#define SPARSEDITTO_ANALYSIS_NONZEROMASK_H

#include "sparseditto/IO/Matrix.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>

namespace sparseditto {

class NonZeroMask {
public:
  /// An all-zero mask; fails if the size overflows or memory is refused.
  static llvm::Expected<NonZeroMask> allocate(int64_t rows, int64_t cols);
  /// The mask of a matrix, read once, on one thread.
  static llvm::Expected<NonZeroMask> of(const Matrix &matrix);

  int64_t rows() const { return numRows; }
  int64_t cols() const { return numCols; }
  /// Words per row; bits beyond the last column are clear.
  int64_t stride() const { return wordsPerRow; }
  const uint64_t *row(int64_t r) const { return words.get() + r * wordsPerRow; }
  uint64_t *row(int64_t r) { return words.get() + r * wordsPerRow; }
  bool test(int64_t r, int64_t c) const {
    return row(r)[c / 64] >> (c % 64) & 1;
  }
  /// All words, row after row.
  llvm::ArrayRef<uint64_t> bits() const {
    return {words.get(), size_t(numRows * wordsPerRow)};
  }
  /// Non-zeros of row `r` in the columns [begin, end).
  int64_t count(int64_t r, int64_t begin, int64_t end) const;

private:
  int64_t numRows = 0, numCols = 0, wordsPerRow = 0;
  std::unique_ptr<uint64_t[]> words;
};

} // namespace sparseditto

#endif // SPARSEDITTO_ANALYSIS_NONZEROMASK_H
