//===- TileCounting.cpp - Histograms of N:M groups ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups down the columns of a 64 x 64 tile are summed by bit-sliced adders: 64
// columns a word, one word a binary digit. Groups along the rows are the same
// sums of the transposed tile. Four tiles side by side share a vector.
//
//===----------------------------------------------------------------------===//

#include "Counting.h"
#include "Simd.h"
#include <cstring>

using namespace sparseditto::detail;

namespace {

constexpr int lanes = 4;
struct alignas(32) Vec {
  uint64_t lane[lanes];
};

SD_INLINE void andNot(const Vec &a, const Vec &b, Vec &out) {
  for (int i = 0; i < lanes; ++i)
    out.lane[i] = a.lane[i] & ~b.lane[i];
}
SD_INLINE void andVec(const Vec &a, const Vec &b, Vec &out) {
  for (int i = 0; i < lanes; ++i)
    out.lane[i] = a.lane[i] & b.lane[i];
}
SD_INLINE bool isZero(const Vec &a) {
  return (a.lane[0] | a.lane[1] | a.lane[2] | a.lane[3]) == 0;
}
SD_INLINE int64_t popcount(const Vec &a) {
  return __builtin_popcountll(a.lane[0]) + __builtin_popcountll(a.lane[1]) +
         __builtin_popcountll(a.lane[2]) + __builtin_popcountll(a.lane[3]);
}

/// Adds two bit-sliced numbers of `Digits` digits.
template <int Digits>
SD_INLINE void addSliced(const Vec *a, const Vec *b, Vec *out) {
  for (int i = 0; i < lanes; ++i) {
    uint64_t carry = 0;
    for (int d = 0; d < Digits; ++d) {
      uint64_t x = a[d].lane[i], y = b[d].lane[i], half = x ^ y;
      out[d].lane[i] = half ^ carry;
      carry = (x & y) | (half & carry);
    }
    out[Digits].lane[i] = carry;
  }
}

/// Counts, for every value, how many of the columns in `set` hold it in the
/// digits [0, Digit]; `value` is what the digits above contributed.
template <int Digit>
SD_INLINE void splitByValue(const Vec *digits, const Vec &set, int value,
                            int64_t *histogram) {
  if constexpr (Digit < 0) {
    histogram[value] += popcount(set);
  } else {
    Vec part;
    andNot(set, digits[Digit], part);
    if (Digit == 0 || !isZero(part))
      splitByValue<Digit - 1>(digits, part, value, histogram);
    andVec(set, digits[Digit], part);
    if (Digit == 0 || !isZero(part))
      splitByValue<Digit - 1>(digits, part, value + (1 << Digit), histogram);
  }
}

/// From the sums of groups of 2^(Log-1) rows (Log digits each) to those of
/// 2^Log rows, in place, and up; histograms on the way.
template <int Log>
SD_INLINE void addLevels(Vec *sums, GroupHistogram &histogram) {
  if constexpr (Log <= maxGroupLog) {
    int64_t *counts = histogram[Log].data();
    for (int i = 0; i < (64 >> Log); ++i) {
      Vec sum[Log + 1];
      addSliced<Log>(sums + size_t(2 * i) * Log, sums + size_t(2 * i + 1) * Log,
                     sum);
      // The top digit is set only for a full group.
      int64_t full = popcount(sum[Log]);
      counts[1 << Log] += full;
      if (full != 64 * lanes) {
        Vec rest;
        for (int l = 0; l < lanes; ++l)
          rest.lane[l] = ~sum[Log].lane[l];
        splitByValue<Log - 1>(sum, rest, 0, counts);
      }
      std::memcpy(sums + size_t(i) * (Log + 1), sum, sizeof(sum));
    }
    addLevels<Log + 1>(sums, histogram);
  }
}

/// In-place transposition of four 64 x 64 bit tiles.
SD_INLINE void transposeTiles(Vec *tile) {
  uint64_t mask = 0x00000000ffffffffull;
  for (int step = 32; step != 0; step >>= 1, mask ^= mask << step)
    for (int base = 0; base < 64; base += 2 * step)
      for (int i = base; i < base + step; ++i)
        for (int l = 0; l < lanes; ++l) {
          uint64_t low = tile[i].lane[l], high = tile[i + step].lane[l];
          uint64_t swap = ((low >> step) ^ high) & mask;
          tile[i].lane[l] = low ^ (swap << step);
          tile[i + step].lane[l] = high ^ swap;
        }
}

SD_INLINE void countTilesImpl(const Panel &panel, TileCounts &counts,
                              int32_t *colNnz) {
  const int words = panel.paddedWords();
  for (int top = 0; top < panel.rows; top += 64) {
    for (int w = 0; w < words; w += lanes) {
      counts.tiles += lanes;
      Vec tile[64], sums[64];
      Vec any = {};
      for (int i = 0; i < 64; ++i) {
        std::memcpy(&tile[i], &panel.words[top + i][w], sizeof(Vec));
        for (int l = 0; l < lanes; ++l)
          any.lane[l] |= tile[i].lane[l];
      }
      if (isZero(any)) {
        for (int log = 1; log <= maxGroupLog; ++log) {
          counts.alongRows[log][0] += lanes * 64 * (64 >> log);
          counts.alongCols[log][0] += lanes * 64 * (64 >> log);
        }
        continue;
      }
      std::memcpy(sums, tile, sizeof(sums));
      addLevels<1>(sums, counts.alongCols);
      transposeTiles(tile);
      for (int l = 0; l < lanes; ++l) {
        int first = (w + l) * 64;
        int inside = panel.cols - first < 64 ? panel.cols - first : 64;
        for (int i = 0; i < inside; ++i)
          colNnz[first + i] += int32_t(__builtin_popcountll(tile[i].lane[l]));
      }
      addLevels<1>(tile, counts.alongRows);
    }
  }
}

void countTilesPlain(const Panel &panel, TileCounts &counts, int32_t *colNnz) {
  countTilesImpl(panel, counts, colNnz);
}
#ifdef SD_HAS_AVX2_BUILD
SD_AVX2 void countTilesAVX2(const Panel &panel, TileCounts &counts,
                            int32_t *colNnz) {
  countTilesImpl(panel, counts, colNnz);
}
#endif

} // namespace

CountTilesFn sparseditto::detail::tileCounter(bool portable) {
#ifdef SD_HAS_AVX2_BUILD
  if (useAVX2(portable))
    return countTilesAVX2;
#endif
  return countTilesPlain;
}
