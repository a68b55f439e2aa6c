//===- VerdictTest.cpp - One word for generated matrices ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace sparseditto;

namespace {

constexpr ElementType f16 = ElementType::F16;

/// Exactly n of every m consecutive columns, at random.
Matrix randomNM(int64_t rows, int64_t cols, int n, int m, unsigned seed) {
  Coin coin(seed);
  std::vector<char> kept(size_t(rows * cols));
  for (int64_t group = 0; group < rows * cols / m; ++group)
    for (int left = n; left > 0;) {
      char &element = kept[size_t(group * m + coin.below(uint32_t(m)))];
      left -= !element;
      element = 1;
    }
  return generate(f16, rows, cols, [&](int64_t i, int64_t j) {
    return kept[size_t(i * cols + j)] != 0;
  });
}

/// Whole r x c blocks kept with the given probability.
Matrix randomBlocks(int64_t rows, int64_t cols, int64_t r, int64_t c,
                    double probability, unsigned seed) {
  Coin coin(seed);
  int64_t across = (cols + c - 1) / c;
  std::vector<char> kept(size_t((rows + r - 1) / r * across));
  for (char &block : kept)
    block = coin(probability);
  return generate(f16, rows, cols, [&](int64_t i, int64_t j) {
    return kept[size_t(i / r * across + j / c)] != 0;
  });
}

Matrix random(int64_t rows, int64_t cols, double density, unsigned seed) {
  Coin coin(seed);
  return generate(f16, rows, cols,
                  [&](int64_t, int64_t) { return coin(density); });
}

/// Makes `count` zeros of the matrix non-zero, at random places.
Matrix withNoise(Matrix matrix, int count, unsigned seed) {
  Coin coin(seed);
  while (count != 0) {
    int64_t at = coin.below(uint32_t(matrix.numElements()));
    uint8_t *element = matrix.mutableData() + at * 2;
    if (loadAsDouble(f16, element) == 0) {
      storeFromDouble(f16, 5, element);
      --count;
    }
  }
  return matrix;
}

TEST(Verdict, NMAtEveryGroupLengthOnBothAxes) {
  for (auto [n, m] : {std::pair<int, int>{1, 2},
                      {1, 4},
                      {2, 4},
                      {3, 4},
                      {2, 8},
                      {4, 8},
                      {1, 16},
                      {3, 16},
                      {1, 32},
                      {5, 32},
                      {2, 64},
                      {33, 64}}) {
    SCOPED_TRACE(std::to_string(n) + ":" + std::to_string(m));
    Matrix matrix = randomNM(128, 512, n, m, 11);
    PatternReport report = analyzed(matrix);
    EXPECT_EQ(report.pattern, Pattern::NM) << report.reason;
    EXPECT_EQ(report.nmN, n);
    EXPECT_EQ(report.nmM, m);
    EXPECT_EQ(report.nmAxis, Axis::Rows);
    EXPECT_EQ(report.satisfies24(), n * 4 <= 2 * m && (m <= 4 || n <= 2));
    PatternReport turned = analyzed(llvm::cantFail(matrix.transposed()));
    EXPECT_EQ(turned.pattern, Pattern::NM) << turned.reason;
    EXPECT_EQ(turned.nmN, n);
    EXPECT_EQ(turned.nmM, m);
    EXPECT_EQ(turned.nmAxis, Axis::Cols);
  }
}

TEST(Verdict, NMWithNaturalZerosAndShortLastGroup) {
  // Two of four, a tenth of them zero by themselves, 510 columns.
  Matrix full = randomNM(256, 512, 2, 4, 12);
  Coin coin(13);
  Matrix matrix = generate(f16, 256, 510, [&](int64_t i, int64_t j) {
    return full.value(i, j) != 0 && coin(0.9);
  });
  PatternReport report = analyzed(matrix);
  EXPECT_EQ(report.pattern, Pattern::NM) << report.reason;
  EXPECT_EQ(report.nmN, 2);
  EXPECT_EQ(report.nmM, 4);
  EXPECT_FALSE(report.findNM(4, Axis::Rows)->aligned);
}

TEST(Verdict, SatisfyingNMByAccidentIsNotNM) {
  // At most two of every four, but only because there is next to nothing.
  Coin coin(14);
  std::set<std::pair<int64_t, int64_t>> kept;
  for (int i = 0; i < 2000; ++i)
    kept.insert({coin.below(512), int64_t(coin.below(128)) * 4});
  PatternReport report =
      analyzed(generate(f16, 512, 512, [&](int64_t i, int64_t j) {
        return kept.count({i, j}) != 0;
      }));
  EXPECT_TRUE(report.satisfies24());
  EXPECT_NE(report.pattern, Pattern::NM) << report.reason;
  // Unstructured 97 %: almost every group holds at most two.
  EXPECT_EQ(analyzed(random(512, 512, 0.03, 15)).pattern,
            Pattern::Unstructured);
}

TEST(Verdict, RandomPlacementIsUnstructuredAtAnyDensity) {
  unsigned seed = 20;
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{256, 256},
                            {64, 147},
                            {33, 1000},
                            {1000, 31},
                            {16, 16},
                            {1, 4096},
                            {4096, 1},
                            {512, 64}})
    for (double density : {0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85}) {
      PatternReport report = analyzed(random(rows, cols, density, seed++));
      if (report.nnz == 0 || report.sparsity() < 0.10)
        continue;
      EXPECT_EQ(report.pattern, Pattern::Unstructured)
          << rows << "x" << cols << " " << density << ": " << report.reason;
    }
}

