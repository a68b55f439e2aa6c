//===- BlockCounting.cpp - Kept and full blocks ---------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are folded in pairs by OR (is anything kept) and AND (is nothing zero),
// 1, 2, 4, ..., 128 rows at a time; each folded row is folded sideways the same
// way and the bits that remain are counted.
//
//===----------------------------------------------------------------------===//

#include "Counting.h"
#include "Simd.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cstring>

using namespace sparseditto::detail;

namespace {

/// Bits at multiples of 2, 4, 8, 16, 32.
constexpr uint64_t firstOf[6] = {~0ull,
                                 0x5555555555555555ull,
                                 0x1111111111111111ull,
                                 0x0101010101010101ull,
                                 0x0001000100010001ull,
                                 0x0000000100000001ull};

/// OR-folds a word sideways, adding the kept blocks of widths 1..32.
SD_INLINE void countKept(uint64_t word, int32_t *kept) {
  if (word == 0)
    return;
  kept[0] += int32_t(__builtin_popcountll(word));
  for (int log = 1; log < 6; ++log) {
    word = (word | word >> (1 << (log - 1))) & firstOf[log];
    kept[log] += int32_t(__builtin_popcountll(word));
  }
}

/// AND-folds a word sideways, adding the full blocks of widths 1..32.
SD_INLINE void countFull(uint64_t word, int32_t *full) {
  for (int log = 0; word != 0; ++log) {
    full[log] += int32_t(__builtin_popcountll(word));
    if (log == 5)
      return;
    word = (word & word >> (1 << log)) & firstOf[log + 1];
  }
}

/// True if the bits [begin, begin + count) of `row` hold a one (`ones` true) or
/// a zero (`ones` false).
bool anyBit(const uint64_t *row, int begin, int count, bool ones) {
  for (int c = begin; c < begin + count; ++c)
    if ((row[c / 64] >> (c % 64) & 1) == ones)
      return true;
  return false;
}

/// `any` and `all` are one folded row; bits of `all` beyond the matrix are set.
SD_INLINE void countBlockRow(const uint64_t *any, const uint64_t *all,
                             int words, BlockRowCounts &counts) {
  int32_t kept[maxBlockLog + 1] = {}, full[maxBlockLog + 1] = {};
  for (int w = 0; w < words; w += 2) {
    countKept(any[w], kept);
    countKept(any[w + 1], kept);
    countFull(all[w], full);
    countFull(all[w + 1], full);
    kept[6] += (any[w] != 0) + (any[w + 1] != 0);
    kept[7] += (any[w] | any[w + 1]) != 0;
    full[6] += (~all[w] == 0) + (~all[w + 1] == 0);
    full[7] += (~(all[w] & all[w + 1])) == 0;
  }
  for (int log = 0; log <= maxBlockLog; ++log) {
    counts.kept[log] += kept[log];
    counts.full[log] += full[log];
  }
}

SD_INLINE void countBlocksImpl(const Panel &panel, bool lastPanel,
                               BlockRowCounts *rows) {
  // An even number of words, for blocks of 128 columns.
  const int words = (panel.cols + 127) / 128 * 2;
  alignas(64) uint64_t any[panelRows][panelWords], all[panelRows][panelWords];
  uint64_t beyond[panelWords] = {};
  for (int w = 0; w < words; ++w) {
    int inside = std::clamp(panel.cols - w * 64, 0, 64);
    beyond[w] = inside == 64 ? 0 : ~0ull << inside;
  }
  for (int r = 0; r < panel.rows; ++r)
    for (int w = 0; w < words; ++w) {
      any[r][w] = panel.words[r][w];
      all[r][w] = panel.words[r][w] | beyond[w];
    }
  int height = panel.rows;
  for (int rowLog = 0;; ++rowLog) {
    BlockRowCounts *counts = rows + blockRowOffset(rowLog);
    for (int r = 0; r < height; ++r) {
      countBlockRow(any[r], all[r], words, counts[r]);
      for (int log = 0; log <= maxBlockLog; ++log) {
        int width = 1 << log;
        int blocks = (panel.cols + width - 1) / width;
        // Blocks wholly beyond the matrix looked full.
        counts[r].full[log] -= words * 64 / width - blocks;
        // Needed only where the last block sticks out of the matrix.
        if (lastPanel && panel.cols % width != 0) {
          int begin = (blocks - 1) * width, inside = panel.cols - begin;
          counts[r].lastKept[log] = anyBit(any[r], begin, inside, true);
          counts[r].lastFull[log] = !anyBit(all[r], begin, inside, false);
        }
      }
    }
    if (rowLog == maxBlockLog)
      return;
    // An odd last row has no partner: rows beyond the matrix count as nothing.
    for (int r = 0; r < height / 2; ++r)
      for (int w = 0; w < words; ++w) {
        any[r][w] = any[2 * r][w] | any[2 * r + 1][w];
        all[r][w] = all[2 * r][w] & all[2 * r + 1][w];
      }
    if (height % 2) {
      std::memcpy(any[height / 2], any[height - 1], sizeof(any[0]));
      std::memcpy(all[height / 2], all[height - 1], sizeof(all[0]));
    }
    height = (height + 1) / 2;
  }
}

void countBlocksPlain(const Panel &panel, bool lastPanel,
                      BlockRowCounts *rows) {
  countBlocksImpl(panel, lastPanel, rows);
}
#ifdef SD_HAS_AVX2_BUILD
SD_AVX2 void countBlocksAVX2(const Panel &panel, bool lastPanel,
                             BlockRowCounts *rows) {
  countBlocksImpl(panel, lastPanel, rows);
}
#endif

} // namespace

CountBlocksFn sparseditto::detail::blockCounter(bool portable) {
#ifdef SD_HAS_AVX2_BUILD
  if (useAVX2(portable))
    return countBlocksAVX2;
#endif
  return countBlocksPlain;
}
