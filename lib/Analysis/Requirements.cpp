//===- Requirements.cpp - What each lowering would need -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Requirements.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <tuple>

using namespace sparseditto;
using namespace sparseditto::detail;

namespace {

struct Candidate {
  llvm::StringRef family;
  double bytes = 0;
  int blockR = 0, blockC = 0;
};

/// Row pointers or block-row pointers.
double pointers(int64_t rows) { return 4.0 * double(rows + 1); }

/// Values with 4-bit column steps; a step beyond 15 needs filler entries, whose
/// number is estimated from each row's density.
double deltaBytes(const PatternReport &report, double element) {
  double entries = 0;
  for (int32_t count : report.rowNnz) {
    if (count == 0)
      continue;
    double empty = std::pow(1 - double(count) / double(report.cols), 15);
    double perWeight = empty < 1 ? empty / (1 - empty) : 0;
    entries += count + std::min(count * perWeight, double(report.cols) / 15);
  }
  return entries * (element + 0.5) + pointers(report.rows);
}

double blockBytes(const BlockStats &stats, int64_t blocks, int64_t rows,
                  double element) {
  return double(blocks) * (double(stats.r) * stats.c * element + 4) +
         pointers((rows + stats.r - 1) / stats.r);
}

std::vector<Candidate> candidates(const PatternReport &report) {
  const double element = byteSize(report.type);
  const double rows = double(report.rows), cols = double(report.cols);
  const double nnz = double(report.nnz);
  std::vector<Candidate> result;
  result.push_back({"dense", rows * cols * element});
  // Half of the values and two bits for the place of each; tensor cores take
  // 2:4 operands of one or two bytes.
  if (report.satisfies24() && element <= 2)
    result.push_back({"nm", rows * std::ceil(cols / 4) * (2 * element + 0.5)});
  Candidate block{"block", 0};
  for (const BlockStats &stats : report.blocks) {
    double bytes = blockBytes(stats, stats.nonZeroBlocks, report.rows, element);
    if (std::min(stats.r, stats.c) >= 4 && stats.r * stats.c >= 16 &&
        (block.blockR == 0 || bytes < block.bytes))
      block = {"block", bytes, stats.r, stats.c};
  }
  if (block.blockR != 0)
    result.push_back(block);
  result.push_back({"bitmap", nnz * element + rows * std::ceil(cols / 8) +
                                  pointers(report.rows)});
  if (report.cols <= 65536)
    result.push_back({"csr16", nnz * (element + 2) + pointers(report.rows)});
  result.push_back({"delta", deltaBytes(report, element)});
  const double keptRows = rows - double(report.rowCounts.zeros);
  const double keptCols = cols - double(report.colCounts.zeros);
  if (keptRows * keptCols < rows * cols)
    result.push_back(
        {"channel", keptRows * keptCols * element + 4 * (keptRows + keptCols)});
  if (report.structuredPart) {
    const AlmostPattern &part = *report.structuredPart;
    double bytes = double(part.outside) * (element + 4) + pointers(report.rows);
    if (part.kind == Pattern::NM) {
      result.push_back(
          {"hybrid", bytes + rows * std::ceil(cols / 4) * (2 * element + 0.5)});
    } else if (part.kind == Pattern::Block) {
      const BlockStats *stats =
          report.findBlock(int(part.first), int(part.second));
      bytes += blockBytes(*stats, stats->fullBlocks, report.rows, element);
      result.push_back({"hybrid", bytes, stats->r, stats->c});
    }
  }
  return result;
}

/// The largest power of two up to 128 that divides `size`.
int64_t alignment(int64_t size) {
  return size == 0 ? 128 : std::min<int64_t>(size & -size, 128);
}

} // namespace

llvm::json::Object
sparseditto::detail::kernelRequirements(const PatternReport &report) {
  const bool fp8 =
      report.type == ElementType::F8E4M3 || report.type == ElementType::F8E5M2;
  std::vector<Candidate> all = candidates(report);
  llvm::sort(all, [](const Candidate &a, const Candidate &b) {
    return std::tie(a.bytes, a.family) < std::tie(b.bytes, b.family);
  });
  llvm::json::Array list;
  for (const Candidate &candidate : all) {
    llvm::json::Object object{
        {"family", candidate.family},
        {"bytes", int64_t(std::ceil(candidate.bytes))},
        // sm_89 is the first with fp8 matrix instructions.
        {"min_compute_capability", fp8 ? 89 : 80},
    };
    if (candidate.blockR != 0)
      object["block_size"] =
          llvm::json::Array{candidate.blockR, candidate.blockC};
    list.push_back(std::move(object));
  }
  return llvm::json::Object{
      {"element_bytes", int64_t(byteSize(report.type))},
      {"rows_multiple_of", alignment(report.rows)},
      {"columns_multiple_of", alignment(report.cols)},
      {"best_by_bytes", all.front().family},
      {"candidates", std::move(list)},
  };
}
