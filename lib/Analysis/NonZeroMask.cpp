//===- NonZeroMask.cpp - One bit an element -------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Analysis/NonZeroMask.h"
#include "Scan.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <new>

using namespace sparseditto;

llvm::Expected<NonZeroMask> NonZeroMask::allocate(int64_t rows, int64_t cols) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  if (rows < 0 || cols < 0 || rows > limit || cols > limit)
    return llvm::createStringError(
        "expected a matrix of at most %lld rows and columns, got %lldx%lld",
        (long long)limit, (long long)rows, (long long)cols);
  NonZeroMask mask;
  mask.numRows = rows;
  mask.numCols = cols;
  mask.wordsPerRow = (cols + 63) / 64;
  // At most 2^31 * 2^25 words: no overflow.
  size_t count = size_t(rows) * size_t(mask.wordsPerRow);
  mask.words.reset(new (std::nothrow) uint64_t[count ? count : 1]());
  if (!mask.words)
    return llvm::createStringError(
        "cannot allocate %llu bytes for the non-zero mask of a %lldx%lld "
        "matrix",
        (unsigned long long)count * 8, (long long)rows, (long long)cols);
  return mask;
}

llvm::Expected<NonZeroMask> NonZeroMask::of(const Matrix &matrix) {
  llvm::Expected<NonZeroMask> mask = allocate(matrix.rows, matrix.cols);
  if (!mask)
    return mask.takeError();
  detail::ScanFn scan = detail::scannerFor(matrix.type, /*portable=*/false);
  detail::ValueCensus unused;
  for (int64_t r = 0; matrix.cols > 0 && r < matrix.rows; ++r)
    scan(matrix.at(r, 0), matrix.cols, mask->row(r), unused);
  return mask;
}

int64_t NonZeroMask::count(int64_t r, int64_t begin, int64_t end) const {
  if (begin >= end)
    return 0;
  const uint64_t *bits = row(r);
  int64_t first = begin / 64, last = (end - 1) / 64, total = 0;
  for (int64_t w = first; w <= last; ++w) {
    uint64_t word = bits[w];
    if (w == first)
      word &= ~0ull << (begin % 64);
    if (w == last)
      word &= ~0ull >> (63 - (end - 1) % 64);
    total += llvm::popcount(word);
  }
  return total;
}
