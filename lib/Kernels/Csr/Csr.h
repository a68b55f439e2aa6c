//===- Csr.h - The csr family -----------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index-based products on the CUDA cores: a warp walks a row's non-zeros four
// at a time and gathers X from shared memory. For N = 1 and very sparse
// weights, where tensor cores would mostly multiply zeros.
//
// Format "csr-quad", version 1:
//
//   items    u32[slots][4]   one a warp: row, first quad, end quad, group
//   values   T[quads][4]     T = the weight's type
//   columns  u16[quads][4]   of the values at the same place
//
//   f16/bf16: values and columns are one buffer, u16[quads][8], so that a lane
//   takes a quad with one 16-byte load:
//
//       | v0 v1 v2 v3 | c0 c1 c2 c3 |
//
//   A row of more than `split` quads is shared by 2, 4 or 8 neighbouring slots
//   (its group), aligned to the group's size, so that any block of 8, 16 or 32
//   warps holds whole groups. group = size | index << 8. Slots are ordered by
//   falling length; an unused slot has row 0xffffffff.
//
//   Inside a slot non-zeros are dealt round robin from buckets of columns that
//   share a shared-memory bank (`bank_order` buckets), so that the lanes of one
//   step hit different banks. The last quad is padded with value 0 and the
//   column padColumn(K), past the matrix: kernels keep a row of zeros of X
//   there, so that padding meets no infinity.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_KERNELS_CSR_CSR_H
#define SPARSEDITTO_LIB_KERNELS_CSR_CSR_H

#include "sparseditto/Kernels/Family.h"

namespace sparseditto::csr {

/// Most slots that share a row.
inline constexpr int64_t maxGroup = 8;
/// Row of an unused slot.
inline constexpr uint32_t unusedRow = 0xffffffffu;
/// Columns and the padding column are u16.
inline constexpr int64_t maxColumns = 65528;
/// Column of padding: the first multiple of 8 that is not a column.
inline int64_t padColumn(int64_t k) { return (k + 7) / 8 * 8; }

inline constexpr llvm::StringLiteral formatName = "csr-quad";
inline constexpr int formatVersion = 1;

enum XSource : int64_t { Shared = 0, Global = 1 };

llvm::Expected<PackedWeight> pack(const Matrix &weight,
                                  const Strategy &strategy);
llvm::Expected<Matrix> unpack(const PackedWeight &packed);
llvm::Expected<BuiltKernel> build(mlir::MLIRContext &context,
                                  const Problem &problem,
                                  const Strategy &strategy,
                                  const PackedWeight &packed,
                                  llvm::StringRef symbol);

/// Bytes of X that a block stages, with the row of zeros.
inline int64_t stagedBytes(const Problem &problem, int64_t tileN) {
  return (padColumn(problem.k) + 1) * tileN * int64_t(byteSize(problem.type));
}

} // namespace sparseditto::csr

#endif // SPARSEDITTO_LIB_KERNELS_CSR_CSR_H
