//===- Format.h - The packed format bsr-fragment ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bsr-fragment, version 1. Rows are grouped into panels of R = panel_rows (16,
// 32, 64 or 128) rows. A panel keeps the strips of 16 columns that hold a
// non-zero in any of its rows, so any block shape r x c of multiples of 16 is
// kept exactly when R divides r; a taller panel keeps the union of its block
// rows. Each panel's list is padded to an even length with a strip of zeros
// at column ceil(K/16), past the matrix, where kernels read zeros for X: so
// padding never multiplies an infinity. If no strip is kept at all, two of
// padding are stored that no panel names: no buffer is empty.
//
// Panels are stored longest first, so that the last thread blocks to start are
// the short ones.
//
//   values    [steps][R/16][32 lanes][8]  16 bits, fragments as dense-fragment
//   columns   [steps]                     u32, first column of the strip / 16
//   offsets   [panels + 1]                u32, first strip of stored panel i
//   rows      [panels]                    u32, stored panel i is rows
//                                         rows[i] * R .. rows[i] * R + R - 1
//
//     stored panel 0          panel 1                    panel P-1
//     | strip strip strip ... | strip strip ...  | ... | |
//       each R x 16: R/16 fragments of 512 bytes, top to bottom
//
// Attributes: panel_rows; max_strips, the length of the longest list (at least
// 2), which sizes the kernels' copy of a list; strips, the length of every
// list, where all are equally long (padding included) and in order: kernels
// then read neither offsets nor rows.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_KERNELS_BLOCK_FORMAT_H
#define SPARSEDITTO_LIB_KERNELS_BLOCK_FORMAT_H

#include "sparseditto/Kernels/Common/GemmFamily.h"

namespace sparseditto::block {

inline constexpr llvm::StringLiteral formatName = "bsr-fragment";
inline constexpr int formatVersion = 1;

inline int64_t panels(int64_t m, int64_t panelRows) {
  return (m + panelRows - 1) / panelRows;
}

llvm::Expected<PackedWeight> pack(const Matrix &weight, int64_t panelRows);
llvm::Expected<Matrix> unpack(const PackedWeight &packed);
/// Checks format, version, attributes, buffer sizes and, with Contents, the
/// lists: offsets ascend by even steps of at most max_strips, columns exist,
/// rows are a permutation.
llvm::Error checkBuffers(const PackedWeight &packed, PackedCheck check);

} // namespace sparseditto::block

#endif // SPARSEDITTO_LIB_KERNELS_BLOCK_FORMAT_H
