//===- Transpose.h - Out-of-place transposition -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_TRANSPOSE_H
#define SPARSEDITTO_LIB_IO_TRANSPOSE_H

#include <cstdint>

namespace sparseditto {

/// Writes the transpose of a row-major rows x cols matrix of `size`-byte
/// elements (1, 2, 4 or 8) to `dst`, which does not overlap `src`. Neither
/// needs to be aligned.
void transposeElements(const uint8_t *src, int64_t rows, int64_t cols,
                       unsigned size, uint8_t *dst);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_TRANSPOSE_H
