//===- Naive.cpp - Counting by definition ---------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Naive.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sparseditto;

namespace {

/// The smallest normal magnitude of a float type.
double smallestNormal(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return std::ldexp(1.0, -1022);
  case ElementType::F32:
  case ElementType::BF16:
    return std::ldexp(1.0, -126);
  case ElementType::F16:
  case ElementType::F8E5M2:
    return std::ldexp(1.0, -14);
  case ElementType::F8E4M3:
    return std::ldexp(1.0, -6);
  default:
    return 0;
  }
}

class Reference {
public:
  explicit Reference(const Matrix &m) : m(m), kept(size_t(m.rows * m.cols)) {
    for (int64_t i = 0; i < m.rows; ++i)
      for (int64_t j = 0; j < m.cols; ++j)
        kept[size_t(i * m.cols + j)] = m.value(i, j) != 0;
  }
  bool at(int64_t i, int64_t j) const { return kept[size_t(i * m.cols + j)]; }

  const Matrix &m;
  std::vector<char> kept;
};

void checkValues(const Reference &ref, const PatternReport &report) {
  const Matrix &m = ref.m;
  int64_t nnz = 0, negative = 0, nan = 0, inf = 0, subnormal = 0;
  double top = 0;
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t j = 0; j < m.cols; ++j) {
      double v = m.value(i, j);
      nnz += v != 0;
      negative += v == 0 && std::signbit(v);
      nan += std::isnan(v);
      inf += std::isinf(v);
      subnormal += v != 0 && std::fabs(v) < smallestNormal(m.type);
      if (std::isfinite(v))
        top = std::max(top, std::fabs(v));
    }
  EXPECT_EQ(report.nnz, nnz);
  EXPECT_EQ(report.negativeZeros, negative);
  EXPECT_EQ(report.nanCount, nan);
  EXPECT_EQ(report.infCount, inf);
  EXPECT_EQ(report.subnormalCount, subnormal);
  EXPECT_EQ(report.maxAbs, top);
}

void checkCounts(const std::vector<int32_t> &counts, const CountStats &stats) {
  if (counts.empty())
    return;
  EXPECT_EQ(stats.min, *std::min_element(counts.begin(), counts.end()));
  EXPECT_EQ(stats.max, *std::max_element(counts.begin(), counts.end()));
  EXPECT_EQ(stats.zeros, std::count(counts.begin(), counts.end(), 0));
  double mean = 0, variance = 0;
  for (int32_t c : counts)
    mean += double(c) / double(counts.size());
  for (int32_t c : counts)
    variance += (c - mean) * (c - mean) / double(counts.size());
  EXPECT_NEAR(stats.mean, mean, 1e-9 * (1 + mean));
  EXPECT_NEAR(stats.stddev, std::sqrt(variance), 1e-6 * (1 + mean));
}

void checkNM(const Reference &ref, const NMStats &stats) {
  const bool rows = stats.axis == Axis::Rows;
  const int64_t lines = rows ? ref.m.rows : ref.m.cols;
  const int64_t length = rows ? ref.m.cols : ref.m.rows;
  std::vector<int64_t> histogram(size_t(stats.m) + 1);
  int64_t groups = 0, violating = 0, excess = 0;
  int least = stats.m, most = 0;
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t start = 0; start < length; start += stats.m) {
      int count = 0;
      for (int64_t k = start; k < std::min(length, start + stats.m); ++k)
        count += rows ? ref.at(line, k) : ref.at(k, line);
      ++groups;
      ++histogram[size_t(count)];
      least = std::min(least, count);
      most = std::max(most, count);
      violating += count > stats.m / 2;
      excess += std::max(0, count - stats.m / 2);
    }
  EXPECT_EQ(stats.groups, groups);
  EXPECT_EQ(stats.histogram, histogram);
  EXPECT_EQ(stats.maxPerGroup, most);
  EXPECT_EQ(stats.minPerGroup, groups == 0 ? 0 : least);
  EXPECT_EQ(stats.violatingGroups, violating);
  EXPECT_EQ(stats.excessWeights, excess);
  EXPECT_EQ(stats.aligned, length % stats.m == 0);
}

