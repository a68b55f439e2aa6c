//===- Format.h - The packed format nm24-fragment ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nm24-fragment, version 1. M is padded to 16 rows (m-tiles), K to 64 columns
// (chunks of two mma.sp.m16n8k32 steps). Every group of 4 columns keeps exactly
// two weights; a group with fewer keeps zeros at phantom positions. Kept
// positions ascend within a group, as ordered metadata demands.
//
//   values    [m-tiles][2 * chunks][32 lanes][8]   16 bits each
//
//     the four A registers of a lane, 16 bytes, for 16 rows x 16 kept columns:
//                 kept columns 2c, 2c+1     8+2c, 9+2c        c = lane % 4
//       row g     [0] [1]                   [4] [5]           g = lane / 4
//       row g+8   [2] [3]                   [6] [7]
//
//   metadata  [m-tiles][chunks][32 lanes]          32 bits each
//
//     lanes 4g and 4g+1 serve step 0 of the chunk (selector 0), lanes 4g+2 and
//     4g+3 step 1 (selector 1). With h = lane % 2:
//       bits  0..15   row g,    kept columns 8h .. 8h+7, 2 bits each
//       bits 16..31   row g+8,  the same columns
//     2 bits are the column within the group of 4; the two of a group ascend.
//
// The same word is what wgmma.sp takes, warp by warp.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_KERNELS_NM_FORMAT_H
#define SPARSEDITTO_LIB_KERNELS_NM_FORMAT_H

#include "sparseditto/Kernels/Common/GemmFamily.h"

namespace sparseditto::nm {

inline constexpr llvm::StringRef formatName = "nm24-fragment";
inline constexpr int formatVersion = 1;
inline constexpr int64_t chunkColumns = 64;

inline int64_t mTiles(int64_t m) { return (m + 15) / 16; }
inline int64_t chunks(int64_t k) {
  return (k + chunkColumns - 1) / chunkColumns;
}

/// Fails on the first group with more than two non-zeros, naming row, column,
/// group and count.
llvm::Expected<PackedWeight> pack(const Matrix &weight);
llvm::Expected<Matrix> unpack(const PackedWeight &packed);
/// Checks format, version, attributes and buffer sizes.
llvm::Error checkBuffers(const PackedWeight &packed, PackedCheck check);

} // namespace sparseditto::nm

#endif // SPARSEDITTO_LIB_KERNELS_NM_FORMAT_H
