//===- Verdict.cpp - From counts to one word ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every pattern that could be claimed is weighed by its evidence: how many bits
// shorter it describes where the zeros are than placing them at random with the
// same density would. A claim needs enough evidence not to be an accident, and
// the claim with most evidence wins.
//
//===----------------------------------------------------------------------===//

#include "Verdict.h"
#include "Structure.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <optional>

using namespace sparseditto;
using namespace sparseditto::detail;

namespace {

/// A pattern that the counts allow.
struct Claim {
  Pattern pattern = Pattern::Unstructured;
  double evidence = 0; ///< Bits.
  int nmN = 0, nmM = 0;
  Axis nmAxis = Axis::Rows;
  int blockR = 0, blockC = 0;
  std::optional<AlmostPattern> structuredPart;
  std::string reason;
};

/// More than an accident reaches: 2^-24 is one in seventeen million.
constexpr double minEvidence = 24;
/// 2:4 along rows is what hardware executes and tools prune to, so that a tiny
/// matrix needs less to be believed.
constexpr double minEvidence24 = 8;
/// With fewer zeros than this nothing is gained by skipping them.
constexpr double minClaimSparsity = 0.05;
/// Below this only a structure pays: a bitmap saves 4 % of the bytes.
constexpr double denseSparsity = 0.10;

class Judge {
public:
  explicit Judge(const PatternReport &report)
      : report(report), elements(double(report.rows) * double(report.cols)),
        density(report.density()) {
    // Whole zero rows and columns are no sign of a finer pattern, so random
    // placement is granted them where that describes the zeros better.
    random = std::min(bits(elements, double(report.nnz)), channelBits());
  }

  void consider(std::optional<Claim> claim) {
    if (claim && (!best || claim->evidence > best->evidence))
      best = std::move(claim);
  }
  std::optional<Claim> run();

private:
  /// Bits to say which `ones` of `n` places are taken.
  static double bits(double n, double ones) {
    if (n <= 0 || ones <= 0 || ones >= n)
      return 0;
    double p = ones / n;
    return -n * (p * std::log2(p) + (1 - p) * std::log2(1 - p));
  }
  double keptRows() const {
    return double(report.rows - report.rowCounts.zeros);
  }
  double keptCols() const {
    return double(report.cols - report.colCounts.zeros);
  }
  double channelBits() const {
    return bits(double(report.rows), keptRows()) +
           bits(double(report.cols), keptCols()) +
           bits(keptRows() * keptCols(), double(report.nnz));
  }
  /// Fewer non-zeros than the shorter side has rows or columns.
  bool hyperSparse() const {
    return report.nnz < std::min(report.rows, report.cols);
  }

  std::optional<Claim> channel() const;
  std::optional<Claim> nm(const NMStats &stats) const;
  std::optional<Claim> block(const BlockStats &stats) const;
  std::optional<Claim> banded() const;
  std::optional<Claim> almost(const AlmostPattern &part) const;

  const PatternReport &report;
  double elements, density, random = 0;
  std::optional<Claim> best;
};

/// P(X > n) and P(X == n) of a binomial with `m` trials.
struct Tail {
  double above = 0, exactly = 0;
};
Tail binomialTail(int m, int n, double p) {
  Tail tail;
  for (int k = 0; k <= m; ++k) {
    double logP = std::lgamma(m + 1) - std::lgamma(k + 1) -
                  std::lgamma(m - k + 1) + k * std::log(p) +
                  (m - k) * std::log1p(-p);
    if (k == n)
      tail.exactly = std::exp(logP);
    else if (k > n)
      tail.above += std::exp(logP);
  }
  return tail;
}

std::string percent(double share) {
  return llvm::formatv("{0:F1} %", 100 * share).str();
}

} // namespace

std::optional<Claim> Judge::channel() const {
  const double area = keptRows() * keptCols();
  const double kept = double(report.nnz) / area;
  if (area >= 0.95 * elements || kept < 0.95 || hyperSparse())
    return std::nullopt;
  Claim claim;
  claim.pattern = Pattern::Channel;
  claim.evidence = bits(elements, double(report.nnz)) - channelBits();
  if (claim.evidence < minEvidence)
    return std::nullopt;
  claim.reason =
      llvm::formatv("{0} of {1} rows and {2} of {3} columns are zero{4}; the "
                    "remaining {5}x{6} is {7} full",
                    report.rowCounts.zeros, report.rows, report.colCounts.zeros,
                    report.cols,
                    report.channelGroup > 1 &&
                            report.zeroChannelGroups * report.channelGroup ==
                                report.colCounts.zeros
                        ? llvm::formatv(" ({0} whole channels of {1} columns)",
                                        report.zeroChannelGroups,
                                        report.channelGroup)
                              .str()
                        : std::string(),
                    int64_t(keptRows()), int64_t(keptCols()), percent(kept))
          .str();
  return claim;
}