void checkBlocks(const Reference &ref, const BlockStats &stats, int64_t nnz) {
  int64_t blocks = 0, kept = 0, full = 0, keptElements = 0, fullElements = 0;
  int64_t most = 0, least = INT64_MAX;
  for (int64_t top = 0; top < ref.m.rows; top += stats.r) {
    int64_t keptInRow = 0;
    for (int64_t left = 0; left < ref.m.cols; left += stats.c) {
      int64_t count = 0, size = 0;
      for (int64_t i = top; i < std::min(ref.m.rows, top + stats.r); ++i)
        for (int64_t j = left; j < std::min(ref.m.cols, left + stats.c); ++j) {
          ++size;
          count += ref.at(i, j);
        }
      ++blocks;
      if (count != 0) {
        ++keptInRow;
        keptElements += size;
      }
      if (count == size) {
        ++full;
        fullElements += size;
      }
    }
    kept += keptInRow;
    most = std::max(most, keptInRow);
    least = std::min(least, keptInRow);
  }
  EXPECT_EQ(stats.blocks, blocks);
  EXPECT_EQ(stats.nonZeroBlocks, kept);
  EXPECT_EQ(stats.fullBlocks, full);
  EXPECT_EQ(stats.keptElements, keptElements);
  EXPECT_EQ(stats.fullElements, fullElements);
  EXPECT_EQ(stats.maxBlocksPerRow, most);
  EXPECT_EQ(stats.minBlocksPerRow, blocks == 0 ? 0 : least);
  EXPECT_DOUBLE_EQ(stats.fill,
                   kept == 0 ? 0 : double(nnz) / double(keptElements));
}

bool isBlockDiagonal(const Reference &ref, int64_t b) {
  int64_t period = std::min(ref.m.rows, ref.m.cols) / b;
  for (int64_t i = 0; i < ref.m.rows; ++i)
    for (int64_t j = 0; j < ref.m.cols; ++j)
      if (ref.at(i, j) && (i / b) % period != (j / b) % period)
        return false;
  return true;
}

void checkStructure(const Reference &ref, const PatternReport &report) {
  int64_t lower = 0, upper = 0, central = 0;
  for (int64_t i = 0; i < ref.m.rows; ++i)
    for (int64_t j = 0; j < ref.m.cols; ++j)
      if (ref.at(i, j)) {
        lower = std::max(lower, i - j);
        upper = std::max(upper, j - i);
        central += std::abs(i - j) <= report.centralHalfWidth;
      }
  EXPECT_EQ(report.lowerBandwidth, lower);
  EXPECT_EQ(report.upperBandwidth, upper);
  EXPECT_EQ(report.centralNnz, central);
  int64_t diagonal = 0;
  for (int64_t b = 2; diagonal == 0 && report.nnz != 0; ++b) {
    if (b * 2 > std::min(ref.m.rows, ref.m.cols))
      break;
    if (ref.m.rows % b == 0 && ref.m.cols % b == 0 && isBlockDiagonal(ref, b))
      diagonal = b;
  }
  EXPECT_EQ(report.blockDiagonal, diagonal);
}

} // namespace

void expectCountsByDefinition(const Matrix &matrix,
                              const PatternReport &report) {
  SCOPED_TRACE(std::to_string(matrix.rows) + "x" + std::to_string(matrix.cols) +
               " " + name(matrix.type).str());
  Reference ref(matrix);
  checkValues(ref, report);
  std::vector<int32_t> rows(size_t(matrix.rows)), cols(size_t(matrix.cols));
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.cols; ++j) {
      rows[size_t(i)] += ref.at(i, j);
      cols[size_t(j)] += ref.at(i, j);
    }
  EXPECT_EQ(report.rowNnz, rows);
  EXPECT_EQ(report.colNnz, cols);
  checkCounts(rows, report.rowCounts);
  checkCounts(cols, report.colCounts);
  ASSERT_EQ(report.nm.size(), 12u);
  for (const NMStats &stats : report.nm) {
    SCOPED_TRACE("groups of " + std::to_string(stats.m) +
                 (stats.axis == Axis::Rows ? " along rows" : " along columns"));
    checkNM(ref, stats);
  }
  ASSERT_EQ(report.blocks.size(), 64u);
  for (const BlockStats &stats : report.blocks) {
    SCOPED_TRACE("blocks of " + std::to_string(stats.r) + "x" +
                 std::to_string(stats.c));
    checkBlocks(ref, stats, report.nnz);
  }
  checkStructure(ref, report);
}
