//===- PatternReport.h - What analysis says about a weight ------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact counts over every element, group, tile, row and column of one matrix.
// Nothing here is sampled or thresholded: a claim is true of the data or
// absent.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_ANALYSIS_PATTERNREPORT_H
#define SPARSEDITTO_ANALYSIS_PATTERNREPORT_H

#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sparseditto {

/// The one-word verdict.
enum class Pattern : uint8_t {
  Dense,
  Unstructured,
  NM,
  Block,
  Channel,
  Banded,
  Hybrid,
  Zero,
};
llvm::StringRef name(Pattern pattern); ///< "dense", "unstructured", "nm", ...
std::optional<Pattern> parsePattern(llvm::StringRef text);

/// Axis along which the groups of an N:M pattern run. `Rows`: the m elements
/// of a group are consecutive in a row (along K), as mma.sp needs.
enum class Axis : uint8_t { Rows, Cols };

/// For one group length m and axis: the largest number of non-zeros in any
/// group (so the weight satisfies n:m exactly), and the census of group sizes.
struct NMStats {
  int m = 0;
  Axis axis = Axis::Rows;
  int maxPerGroup = 0;
  int minPerGroup = 0;
  int64_t groups = 0;
  /// Groups with more than m/2 non-zeros: those that violate m/2 : m (for
  /// m = 4, the groups that violate 2:4), and the weights beyond the limit.
  int64_t violatingGroups = 0;
  int64_t excessWeights = 0;
  /// True if the dimension is a multiple of m (else the last group is short).
  bool aligned = false;
  /// histogram[k]: groups that hold k non-zeros, k in 0..m.
  std::vector<int64_t> histogram;
  /// Weights that have to go so that no group holds more than `n`.
  int64_t excessOver(int n) const;
};

/// For one block shape r x c, aligned at (0,0).
struct BlockStats {
  int r = 0, c = 0;
  int64_t blocks = 0;        ///< ceil(M/r) * ceil(K/c).
  int64_t nonZeroBlocks = 0; ///< Blocks with at least one non-zero.
  int64_t fullBlocks = 0;    ///< Blocks without a zero inside the matrix.
  /// Elements inside the matrix of the kept and of the full blocks.
  int64_t keptElements = 0, fullElements = 0;
  /// Non-zeros / elements of the kept blocks; 1 means all kept blocks full.
  double fill = 0;
  int64_t maxBlocksPerRow = 0; ///< Kept blocks in the fullest block row.
  int64_t minBlocksPerRow = 0;
};

/// Counts along one axis.
struct CountStats {
  int64_t min = 0, max = 0;
  double mean = 0, stddev = 0;
  int64_t zeros = 0; ///< Rows (columns) with no non-zero.
  double skew = 0;   ///< max / mean; 0 for an empty matrix.
};

/// A nearly structured matrix: `inside` follows the pattern, `outside` breaks
/// it. Basis of `hybrid`.
struct AlmostPattern {
  Pattern kind = Pattern::NM; ///< NM, Block or Banded.
  /// n and m; rows and columns of a block; the half width of a band.
  int64_t first = 0, second = 0;
  int64_t inside = 0;
  int64_t outside = 0;
  std::string str() const; ///< "nm 2:4", "block 16x16", "banded 32".
};

struct PatternReport {
  std::string matrixName, sourceFile;
  ElementType type = ElementType::F32;
  int64_t rows = 0, cols = 0;
  std::vector<int64_t> originalShape;

  int64_t nnz = 0;
  int64_t negativeZeros = 0; ///< Zeros stored as -0.0 (counted as zeros).
  int64_t nanCount = 0, infCount = 0, subnormalCount = 0;
  double maxAbs = 0;
  double density() const {
    return rows * cols == 0 ? 0 : double(nnz) / (double(rows) * double(cols));
  }
  /// The pattern with its detail: "nm 2:4", "block 64x64", "unstructured".
  std::string patternText() const;
  double sparsity() const { return rows * cols == 0 ? 0 : 1 - density(); }

  CountStats rowCounts, colCounts;
  /// Non-zeros per row and per column; what packers and load balance need.
  std::vector<int32_t> rowNnz, colNnz;
  std::vector<NMStats> nm;        ///< m in {2,4,8,16,32,64}, both axes.
  std::vector<BlockStats> blocks; ///< r,c in {1,2,4,8,16,32,64,128}.
  int64_t lowerBandwidth = 0, upperBandwidth = 0;
  /// The widest centred band |i - j| <= half width that covers at most a
  /// quarter of the matrix (-1 if none), and the non-zeros inside.
  int64_t centralHalfWidth = -1, centralNnz = 0;
  /// Block-diagonal with this block size b (0 if not), the smallest that holds:
  /// b >= 2 divides both sides, the shorter one at least twice, and every
  /// non-zero (i,j) has i/b == j/b modulo the block count of the shorter side.
  int64_t blockDiagonal = 0;
  /// Whole groups of this many consecutive zero columns, aligned: an input
  /// channel of a flattened convolution (I*H*W: H*W columns). 1 for a plain
  /// matrix.
  int64_t channelGroup = 1;
  int64_t zeroChannelGroups = 0;
  std::vector<AlmostPattern> almost;

  Pattern pattern = Pattern::Dense;
  /// Details of the verdict: for NM.
  int nmN = 0, nmM = 0;
  Axis nmAxis = Axis::Rows;
  /// For Block: the shape that explains the zeros best.
  int blockR = 0, blockC = 0;
  /// For Hybrid: the structured part, an element of `almost` (its n:m or block
  /// shape is also set above).
  std::optional<AlmostPattern> structuredPart;
  /// How many bits shorter the claimed pattern describes the zeros than random
  /// placement at the same density; 0 for dense, unstructured and zero.
  double evidenceBits = 0;
  std::string reason; ///< One sentence with the numbers that decided.
  /// 64-bit hash of shape, type and zero pattern, as 16 hex digits.
  std::string fingerprint;

  const NMStats *findNM(int m, Axis axis) const;
  const BlockStats *findBlock(int r, int c) const;
  /// True if every aligned group of 4 along K has at most 2 non-zeros.
  bool satisfies24() const;

  /// The object documented by docs/schema/pattern-report.schema.json.
  llvm::json::Value toJSON(llvm::StringRef targetGPU = "") const;
};

} // namespace sparseditto

#endif // SPARSEDITTO_ANALYSIS_PATTERNREPORT_H