std::optional<Claim> Judge::nm(const NMStats &stats) const {
  const int n = stats.maxPerGroup, m = stats.m;
  const bool rows = stats.axis == Axis::Rows;
  const int64_t length = rows ? report.cols : report.rows;
  const int64_t lines = rows ? report.rows : report.cols;
  // Far emptier than n:m, it is something else that happens to satisfy it.
  if (n == 0 || n >= m || length < m || density < 0.5 * n / m || hyperSparse())
    return std::nullopt;
  const double groups = double(lines * (length / m));
  Tail whole = binomialTail(m, n, density);
  const int rest = int(length % m);
  Tail shorter = rest > n ? binomialTail(rest, n, density) : Tail();
  double expected = groups * whole.above + double(lines) * shorter.above;
  double evidence = -groups * std::log1p(-whole.above) -
                    double(lines) * std::log1p(-shorter.above);
  const bool exact = stats.minPerGroup == n && stats.aligned;
  if (exact)
    evidence = std::max(evidence, -groups * std::log(whole.exactly));
  Claim claim;
  claim.evidence = evidence / std::log(2.0);
  if (claim.evidence < (rows && n == 2 && m == 4 ? minEvidence24 : minEvidence))
    return std::nullopt;
  claim.pattern = Pattern::NM;
  claim.nmN = n;
  claim.nmM = m;
  claim.nmAxis = stats.axis;
  claim.reason =
      llvm::formatv("every one of {0} groups of {1} along {2} holds {3} {4} "
                    "non-zero{5}; random placement would break {6:F1}",
                    stats.groups, m, rows ? "rows" : "columns",
                    exact ? "exactly" : "at most", n, n == 1 ? "" : "s",
                    expected)
          .str();
  return claim;
}

std::optional<Claim> Judge::block(const BlockStats &stats) const {
  const double area = double(stats.keptElements);
  if (stats.r * stats.c < 4 || stats.fill < 0.9 || area > 0.95 * elements)
    return std::nullopt;
  Claim claim;
  claim.evidence = random -
                   bits(double(stats.blocks), double(stats.nonZeroBlocks)) -
                   bits(area, double(report.nnz));
  if (claim.evidence < minEvidence)
    return std::nullopt;
  claim.pattern = Pattern::Block;
  claim.blockR = stats.r;
  claim.blockC = stats.c;
  claim.reason =
      llvm::formatv(
          "all non-zeros lie in {0} of {1} {2}x{3} blocks, {4} full{5}",
          stats.nonZeroBlocks, stats.blocks, stats.r, stats.c,
          percent(stats.fill),
          report.blockDiagonal != 0
              ? llvm::formatv("; block-diagonal with {0}x{0} blocks",
                              report.blockDiagonal)
                    .str()
              : std::string())
          .str();
  return claim;
}

std::optional<Claim> Judge::banded() const {
  const int64_t lower = report.lowerBandwidth, upper = report.upperBandwidth;
  const double area = bandElements(report.rows, report.cols, lower, upper);
  if (hyperSparse() || area > 0.9 * elements)
    return std::nullopt;
  // A wide exact band is believed only if the weights crowd at its middle.
  if (area > elements * 2 / 3 && report.centralNnz * 4 < report.nnz * 3)
    return std::nullopt;
  Claim claim;
  claim.evidence = random - bits(area, double(report.nnz)) -
                   std::log2(double(report.rows)) -
                   std::log2(double(report.cols));
  if (claim.evidence < minEvidence)
    return std::nullopt;
  claim.pattern = Pattern::Banded;
  claim.reason =
      llvm::formatv("all non-zeros lie within {0} below and {1} above the "
                    "diagonal, {2} of the matrix",
                    lower, upper, percent(area / elements))
          .str();
  if (area > elements * 2 / 3)
    claim.reason +=
        llvm::formatv("; {0} of them within {1}",
                      percent(double(report.centralNnz) / double(report.nnz)),
                      report.centralHalfWidth)
            .str();
  return claim;
}

