//===- Format.h - The packed format channel-fragment ------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// channel-fragment, version 1. Rows and columns without a non-zero are left
// out; what remains is a smaller matrix in the order of dense-fragment, with a
// list of the columns and one of the rows it came from.
//
//            K columns                    kept columns
//        . a . b c . . .                     a b c
//     M  . . . . . . . .   kept rows  0      x x x      -> 16 x 16 fragments
//        . d . e f . . .              2      x x x
//                            columns: 1 3 4, rows: 0 2 | 1
//
// Columns are kept in aligned runs of `run` = 16, 8 or 1: runs of 8 and more
// move X in 16-byte pieces. A gone column inside of a kept run is stored as
// zeros.
//
//   values    [m-tiles][strips][32 lanes][8]  16 bits, as dense-fragment
//   columns   [strips * 16 / run]             u32, first column of each run,
//                                             ascending, multiples of run; runs
//                                             that pad the last step of 32
//                                             columns say K rounded up to run
//   rows      [M]                             u32, the kept rows ascending,
//                                             then the gone rows ascending
//
// `columns` is absent when all are kept, `rows` likewise. At least one m-tile
// and two strips exist, so that no buffer is empty. Attributes: run; kept_runs;
// kept_rows.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_KERNELS_CHANNEL_FORMAT_H
#define SPARSEDITTO_LIB_KERNELS_CHANNEL_FORMAT_H

#include "sparseditto/Kernels/Common/GemmFamily.h"

namespace sparseditto::channel {

inline constexpr llvm::StringLiteral formatName = "channel-fragment";
inline constexpr int formatVersion = 1;

/// Sizes of the kept part of an M x K matrix.
struct Extent {
  int64_t m = 0, k = 0;
  int64_t keptRows = 0;
  int64_t run = KStrips::width;
  int64_t keptRuns = 0;

  bool allRows() const { return keptRows == m; }
  bool allColumns() const {
    return run == KStrips::width && keptRuns == (k + run - 1) / run;
  }
  int64_t mTiles() const { return std::max<int64_t>(1, (keptRows + 15) / 16); }
  int64_t runsPerStrip() const { return KStrips::width / run; }
  /// Always even: a step of the kernels is two strips.
  int64_t strips() const {
    return std::max<int64_t>(2, (keptRuns * run + 31) / 32 * 2);
  }
  int64_t numBytes() const;
};

/// What packing keeps of a matrix; `rowKept` and `columnKept` tell which rows
/// and columns hold a non-zero.
Extent extentOf(llvm::ArrayRef<bool> rowKept, llvm::ArrayRef<bool> columnKept,
                int64_t run);
/// The longest run whose kept runs are little wider than the kept columns.
int64_t bestRun(llvm::ArrayRef<bool> columnKept);

/// The extent that a packed weight's attributes claim; checkBuffers proves it.
Extent extentOf(const PackedWeight &packed);

llvm::Expected<PackedWeight> pack(const Matrix &weight, int64_t run);
llvm::Expected<Matrix> unpack(const PackedWeight &packed);
/// Checks format, version, attributes, buffer sizes and, with Contents, both
/// lists.
llvm::Error checkBuffers(const PackedWeight &packed, PackedCheck check);

} // namespace sparseditto::channel

#endif // SPARSEDITTO_LIB_KERNELS_CHANNEL_FORMAT_H
