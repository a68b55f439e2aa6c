//===- ChannelWeights.h - Weights with rows and columns gone ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_KERNELS_CHANNELWEIGHTS_H
#define SPARSEDITTO_UNITTESTS_KERNELS_CHANNELWEIGHTS_H

#include "TestWeights.h"

namespace sparseditto::test {

/// A full weight without the rows and columns for which `rowGone` and
/// `columnGone` hold.
template <typename RowGone, typename ColumnGone>
Matrix weightWithout(ElementType type, int64_t rows, int64_t cols,
                     RowGone rowGone, ColumnGone columnGone) {
  Matrix weight =
      randomWeight(type, rows, cols, 1, uint64_t(rows * 257 + cols));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      if (rowGone(r) || columnGone(c))
        storeFromDouble(type, 0,
                        weight.mutableData() + (r * cols + c) * byteSize(type));
  return weight;
}

/// Columns gone in every other aligned group of `run`, every third row gone.
inline Matrix channelWeight(ElementType type, int64_t rows, int64_t cols,
                            int64_t run, bool rowsToo = true) {
  return weightWithout(
      type, rows, cols, [=](int64_t r) { return rowsToo && r % 3 == 1; },
      [=](int64_t c) { return c / run % 2 == 1; });
}

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_KERNELS_CHANNELWEIGHTS_H
