//===- Structure.cpp - What needs the whole mask --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Structure.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>

using namespace sparseditto;
using namespace sparseditto::detail;

double sparseditto::detail::bandElements(int64_t rows, int64_t cols,
                                         int64_t lower, int64_t upper) {
  double total = 0;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t begin = std::max<int64_t>(0, i - lower);
    int64_t end = std::min(cols, i + upper + 1);
    total += double(std::max<int64_t>(0, end - begin));
  }
  return total;
}

/// True if every non-zero lies in a diagonal block of size `b`.
static bool isBlockDiagonal(const NonZeroMask &mask, int64_t b) {
  const int64_t period = std::min(mask.rows(), mask.cols()) / b;
  for (int64_t i = 0; i < mask.rows(); ++i) {
    // The blocks of this row that may hold something, the rest of it empty.
    int64_t position = 0;
    for (int64_t block = i / b % period; block * b < mask.cols();
         block += period) {
      if (mask.count(i, position, block * b) != 0)
        return false;
      position = (block + 1) * b;
    }
    if (mask.count(i, position, mask.cols()) != 0)
      return false;
  }
  return true;
}

static int64_t findBlockDiagonal(const NonZeroMask &mask) {
  const int64_t shorter = std::min(mask.rows(), mask.cols());
  const int64_t longer = std::max(mask.rows(), mask.cols());
  for (int64_t b = 2; b <= shorter / 2; ++b)
    if (shorter % b == 0 && longer % b == 0 && isBlockDiagonal(mask, b))
      return b;
  return 0;
}

static void findChannelGroups(PatternReport &report) {
  // Only trailing dimensions (kernel height and width) make groups.
  int64_t group = 1;
  if (report.originalShape.size() > 2)
    for (int64_t d : llvm::ArrayRef(report.originalShape).drop_front(2))
      group *= d;
  if (group < 1 || report.cols % group != 0)
    return;
  report.channelGroup = group;
  for (int64_t c = 0; c < report.cols; c += group)
    report.zeroChannelGroups += std::all_of(
        report.colNnz.begin() + c, report.colNnz.begin() + c + group,
        [](int32_t count) { return count == 0; });
}

/// Non-zeros (i, j) with |i - j| <= half.
static int64_t countBand(const NonZeroMask &mask, int64_t half) {
  int64_t inside = 0;
  for (int64_t i = 0; i < mask.rows() && i - half < mask.cols(); ++i)
    inside += mask.count(i, std::max<int64_t>(0, i - half),
                         std::min(mask.cols(), i + half + 1));
  return inside;
}

static void findCentralBand(const NonZeroMask &mask, PatternReport &report) {
  const double quarter = double(report.rows) * double(report.cols) / 4;
  int64_t fits = -1, tooWide = std::max(report.rows, report.cols);
  while (tooWide - fits > 1) {
    int64_t half = fits + (tooWide - fits) / 2;
    if (bandElements(report.rows, report.cols, half, half) <= quarter)
      fits = half;
    else
      tooWide = half;
  }
  report.centralHalfWidth = fits;
  if (fits >= 0)
    report.centralNnz = countBand(mask, fits);
}

/// The narrowest half width, a power of two inside the central band, that
/// leaves at most 5 % outside.
static void findAlmostBanded(const NonZeroMask &mask, PatternReport &report) {
  for (int64_t half = 1; half <= report.centralHalfWidth; half *= 2) {
    int64_t inside = countBand(mask, half), outside = report.nnz - inside;
    if (outside == 0)
      return;
    if (outside * 20 <= report.nnz) {
      report.almost.push_back({Pattern::Banded, half, 0, inside, outside});
      return;
    }
  }
}

/// Every block shape of at least 16 elements whose full blocks hold four fifths
/// of the weights.
static void findAlmostBlocks(PatternReport &report) {
  for (const BlockStats &stats : report.blocks) {
    int64_t outside = report.nnz - stats.fullElements;
    if (stats.r * stats.c < 16 || outside == 0 ||
        stats.fullElements * 5 < report.nnz * 4)
      continue;
    report.almost.push_back(
        {Pattern::Block, stats.r, stats.c, stats.fullElements, outside});
  }
}

void sparseditto::detail::findStructure(const NonZeroMask &mask,
                                        PatternReport &report) {
  const std::string header = std::to_string(report.rows) + "x" +
                             std::to_string(report.cols) + "x" +
                             name(report.type).str();
  llvm::ArrayRef<uint64_t> bits = mask.bits();
  const uint64_t parts[2] = {
      llvm::xxh3_64bits(header),
      llvm::xxh3_64bits(llvm::ArrayRef(
          reinterpret_cast<const uint8_t *>(bits.data()), bits.size() * 8))};
  uint64_t hash = llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(parts), sizeof(parts)));
  report.fingerprint = llvm::utohexstr(hash, /*LowerCase=*/true, /*Width=*/16);
  if (report.nnz == 0)
    return;
  findChannelGroups(report);
  report.blockDiagonal = findBlockDiagonal(mask);
  if (const NMStats *four = report.findNM(4, Axis::Rows);
      four && four->excessWeights != 0 && report.cols >= 4)
    report.almost.push_back({Pattern::NM, 2, 4,
                             report.nnz - four->excessWeights,
                             four->excessWeights});
  findAlmostBlocks(report);
  findCentralBand(mask, report);
  findAlmostBanded(mask, report);
}
