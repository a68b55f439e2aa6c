//===- Counting.h - Groups, blocks, rows and columns of bits ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts over a panel: up to 128 rows by 4096 columns of a non-zero mask. Every
// group and block size divides the panel, so panels never share one.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_ANALYSIS_COUNTING_H
#define SPARSEDITTO_LIB_ANALYSIS_COUNTING_H

#include <array>
#include <cstdint>

namespace sparseditto::detail {

constexpr int panelRows = 128;
constexpr int panelWords = 64;
constexpr int panelCols = panelWords * 64;
/// Group lengths 2, 4, ..., 64 and block edges 1, 2, ..., 128, by log2.
constexpr int maxGroupLog = 6;
constexpr int maxBlockLog = 7;

/// histogram[log2 m][k]: groups of m elements that hold k non-zeros.
using GroupHistogram =
    std::array<std::array<int64_t, (1 << maxGroupLog) + 1>, maxGroupLog + 1>;

/// A panel. Bits beyond the matrix are clear, up to 64 or 128 rows and the
/// padded words.
struct Panel {
  alignas(64) uint64_t words[panelRows][panelWords];
  int rows = 0; ///< Rows inside the matrix, 1..128.
  int cols = 0; ///< Columns inside the matrix, 1..4096.
  /// Words a row rounded up to the vector width; the rest is not touched.
  int paddedWords() const { return (cols + 255) / 256 * 4; }
};

/// Histograms and column counts of a panel. Groups that lie wholly or partly
/// beyond the matrix are counted as if padded with zeros, over the panel
/// rounded up to 64 rows and 256 columns; the caller subtracts phantoms.
struct TileCounts {
  GroupHistogram alongRows{}, alongCols{};
  /// Groups of 64x64 tiles counted, for the phantoms.
  int64_t tiles = 0;
};
using CountTilesFn = void (*)(const Panel &panel, TileCounts &counts,
                              int32_t *colNnz);
CountTilesFn tileCounter(bool portable);

/// Kept (some non-zero) and full (no zero inside the matrix) blocks of one
/// block row, for each block width.
struct BlockRowCounts {
  int32_t kept[maxBlockLog + 1] = {};
  int32_t full[maxBlockLog + 1] = {};
  /// Whether the last block is kept/full; set only if it sticks out of the
  /// matrix.
  bool lastKept[maxBlockLog + 1] = {};
  bool lastFull[maxBlockLog + 1] = {};
};
/// Block rows of height 1 << log begin here in the array of a band.
constexpr int blockRowOffset(int log) {
  return 2 * panelRows - (2 * panelRows >> log);
}
constexpr int blockRowsPerBand = blockRowOffset(maxBlockLog + 1);
using CountBlocksFn = void (*)(const Panel &panel, bool lastPanel,
                               BlockRowCounts *rows);
CountBlocksFn blockCounter(bool portable);

} // namespace sparseditto::detail

#endif // SPARSEDITTO_LIB_ANALYSIS_COUNTING_H
