//===- ChannelNumericTest.cpp - Kernels of channel against the oracle -----===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules are tested with all families in GemmNumericTest.cpp; here is
// what only this family has: runs of columns, and rows without a weight.
//
//===----------------------------------------------------------------------===//

#include "ChannelWeights.h"
#include "NumericCheck.h"
#include "sparseditto/Kernels/Families.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {

constexpr Layout bothLayouts[] = {Layout::TokenMajor, Layout::FeatureMajor};

Strategy
strategyWith(std::initializer_list<std::pair<llvm::StringRef, int64_t>> knobs) {
  Strategy strategy = channelFamily().declaration().defaults();
  for (auto [knob, value] : knobs)
    strategy.set(knob, value);
  return strategy;
}

Strategy stream(int64_t tileM, int64_t tileN) {
  return strategyWith({{"schedule", 0},
                       {"tile_m", tileM},
                       {"tile_n", tileN},
                       {"warps_k", 2},
                       {"prefetch", 1},
                       {"stages", 2},
                       {"blocks_per_sm", 1}});
}

Strategy tile(int64_t tileM, int64_t tileN) {
  return strategyWith({{"schedule", 1},
                       {"tile_m", tileM},
                       {"tile_n", tileN},
                       {"warps_m", 1},
                       {"warps_n", 2},
                       {"warps_k", 1},
                       {"prefetch", 1},
                       {"stages", 3},
                       {"blocks_per_sm", 1},
                       {"band_rows", 4}});
}

void check(const Matrix &weight, Layout layout, Epilogue epilogue,
           Strategy strategy, std::vector<int64_t> n, int64_t run = 1) {
  strategy.set("run", run);
  checkNumerically(channelFamily(), weight, problemOf(weight, layout, epilogue),
                   strategy, quickCheck(std::move(n)));
}

TEST(ChannelNumeric, RunsInBothSchedules) {
  for (Layout layout : bothLayouts)
    for (int64_t run : {1, 8, 16})
      // K with a last run that is whole, short, and alone.
      for (int64_t k : {160, 245, 16}) {
        Matrix weight = channelWeight(ElementType::F16, 50, k, run);
        check(weight, layout, {}, stream(16, 8), {1, 8, 11}, run);
        check(weight, layout, {}, tile(32, 32), {8, 33}, run);
      }
}

TEST(ChannelNumeric, GoneRowsGetTheEpilogue) {
  for (Layout layout : bothLayouts)
    for (Activation activation : {Activation::None, Activation::Relu,
                                  Activation::Gelu, Activation::Silu})
      for (bool residual : {false, true}) {
        Matrix weight = channelWeight(ElementType::F16, 70, 96, 8);
        Epilogue epilogue{true, activation, residual};
        check(weight, layout, epilogue, stream(32, 16), {3, 16}, 8);
        check(weight, layout, epilogue, tile(32, 32), {16, 37}, 8);
      }
}

TEST(ChannelNumeric, OnlyRowsOrOnlyColumnsGone) {
  auto never = [](int64_t) { return false; };
  for (Layout layout : bothLayouts) {
    Epilogue epilogue{true, Activation::Relu, true};
    Matrix rows = weightWithout(
        ElementType::BF16, 77, 100, [](int64_t r) { return r < 40; }, never);
    Matrix columns = weightWithout(ElementType::BF16, 77, 100, never,
                                   [](int64_t c) { return c % 9 != 4; });
    for (const Matrix &weight : {rows, columns}) {
      for (int64_t run : {1, 16}) {
        check(weight, layout, epilogue, stream(16, 8), {1, 8}, run);
        check(weight, layout, epilogue, tile(64, 16), {16, 20}, run);
      }
    }
  }
}

TEST(ChannelNumeric, OneRowOrColumnOrNothingKept) {
  auto never = [](int64_t) { return false; };
  Matrix row = weightWithout(
      ElementType::F16, 40, 70, [](int64_t r) { return r != 39; }, never);
  Matrix column = weightWithout(ElementType::F16, 40, 70, never,
                                [](int64_t c) { return c != 69; });
  Matrix single = weightWithout(
      ElementType::F16, 40, 70, [](int64_t r) { return r != 17; },
      [](int64_t c) { return c != 0; });
  Matrix nothing =
      llvm::cantFail(Matrix::allocate("w", ElementType::F16, 40, 70));
  for (Layout layout : bothLayouts)
    for (const Matrix &weight : {row, column, single, nothing})
      for (bool bias : {false, true}) {
        check(weight, layout, {bias, Activation::None, bias}, stream(16, 8),
              {1, 9});
        check(weight, layout, {bias, Activation::None, bias}, tile(32, 32),
              {8, 33});
      }
}

TEST(ChannelNumeric, GroupsOfNineColumns) {
  // Input channels of a 3 x 3 convolution: 9 columns each.
  Matrix weight = channelWeight(ElementType::F16, 48, 32 * 9, 9, false);
  for (Layout layout : bothLayouts) {
    check(weight, layout, {}, stream(16, 16), {16});
    check(weight, layout, {}, tile(16, 64), {64});
  }
}

TEST(ChannelNumeric, OutputInF32) {
  for (Layout layout : bothLayouts) {
    Matrix weight = channelWeight(ElementType::F16, 48, 128, 16);
    Problem problem = problemOf(weight, layout, {true, Activation::None, true});
    problem.outputType = ElementType::F32;
    checkNumerically(channelFamily(), weight, problem, tile(32, 32),
                     quickCheck({16, 33}));
  }
}

TEST(ChannelNumeric, CandidatesOfASmallLayer) {
  Matrix weight = channelWeight(ElementType::F16, 128, 512, 1);
  for (Layout layout : bothLayouts)
    for (int64_t n : {1, 24, 200}) {
      Problem problem = problemOf(weight, layout);
      problem.tuneN = n;
      auto candidates =
          channelFamily().candidates(channelReport(weight), problem, 86);
      ASSERT_GE(candidates.size(), 2u);
      for (const Strategy &strategy : llvm::ArrayRef(candidates).take_front(3))
        checkNumerically(channelFamily(), weight, problem, strategy,
                         quickCheck({n}), 86);
    }
}

} // namespace
