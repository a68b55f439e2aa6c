//===- ToleranceTest.cpp - Tolerance, inputs and oracle -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeKernel.h"
#include "sparseditto/Verify/Oracle.h"
#include <limits>

using namespace sparseditto;
using namespace sparseditto::test;

TEST(Tolerance, RoundingOfTheOutputIsAllowedAndNoMore) {
  // 1 + 2^-11 lies half way between two halves: both neighbours of an inexact
  // result are right, the next ones are not.
  OracleValue value;
  value.value = 1 + 0x1p-11;
  value.bound = 1e-6;
  EXPECT_TRUE(accepts(value, ElementType::F16, 1.0));
  EXPECT_TRUE(accepts(value, ElementType::F16, 1 + 0x1p-10));
  EXPECT_FALSE(accepts(value, ElementType::F16, 1 + 0x1p-9));
  EXPECT_FALSE(accepts(value, ElementType::F16, 1 - 0x1p-11));
  value.exact = true;
  value.bound = 0;
  EXPECT_TRUE(accepts(value, ElementType::F16, 1.0)); // Ties go to even.
  EXPECT_FALSE(accepts(value, ElementType::F16, 1 + 0x1p-10));
}

TEST(Tolerance, OverflowAndNaN) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  OracleValue value;
  value.value = 70000;
  value.bound = 1;
  EXPECT_TRUE(accepts(value, ElementType::F16, inf));
  EXPECT_FALSE(accepts(value, ElementType::F16, 65504));
  EXPECT_FALSE(accepts(value, ElementType::F16, nan));
  value.value = nan;
  EXPECT_TRUE(accepts(value, ElementType::F16, nan));
  EXPECT_FALSE(accepts(value, ElementType::F16, 0));
  value.value = 3;
  value.nanAllowed = true;
  EXPECT_TRUE(accepts(value, ElementType::F16, nan));
  EXPECT_TRUE(accepts(value, ElementType::F16, 3));
  EXPECT_FALSE(accepts(value, ElementType::F16, 5));
}

TEST(Tolerance, HalfUlp) {
  EXPECT_EQ(halfUlp(ElementType::F16, 1), 0x1p-11);
  EXPECT_EQ(halfUlp(ElementType::F16, 0), 0x1p-25);
  EXPECT_EQ(halfUlp(ElementType::BF16, -3), 0x1p-7);
  EXPECT_EQ(halfUlp(ElementType::F32, 1), 0x1p-24);
}

TEST(Inputs, EverySetIsNotTrivial) {
  Case c = makeCase(small());
  auto oracle = Oracle::create(c.weight, c.manifest.problem);
  ASSERT_TRUE(bool(oracle));
  for (InputSet set : {InputSet::Random, InputSet::OneHot, InputSet::Integers,
                       InputSet::Special}) {
    ProductInputs inputs = makeInputs(set, *oracle, 16, 5);
    size_t nonZeros = 0;
    for (float value : inputs.x)
      nonZeros += value != 0;
    EXPECT_GE(nonZeros, 16u) << name(set).str();
    EXPECT_EQ(makeInputs(set, *oracle, 16, 5).bias, inputs.bias);
  }
}

TEST(Oracle, DenseAndSparseWalksAgree) {
  Case c = makeCase({.m = 16, .k = 64}, 0.5);
  auto oracle = Oracle::create(c.weight, c.manifest.problem);
  ASSERT_TRUE(bool(oracle));
  // The same sparse token, once alone and once among full ones, which switches
  // the walk.
  ProductInputs sparse = makeInputs(InputSet::Integers, *oracle, 1, 3);
  ProductInputs full = makeInputs(InputSet::Random, *oracle, 4, 3);
  for (int64_t k = 0; k < 64; ++k)
    full.x[size_t(k) * 4 + 2] = sparse.x[size_t(k)];
  Oracle::Scratch scratch;
  std::vector<OracleValue> one(1), four(4);
  for (int64_t m = 0; m < 16; ++m) {
    oracle->bind(sparse);
    oracle->row(m, scratch, one);
    oracle->bind(full);
    oracle->row(m, scratch, four);
    EXPECT_EQ(one[0].value, four[2].value);
    double expected = 0;
    for (int64_t k = 0; k < 64; ++k)
      expected += c.weight.value(m, k) * sparse.x[size_t(k)];
    EXPECT_EQ(one[0].value, expected);
  }
}

TEST(Oracle, RefusesTypesItCannotHold) {
  Case c = makeCase(small());
  Problem problem = c.manifest.problem;
  problem.type = ElementType::F64;
  auto oracle = Oracle::create(c.weight, problem);
  ASSERT_FALSE(bool(oracle));
  EXPECT_EQ(llvm::toString(oracle.takeError()),
            "the oracle does not take f64 weights");
}