TEST(Verdict, RowsOfDifferentDensityAreStillUnstructured) {
  Coin coin(16);
  std::vector<double> density(512);
  for (double &d : density)
    d = 0.02 + 0.6 * double(coin.below(1000)) / 1000;
  PatternReport report =
      analyzed(generate(f16, 512, 512, [&](int64_t i, int64_t) {
        return coin(density[size_t(i)]);
      }));
  EXPECT_EQ(report.pattern, Pattern::Unstructured) << report.reason;
  EXPECT_EQ(report.toJSON()
                .getAsObject()
                ->getObject("pattern_analysis")
                ->getString("non_zero_distribution"),
            "skewed_rows");
}

TEST(Verdict, MostRowsEmptyIsStillUnstructured) {
  Coin coin(17);
  for (int64_t last : {40, 500}) {
    // Rows bunched at the top are no band.
    PatternReport report =
        analyzed(generate(f16, 2048, 512, [&](int64_t i, int64_t) {
          return i < last && coin(0.1);
        }));
    EXPECT_EQ(report.pattern, Pattern::Unstructured) << report.reason;
  }
}

TEST(Verdict, FewZerosAreDense) {
  EXPECT_EQ(analyzed(random(256, 256, 0.961, 18)).pattern, Pattern::Dense);
  EXPECT_EQ(analyzed(random(256, 256, 0.93, 19)).pattern, Pattern::Dense);
  EXPECT_EQ(analyzed(random(256, 256, 1.0, 20)).pattern, Pattern::Dense);
  EXPECT_EQ(analyzed(random(1, 1, 1.0, 20)).pattern, Pattern::Dense);
  EXPECT_EQ(analyzed(random(1, 1, 0.0, 20)).pattern, Pattern::Zero);
}

TEST(Verdict, BlocksOfEveryShape) {
  for (int r : {1, 2, 4, 8, 16, 32, 64, 128})
    for (int c : {1, 2, 4, 8, 16, 32, 64, 128}) {
      if (r * c < 16)
        continue;
      SCOPED_TRACE(std::to_string(r) + "x" + std::to_string(c));
      PatternReport report =
          analyzed(randomBlocks(512, 1024, r, c, 0.4, unsigned(r * 200 + c)));
      EXPECT_EQ(report.pattern, Pattern::Block) << report.reason;
      EXPECT_EQ(report.blockR, r);
      EXPECT_EQ(report.blockC, c);
      EXPECT_EQ(report.findBlock(r, c)->fill, 1.0);
    }
}

TEST(Verdict, BlocksWithRaggedEdges) {
  PatternReport report = analyzed(randomBlocks(500, 730, 16, 32, 0.3, 30));
  EXPECT_EQ(report.pattern, Pattern::Block) << report.reason;
  EXPECT_EQ(report.blockR, 16);
  EXPECT_EQ(report.blockC, 32);
  EXPECT_EQ(report.findBlock(16, 32)->fill, 1.0);
}

TEST(Verdict, BlocksWithNaturalZeros) {
  Matrix full = randomBlocks(512, 512, 32, 32, 0.3, 31);
  Coin coin(32);
  PatternReport report =
      analyzed(generate(f16, 512, 512, [&](int64_t i, int64_t j) {
        return full.value(i, j) != 0 && coin(0.96);
      }));
  EXPECT_EQ(report.pattern, Pattern::Block) << report.reason;
  EXPECT_EQ(report.blockR, 32);
  EXPECT_EQ(report.blockC, 32);
  EXPECT_LT(report.findBlock(32, 32)->fill, 1.0);
}

TEST(Verdict, BlockDiagonal) {
  PatternReport report =
      analyzed(generate(f16, 384, 128, [](int64_t i, int64_t j) {
        return i / 32 % 4 == j / 32;
      }));
  EXPECT_EQ(report.pattern, Pattern::Block) << report.reason;
  EXPECT_EQ(report.blockR, 32);
  EXPECT_EQ(report.blockC, 32);
  EXPECT_EQ(report.blockDiagonal, 32);
  // Also when the columns wrap, and with a block size that is no power of two.
  report = analyzed(generate(
      f16, 96, 480, [](int64_t i, int64_t j) { return i / 24 == j / 24 % 4; }));
  EXPECT_EQ(report.blockDiagonal, 24);
}

