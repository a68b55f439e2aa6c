//===- GemmNumericTest.cpp - Matrix kernels against the oracle ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumericCheck.h"
#include "TestWeights.h"
#include "sparseditto/Kernels/Families.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {

using Knobs = std::initializer_list<std::pair<llvm::StringRef, int64_t>>;

class GemmNumeric : public ::testing::TestWithParam<const char *> {
protected:
  const KernelFamily &family() { return *findFamily(GetParam()); }
  Strategy strategy(Knobs knobs) {
    Strategy result = family().declaration().defaults();
    for (auto [knob, value] : knobs)
      result.set(knob, value);
    return result;
  }
  /// For block: panels of at least 32 rows, so that 16-row thread blocks share
  /// one.
  Strategy withPanel(Strategy strategy) {
    if (family().declaration().find("panel_rows"))
      strategy.set("panel_rows",
                   std::max<int64_t>(32, *strategy.get("tile_m")));
    return strategy;
  }
  /// A small kernel of the streaming schedule.
  Strategy stream(int64_t tileM, int64_t tileN, Knobs knobs = {}) {
    Strategy result = strategy({{"schedule", 0},
                                {"tile_m", tileM},
                                {"tile_n", tileN},
                                {"warps_k", 2},
                                {"prefetch", 1},
                                {"stages", 2},
                                {"blocks_per_sm", 1}});
    for (auto [knob, value] : knobs)
      result.set(knob, value);
    return withPanel(result);
  }
  Strategy tile(int64_t tileM, int64_t tileN, Knobs knobs = {}) {
    Strategy result = strategy({{"schedule", 1},
                                {"tile_m", tileM},
                                {"tile_n", tileN},
                                {"warps_m", 1},
                                {"warps_n", 2},
                                {"warps_k", 1},
                                {"prefetch", 1},
                                {"stages", 3},
                                {"blocks_per_sm", 1},
                                {"band_rows", 8}});
    for (auto [knob, value] : knobs)
      result.set(knob, value);
    return withPanel(result);
  }
  void check(ElementType type, int64_t m, int64_t k, Layout layout,
             Epilogue epilogue, const Strategy &strategy,
             std::vector<int64_t> n) {
    Matrix weight =
        structuredWeight(family().name(), type, m, k, uint64_t(m * 131 + k));
    checkNumerically(family(), weight, problemOf(weight, layout, epilogue),
                     strategy, quickCheck(std::move(n)));
  }
};

constexpr Layout bothLayouts[] = {Layout::TokenMajor, Layout::FeatureMajor};

TEST_P(GemmNumeric, StreamShapesInEveryTail) {
  for (Layout layout : bothLayouts)
    for (auto [m, k] : {std::pair<int64_t, int64_t>{1, 1},
                        {3, 7},
                        {8, 16},
                        {15, 17},
                        {16, 31},
                        {17, 33},
                        {33, 64},
                        {31, 65},
                        {64, 130}})
      check(ElementType::F16, m, k, layout, {}, stream(16, 8), {1, 3, 8, 17});
}

TEST_P(GemmNumeric, StreamTiles) {
  for (Layout layout : bothLayouts) {
    check(ElementType::F16, 70, 256, layout, {}, stream(32, 16), {7, 16, 33});
    check(ElementType::BF16, 70, 256, layout, {},
          stream(32, 32, {{"warps_m", 2}}), {8, 31});
    check(ElementType::F16, 129, 200, layout, {},
          stream(64, 64, {{"warps_m", 2}, {"stages", 3}}), {63, 64, 65});
    check(ElementType::BF16, 16, 320, layout, {},
          stream(16, 16, {{"warps_k", 1}}), {9});
  }
}

TEST_P(GemmNumeric, StreamPassesUnrolledAndLooped) {
  for (Layout layout : bothLayouts)
    for (int64_t k : {256, 330, 448, 1000, 1280})
      for (int64_t stages : {2, 3})
        check(ElementType::F16, 32, k, layout, {},
              stream(32, 8, {{"stages", stages}}), {5});
}

TEST_P(GemmNumeric, TileShapesInEveryTail) {
  for (Layout layout : bothLayouts)
    for (auto [m, k] : {std::pair<int64_t, int64_t>{1, 1},
                        {7, 15},
                        {33, 64},
                        {64, 65},
                        {65, 200},
                        {96, 448}})
      check(ElementType::F16, m, k, layout, {}, tile(32, 32),
            {1, 7, 16, 33, 64});
}

