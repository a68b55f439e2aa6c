//===- CsrNumericTest.cpp - csr kernels against the oracle ----------------===//
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

static Strategy
csrStrategy(std::initializer_list<std::pair<llvm::StringRef, int64_t>> knobs) {
  Strategy strategy = csrFamily().declaration().defaults();
  for (auto [knob, value] : knobs)
    strategy.set(knob, value);
  return strategy;
}

TEST(CsrNumeric, EveryTileInBothLayouts) {
  Matrix weight = randomWeight(ElementType::F16, 37, 203, 0.2, 5);
  for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
    for (int64_t tile : {1, 2, 4, 8, 16})
      checkNumerically(csrFamily(), weight, problemOf(weight, layout),
                       csrStrategy({{"tile_n", tile}, {"warps", 8}}),
                       quickCheck({1, 3, 8, 17}));
}

TEST(CsrNumeric, AlignedRowsTakeTheCopyPath) {
  // K and N multiples of 8: 16-byte cp.async of X.
  Matrix weight = randomWeight(ElementType::F16, 64, 256, 0.1, 6);
  for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
    for (int64_t tile : {1, 8, 16})
      checkNumerically(csrFamily(), weight, problemOf(weight, layout),
                       csrStrategy({{"tile_n", tile}, {"prefetch", 1}}),
                       quickCheck({8, 16, 24}));
}

TEST(CsrNumeric, EveryType) {
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::F32}) {
    Matrix weight = randomWeight(type, 19, 130, 0.3, 7);
    for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
      checkNumerically(csrFamily(), weight, problemOf(weight, layout),
                       csrStrategy({{"tile_n", 4}, {"warps", 8}}),
                       quickCheck({1, 5, 8}));
  }
}

TEST(CsrNumeric, XFromGlobalMemory) {
  Matrix weight = randomWeight(ElementType::F16, 21, 77, 0.3, 8);
  for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
    checkNumerically(
        csrFamily(), weight, problemOf(weight, layout),
        csrStrategy({{"tile_n", 8}, {"warps", 8}, {"x_source", 1}}),
        quickCheck({1, 7, 9}));
}

TEST(CsrNumeric, LongRowsAreSharedAndEmptyOnesStillStored) {
  Matrix weight = randomWeight(ElementType::F16, 40, 1500, 0.005, 9);
  for (int64_t row : {0, 17})
    for (int64_t c = 0; c < weight.cols; ++c)
      storeFromDouble(ElementType::F16, c % 2 ? 0.5 : -0.75,
                      weight.mutableData() + (row * weight.cols + c) * 2);
  std::fill_n(weight.mutableData() + 5 * weight.cols * 2, weight.cols * 2, 0);
  Epilogue epilogue;
  epilogue.bias = true;
  for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
    checkNumerically(csrFamily(), weight, problemOf(weight, layout, epilogue),
                     csrStrategy({{"split", 16}, {"tile_n", 2}, {"warps", 8}}),
                     quickCheck({1, 2, 5}));
}

TEST(CsrNumeric, EpiloguesAndWideOutput) {
  Matrix weight = randomWeight(ElementType::F16, 18, 64, 0.4, 10);
  for (Activation activation :
       {Activation::Relu, Activation::Gelu, Activation::Silu})
    for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor}) {
      Problem problem =
          problemOf(weight, layout, Epilogue{true, activation, true});
      checkNumerically(csrFamily(), weight, problem,
                       csrStrategy({{"tile_n", 8}, {"warps", 8}}),
                       quickCheck({3, 8}));
      problem.outputType = ElementType::F32;
      checkNumerically(csrFamily(), weight, problem,
                       csrStrategy({{"tile_n", 8}, {"warps", 8}}),
                       quickCheck({3}));
    }
}

TEST(CsrNumeric, DegenerateShapes) {
  for (auto [rows, cols, density] :
       {std::tuple<int64_t, int64_t, double>{1, 1, 1.0},
        {1, 9, 0.0},
        {33, 1, 1.0},
        {5, 64, 0.0},
        {8, 8, 1.0}}) {
    Matrix weight = randomWeight(ElementType::F16, rows, cols, density, 12);
    for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
      checkNumerically(csrFamily(), weight, problemOf(weight, layout),
                       csrStrategy({{"tile_n", 2}, {"warps", 8}}),
                       quickCheck({1, 2, 3}));
  }
}
