//===- PatternReport.cpp - What analysis says about a weight --------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Analysis/PatternReport.h"
#include "Requirements.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace sparseditto;

llvm::StringRef sparseditto::name(Pattern pattern) {
  switch (pattern) {
  case Pattern::Dense:
    return "dense";
  case Pattern::Unstructured:
    return "unstructured";
  case Pattern::NM:
    return "nm";
  case Pattern::Block:
    return "block";
  case Pattern::Channel:
    return "channel";
  case Pattern::Banded:
    return "banded";
  case Pattern::Hybrid:
    return "hybrid";
  case Pattern::Zero:
    return "zero";
  }
  llvm_unreachable("unknown pattern");
}

std::optional<Pattern> sparseditto::parsePattern(llvm::StringRef text) {
  for (Pattern pattern :
       {Pattern::Dense, Pattern::Unstructured, Pattern::NM, Pattern::Block,
        Pattern::Channel, Pattern::Banded, Pattern::Hybrid, Pattern::Zero})
    if (name(pattern) == text)
      return pattern;
  return std::nullopt;
}

int64_t NMStats::excessOver(int n) const {
  int64_t excess = 0;
  for (int k = n + 1; k < int(histogram.size()); ++k)
    excess += (k - n) * histogram[size_t(k)];
  return excess;
}

std::string AlmostPattern::str() const {
  std::string text = name(kind).str() + " " + std::to_string(first);
  if (kind == Pattern::NM)
    return text + ":" + std::to_string(second);
  if (kind == Pattern::Block)
    return text + "x" + std::to_string(second);
  return text;
}

std::string PatternReport::patternText() const {
  if (pattern == Pattern::NM)
    return llvm::formatv("nm {0}:{1}{2}", nmN, nmM,
                         nmAxis == Axis::Cols ? " (columns)" : "");
  if (pattern == Pattern::Block)
    return llvm::formatv("block {0}x{1}", blockR, blockC);
  return name(pattern).str();
}

const NMStats *PatternReport::findNM(int m, Axis axis) const {
  for (const NMStats &stats : nm)
    if (stats.m == m && stats.axis == axis)
      return &stats;
  return nullptr;
}

const BlockStats *PatternReport::findBlock(int r, int c) const {
  for (const BlockStats &stats : blocks)
    if (stats.r == r && stats.c == c)
      return &stats;
  return nullptr;
}

bool PatternReport::satisfies24() const {
  const NMStats *four = findNM(4, Axis::Rows);
  return four && four->maxPerGroup <= 2;
}

static llvm::StringRef axisName(Axis axis) {
  return axis == Axis::Rows ? "rows" : "cols";
}

/// How the non-zeros are spread, in a word.
static llvm::StringRef distribution(const PatternReport &report) {
  if (report.nnz == 0)
    return "zero";
  if (report.nnz == report.rows * report.cols)
    return "full";
  if (report.nnz < std::min(report.rows, report.cols))
    return "hyper_sparse";
  // Twice the spread of random placement around the mean, or more, and more
  // than a tenth of the mean, is skew.
  auto skewed = [](const CountStats &stats, int64_t length) {
    double p = stats.mean / double(length);
    double random = std::sqrt(stats.mean * (1 - p));
    return stats.stddev > 2 * random && stats.stddev > 0.1 * stats.mean;
  };
  bool rows = skewed(report.rowCounts, report.cols);
  bool cols = skewed(report.colCounts, report.rows);
  return rows ? (cols ? "skewed" : "skewed_rows")
              : (cols ? "skewed_columns" : "uniform");
}

static llvm::json::Object toJSON(const CountStats &stats) {
  return llvm::json::Object{{"min", stats.min},     {"max", stats.max},
                            {"mean", stats.mean},   {"stddev", stats.stddev},
                            {"zeros", stats.zeros}, {"skew", stats.skew}};
}

static llvm::json::Object toJSON(const NMStats &stats) {
  return llvm::json::Object{{"m", stats.m},
                            {"axis", axisName(stats.axis)},
                            {"groups", stats.groups},
                            {"min_per_group", stats.minPerGroup},
                            {"max_per_group", stats.maxPerGroup},
                            {"violating_groups", stats.violatingGroups},
                            {"excess_weights", stats.excessWeights},
                            {"aligned", stats.aligned}};
}