TEST_P(GemmNumeric, TileTilesAndStages) {
  for (Layout layout : bothLayouts) {
    check(ElementType::F16, 130, 256, layout, {},
          tile(64, 64, {{"warps_m", 2}, {"stages", 2}}), {65, 128});
    check(ElementType::BF16, 64, 320, layout, {},
          tile(64, 128, {{"stages", 5}}), {129});
    check(ElementType::BF16, 48, 320, layout, {},
          tile(16, 256, {{"warps_n", 4}, {"stages", 4}}), {100});
    // More row tiles than a band, several columns of tiles.
    check(ElementType::F16, 160, 64, layout, {},
          tile(16, 16, {{"band_rows", 4}}), {40});
  }
}

TEST_P(GemmNumeric, Epilogues) {
  for (Layout layout : bothLayouts)
    for (Activation activation : {Activation::None, Activation::Relu,
                                  Activation::Gelu, Activation::Silu}) {
      check(ElementType::F16, 35, 96, layout, {true, activation, true},
            stream(16, 16), {3, 16});
      check(ElementType::BF16, 40, 96, layout, {true, activation, true},
            tile(32, 32), {16, 37});
    }
}

TEST_P(GemmNumeric, OutputTypes) {
  for (Layout layout : bothLayouts)
    for (ElementType output : {ElementType::F32, ElementType::BF16}) {
      Matrix weight =
          structuredWeight(family().name(), ElementType::F16, 48, 128, 77);
      Problem problem =
          problemOf(weight, layout, {true, Activation::None, true});
      problem.outputType = output;
      checkNumerically(family(), weight, problem, tile(32, 32),
                       quickCheck({16, 33}));
      checkNumerically(family(), weight, problem, stream(16, 8),
                       quickCheck({5}));
    }
}

TEST_P(GemmNumeric, CandidatesOfASmallLayer) {
  Matrix weight =
      structuredWeight(family().name(), ElementType::F16, 128, 256, 11);
  PatternReport report = blockReport(weight);
  for (int64_t n : {1, 24, 200}) {
    Problem problem = problemOf(weight, Layout::TokenMajor);
    problem.tuneN = n;
    auto candidates = family().candidates(report, problem, 86);
    ASSERT_GE(candidates.size(), 2u);
    for (const Strategy &strategy : candidates)
      checkNumerically(family(), weight, problem, strategy, quickCheck({n}),
                       86);
  }
}

TEST_P(GemmNumeric, AllZeroWeight) {
  Matrix weight =
      llvm::cantFail(Matrix::allocate("zero", ElementType::F16, 40, 100));
  for (Layout layout : bothLayouts) {
    Problem problem =
        problemOf(weight, layout, {true, Activation::None, false});
    checkNumerically(family(), weight, problem, stream(16, 8), quickCheck({3}));
    checkNumerically(family(), weight, problem, tile(32, 32), quickCheck({3}));
  }
}

/// Panels of one length: no offsets are read. Of a block-diagonal weight, in
/// one pass and in many.
TEST(BlockNumeric, PanelsOfOneLength) {
  const KernelFamily &family = *findFamily("block");
  for (auto [side, m, k] :
       {std::tuple<int64_t, int64_t, int64_t>{32, 96, 96}, {160, 320, 330}}) {
    Matrix weight = randomWeight(ElementType::F16, m, k, 1, 5);
    for (int64_t r = 0; r < m; ++r)
      for (int64_t c = 0; c < k; ++c)
        if (r / side != c / side)
          storeFromDouble(ElementType::F16, 0,
                          weight.mutableData() + (r * k + c) * 2);
    for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
      for (int64_t schedule : {0, 1}) {
        Strategy strategy = family.declaration().defaults();
        for (auto [knob, value] : {std::pair("schedule", schedule),
                                   {"tile_m", 16},
                                   {"tile_n", 8},
                                   {"warps_k", schedule ? 1 : 2},
                                   {"prefetch", 1},
                                   {"stages", 2},
                                   {"blocks_per_sm", 1},
                                   {"panel_rows", 32}})
          strategy.set(knob, value);
        PackedWeight packed = llvm::cantFail(family.pack(weight, strategy));
        ASSERT_GT(packed.attribute("strips"), 0);
        checkNumerically(family, weight, problemOf(weight, layout), strategy,
                         quickCheck({1, 9}));
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GemmNumeric,
                         ::testing::Values("nm", "block", "channel", "dense"),
                         [](const auto &info) { return info.param; });

} // namespace
