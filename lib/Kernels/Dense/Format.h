//===- Format.h - The packed format dense-fragment --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dense-fragment, version 1. M is padded to 16 rows (m-tiles), K to 32 columns
// (two strips of 16).
//
//   values    [m-tiles][strips][32 lanes][8]   16 bits each
//
//     the four A registers of mma.m16n8k16 of a lane, 16 bytes:
//                 columns 2c, 2c+1     8+2c, 9+2c           c = lane % 4
//       row g     [0] [1]              [4] [5]              g = lane / 4
//       row g+8   [2] [3]              [6] [7]
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_KERNELS_DENSE_FORMAT_H
#define SPARSEDITTO_LIB_KERNELS_DENSE_FORMAT_H

#include "sparseditto/Kernels/Common/GemmFamily.h"

namespace sparseditto::dense {

inline constexpr llvm::StringLiteral formatName = "dense-fragment";
inline constexpr int formatVersion = 1;

inline int64_t mTiles(int64_t m) { return (m + 15) / 16; }
/// Always even: a step of the kernels is two strips.
inline int64_t strips(int64_t k) { return (k + 31) / 32 * 2; }

llvm::Expected<PackedWeight> pack(const Matrix &weight);
llvm::Expected<Matrix> unpack(const PackedWeight &packed);
/// Checks format, version and buffer sizes.
llvm::Error checkBuffers(const PackedWeight &packed, PackedCheck check);

} // namespace sparseditto::dense

#endif // SPARSEDITTO_LIB_KERNELS_DENSE_FORMAT_H