static llvm::json::Object toJSON(const BlockStats &stats) {
  return llvm::json::Object{{"rows", stats.r},
                            {"columns", stats.c},
                            {"blocks", stats.blocks},
                            {"nonzero_blocks", stats.nonZeroBlocks},
                            {"full_blocks", stats.fullBlocks},
                            {"fill", stats.fill},
                            {"min_blocks_per_row", stats.minBlocksPerRow},
                            {"max_blocks_per_row", stats.maxBlocksPerRow}};
}

static llvm::json::Object toJSON(const AlmostPattern &almost) {
  return llvm::json::Object{{"pattern", almost.str()},
                            {"inside", almost.inside},
                            {"outside", almost.outside}};
}

static llvm::json::Object patternAnalysis(const PatternReport &report) {
  llvm::json::Array groups, blocks, almost;
  for (const NMStats &stats : report.nm)
    groups.push_back(toJSON(stats));
  for (const BlockStats &stats : report.blocks)
    blocks.push_back(toJSON(stats));
  for (const AlmostPattern &pattern : report.almost)
    almost.push_back(toJSON(pattern));
  llvm::json::Value claimed = nullptr, blockSize = nullptr, hybrid = nullptr;
  if (report.nmM != 0)
    claimed = llvm::json::Object{{"n", report.nmN},
                                 {"m", report.nmM},
                                 {"axis", axisName(report.nmAxis)}};
  if (report.blockR != 0)
    blockSize = llvm::json::Array{report.blockR, report.blockC};
  if (report.structuredPart)
    hybrid = toJSON(*report.structuredPart);
  return llvm::json::Object{
      {"reason", report.reason},
      {"evidence_bits", report.evidenceBits},
      {"non_zero_distribution", distribution(report)},
      {"row_counts", toJSON(report.rowCounts)},
      {"column_counts", toJSON(report.colCounts)},
      {"zero_rows", report.rowCounts.zeros},
      {"zero_columns", report.colCounts.zeros},
      {"channel_group", report.channelGroup},
      {"zero_channel_groups", report.zeroChannelGroups},
      {"nm", llvm::json::Object{{"claimed", std::move(claimed)},
                                {"satisfies_2_4", report.satisfies24()},
                                {"groups", std::move(groups)}}},
      {"block_structure", report.blockR != 0},
      {"block_size", std::move(blockSize)},
      {"block_diagonal", report.blockDiagonal},
      {"blocks", std::move(blocks)},
      {"lower_bandwidth", report.lowerBandwidth},
      {"upper_bandwidth", report.upperBandwidth},
      {"hybrid", std::move(hybrid)},
      {"almost", std::move(almost)},
      {"values", llvm::json::Object{{"negative_zeros", report.negativeZeros},
                                    {"nan", report.nanCount},
                                    {"inf", report.infCount},
                                    {"subnormal", report.subnormalCount},
                                    {"max_abs", report.maxAbs}}},
  };
}

llvm::json::Value PatternReport::toJSON(llvm::StringRef targetGPU) const {
  llvm::json::Array shape;
  for (int64_t d : originalShape)
    shape.push_back(d);
  if (originalShape.empty())
    shape = llvm::json::Array{rows, cols};
  llvm::json::Value target = nullptr;
  if (!targetGPU.empty())
    target = targetGPU;
  // Names come from files: JSON text must still be UTF-8.
  return llvm::json::Object{
      {"matrix_name", llvm::json::fixUTF8(matrixName)},
      {"source_file", llvm::json::fixUTF8(sourceFile)},
      {"shape", std::move(shape)},
      {"rows", rows},
      {"columns", cols},
      {"dtype", name(type)},
      {"nnz", nnz},
      {"sparsity_ratio", sparsity()},
      {"pattern", name(pattern)},
      {"fingerprint", fingerprint},
      {"pattern_analysis", patternAnalysis(*this)},
      {"target_gpu", std::move(target)},
      {"kernel_requirements", detail::kernelRequirements(*this)},
  };
}
