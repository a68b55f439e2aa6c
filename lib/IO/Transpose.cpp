//===- Transpose.cpp - Out-of-place transposition -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transpose.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <cstring>

using namespace sparseditto;

/// Square tiles, so that both sides stay in the cache while one is strided.
template <unsigned size>
static void transposeTiles(const uint8_t *src, int64_t rows, int64_t cols,
                           uint8_t *dst) {
  constexpr int64_t tile = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += tile)
    for (int64_t c0 = 0; c0 < cols; c0 += tile)
      for (int64_t c = c0; c < std::min(cols, c0 + tile); ++c)
        for (int64_t r = r0; r < std::min(rows, r0 + tile); ++r)
          std::memcpy(dst + (c * rows + r) * size, src + (r * cols + c) * size,
                      size);
}

void sparseditto::transposeElements(const uint8_t *src, int64_t rows,
                                    int64_t cols, unsigned size, uint8_t *dst) {
  switch (size) {
  case 1:
    return transposeTiles<1>(src, rows, cols, dst);
  case 2:
    return transposeTiles<2>(src, rows, cols, dst);
  case 4:
    return transposeTiles<4>(src, rows, cols, dst);
  case 8:
    return transposeTiles<8>(src, rows, cols, dst);
  }
  llvm_unreachable("no element type has this size");
}