std::optional<Claim> Judge::almost(const AlmostPattern &part) const {
  Claim claim;
  claim.pattern = Pattern::Hybrid;
  claim.structuredPart = part;
  const double inside = double(part.inside), outside = double(part.outside);
  if (hyperSparse())
    return std::nullopt;
  if (part.kind == Pattern::NM) {
    const NMStats *stats = report.findNM(int(part.second), Axis::Rows);
    const double groups = double(report.rows * (report.cols / part.second));
    double expected = 0, coded = 0;
    for (int k = 0; k <= stats->m; ++k) {
      double count = double(stats->histogram[size_t(k)]);
      Tail tail = binomialTail(stats->m, k, density);
      expected += groups * tail.exactly * std::max<double>(0, k - part.first);
      if (count != 0)
        coded +=
            count * std::log2(count / double(stats->groups) / tail.exactly);
    }
    // At most 5 % too many, and at most a quarter of what chance would leave.
    if (outside > 0.05 * double(report.nnz) || outside * 4 > expected ||
        density < 0.25)
      return std::nullopt;
    claim.evidence = coded;
    claim.nmN = int(part.first);
    claim.nmM = int(part.second);
  } else if (part.kind == Pattern::Block) {
    const BlockStats *stats =
        report.findBlock(int(part.first), int(part.second));
    const double full = double(stats->fullElements);
    if (full > 0.95 * elements)
      return std::nullopt;
    claim.evidence = random -
                     bits(double(stats->blocks), double(stats->fullBlocks)) -
                     bits(elements - full, outside);
    claim.blockR = stats->r;
    claim.blockC = stats->c;
  } else {
    const double area =
        bandElements(report.rows, report.cols, part.first, part.first);
    claim.evidence = random - bits(area, inside) -
                     bits(elements - area, outside) -
                     std::log2(double(report.rows));
  }
  if (claim.evidence < minEvidence)
    return std::nullopt;
  claim.reason =
      llvm::formatv("{0} holds {1} of the non-zeros, {2} break it", part.str(),
                    percent(inside / double(report.nnz)), part.outside)
          .str();
  return claim;
}

std::optional<Claim> Judge::run() {
  // Where whole channels are gone and the rest is full, any finer pattern only
  // repeats which ones.
  if (std::optional<Claim> claim = channel())
    return claim;
  for (const NMStats &stats : report.nm)
    consider(nm(stats));
  for (const BlockStats &stats : report.blocks)
    consider(block(stats));
  consider(banded());
  for (const AlmostPattern &part : report.almost)
    consider(almost(part));
  return best;
}

static std::string unstructuredReason(const PatternReport &report) {
  std::string text =
      llvm::formatv(
          "{0:F2} % zeros and no pattern that chance would not explain",
          100 * report.sparsity())
          .str();
  const NMStats *four = report.findNM(4, Axis::Rows);
  if (four->violatingGroups != 0)
    text += llvm::formatv("; {0} of {1} groups of 4 hold more than 2",
                          four->violatingGroups, four->groups)
                .str();
  return text;
}

void sparseditto::detail::decide(PatternReport &report) {
  if (report.nnz == 0) {
    report.pattern = Pattern::Zero;
    report.reason = "every element is zero";
    return;
  }
  if (report.sparsity() < minClaimSparsity) {
    report.pattern = Pattern::Dense;
    report.reason =
        report.sparsity() == 0
            ? "no element is zero"
            : llvm::formatv("only {0} zeros", percent(report.sparsity())).str();
    return;
  }
  std::optional<Claim> claim = Judge(report).run();
  if (!claim) {
    const bool dense = report.sparsity() < denseSparsity;
    report.pattern = dense ? Pattern::Dense : Pattern::Unstructured;
    report.reason = dense ? llvm::formatv("only {0} zeros, in no pattern",
                                          percent(report.sparsity()))
                                .str()
                          : unstructuredReason(report);
    return;
  }
  report.pattern = claim->pattern;
  report.evidenceBits = claim->evidence;
  report.nmN = claim->nmN;
  report.nmM = claim->nmM;
  report.nmAxis = claim->nmAxis;
  report.blockR = claim->blockR;
  report.blockC = claim->blockC;
  report.structuredPart = claim->structuredPart;
  report.reason = claim->reason;
}