TEST(Verdict, Channels) {
  std::set<int64_t> gone = {3, 4, 17, 40, 41, 42, 43, 44, 45, 46};
  PatternReport report = analyzed(generate(
      f16, 64, 100, [&](int64_t, int64_t j) { return gone.count(j) == 0; }));
  EXPECT_EQ(report.pattern, Pattern::Channel) << report.reason;
  EXPECT_EQ(report.colCounts.zeros, 10);
  EXPECT_EQ(report.rowCounts.zeros, 0);
  report = analyzed(generate(f16, 100, 64, [&](int64_t i, int64_t j) {
    return gone.count(i) == 0 && j % 7 != 0;
  }));
  EXPECT_EQ(report.pattern, Pattern::Channel) << report.reason;
  EXPECT_EQ(report.rowCounts.zeros, 10);
  EXPECT_EQ(report.colCounts.zeros, 10);
}

TEST(Verdict, ChannelsOfAFlattenedConvolution) {
  Matrix matrix = generate(f16, 16, 16 * 9,
                           [](int64_t, int64_t j) { return j / 9 % 3 != 0; });
  matrix.originalShape = {16, 16, 3, 3};
  PatternReport report = analyzed(matrix);
  EXPECT_EQ(report.pattern, Pattern::Channel) << report.reason;
  EXPECT_EQ(report.channelGroup, 9);
  EXPECT_EQ(report.zeroChannelGroups, 6);
}

TEST(Verdict, Bands) {
  PatternReport report =
      analyzed(generate(f16, 300, 300, [](int64_t i, int64_t j) {
        return i - j <= 2 && j - i <= 1;
      }));
  EXPECT_EQ(report.pattern, Pattern::Banded) << report.reason;
  EXPECT_EQ(report.lowerBandwidth, 2);
  EXPECT_EQ(report.upperBandwidth, 1);
  report = analyzed(
      generate(f16, 200, 200, [](int64_t i, int64_t j) { return i == j; }));
  EXPECT_EQ(report.pattern, Pattern::Banded) << report.reason;
  EXPECT_EQ(report.upperBandwidth, 0);
  // Lower triangular.
  report = analyzed(
      generate(f16, 200, 200, [](int64_t i, int64_t j) { return j <= i; }));
  EXPECT_EQ(report.pattern, Pattern::Banded) << report.reason;
  EXPECT_EQ(report.lowerBandwidth, 199);
  EXPECT_EQ(report.upperBandwidth, 0);
}

TEST(Verdict, HybridOfTwoFourAndOutliers) {
  Matrix matrix = withNoise(randomNM(256, 512, 2, 4, 40), 400, 41);
  PatternReport report = analyzed(matrix);
  EXPECT_EQ(report.pattern, Pattern::Hybrid) << report.reason;
  ASSERT_TRUE(report.structuredPart.has_value());
  EXPECT_EQ(report.structuredPart->str(), "nm 2:4");
  EXPECT_EQ(report.nmN, 2);
  EXPECT_EQ(report.nmM, 4);
  EXPECT_EQ(report.structuredPart->inside + report.structuredPart->outside,
            report.nnz);
  EXPECT_LE(report.structuredPart->outside, 400);
  EXPECT_GE(report.structuredPart->outside, 390);
}

TEST(Verdict, HybridOfBlocksAndOutliers) {
  Matrix matrix = withNoise(randomBlocks(512, 512, 16, 16, 0.25, 42), 900, 43);
  PatternReport report = analyzed(matrix);
  EXPECT_EQ(report.pattern, Pattern::Hybrid) << report.reason;
  ASSERT_TRUE(report.structuredPart.has_value());
  EXPECT_EQ(report.structuredPart->str(), "block 16x16");
  EXPECT_EQ(report.blockR, 16);
  EXPECT_EQ(report.structuredPart->outside, 900);
}

TEST(Verdict, HybridOfBandAndOutliers) {
  Matrix matrix = withNoise(
      generate(f16, 512, 512,
               [](int64_t i, int64_t j) { return std::abs(i - j) <= 8; }),
      60, 44);
  PatternReport report = analyzed(matrix);
  EXPECT_EQ(report.pattern, Pattern::Hybrid) << report.reason;
  ASSERT_TRUE(report.structuredPart.has_value());
  EXPECT_EQ(report.structuredPart->str(), "banded 8");
  // A few of the 60 may land inside the band only if it had zeros: it has none.
  EXPECT_EQ(report.structuredPart->outside, 60);
}

TEST(Verdict, EvidenceIsOnlyGivenToClaims) {
  EXPECT_EQ(analyzed(random(128, 128, 0.5, 50)).evidenceBits, 0);
  EXPECT_EQ(analyzed(random(128, 128, 1.0, 51)).evidenceBits, 0);
  EXPECT_GT(analyzed(randomNM(128, 128, 2, 4, 52)).evidenceBits, 1000);
}

TEST(Verdict, PatternNamesRoundTrip) {
  for (Pattern pattern :
       {Pattern::Dense, Pattern::Unstructured, Pattern::NM, Pattern::Block,
        Pattern::Channel, Pattern::Banded, Pattern::Hybrid, Pattern::Zero})
    EXPECT_EQ(parsePattern(name(pattern)), pattern);
  EXPECT_EQ(parsePattern("striped"), std::nullopt);
}

} // namespace
