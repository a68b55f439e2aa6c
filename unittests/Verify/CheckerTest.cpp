//===- CheckerTest.cpp - Right kernels pass, misfits are errors -----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeKernel.h"

using namespace sparseditto;
using namespace sparseditto::test;

TEST(Checker, AcceptsARightKernelInEveryLayoutTypeAndEpilogue) {
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::F32})
    for (ElementType outputType : {type, ElementType::F32})
      for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
        for (Activation activation : {Activation::None, Activation::Relu,
                                      Activation::Gelu, Activation::Silu})
          for (bool extras : {false, true}) {
            Problem problem = small();
            problem.type = type;
            problem.outputType = outputType;
            problem.layout = layout;
            problem.epilogue = {extras, activation, extras};
            CheckOptions options;
            options.n = {1, 5, 17};
            options.onlyGivenN = true;
            CheckResult result = check(makeCase(problem), Reference(), options);
            EXPECT_EQ(result.status, CheckStatus::Verified)
                << name(type).str() << " " << name(layout).str() << " "
                << name(activation).str() << ": " << messageOf(result);
            EXPECT_EQ(result.columnsProbed, 40);
            EXPECT_LE(result.maxErrorOverBound, 1.0);
            EXPECT_GT(result.elements, 0);
          }
}

TEST(Checker, CoversTheHostileN) {
  CheckResult result = check(makeCase(small()), Reference());
  EXPECT_EQ(result.status, CheckStatus::Verified) << messageOf(result);
  EXPECT_EQ(llvm::ArrayRef<int64_t>(result.n), hostileN());
  // One-hot inputs and most sums of integers are compared exactly; normal
  // inputs, run in three variants, are not.
  EXPECT_GT(result.exactElements, result.elements / 5);
}

TEST(Checker, BothRulesForZeroTimesInfinityPass) {
  Reference multiply;
  multiply.skipZeros = false;
  EXPECT_EQ(check(makeCase(small()), multiply).status, CheckStatus::Verified);
  EXPECT_EQ(check(makeCase(small()), Reference()).status,
            CheckStatus::Verified);
}

TEST(Checker, AcceptsEmptyWeights) {
  Case c = makeCase(small(), 0);
  EXPECT_EQ(check(c, Reference()).status, CheckStatus::Verified);
}

TEST(Checker, StaysInTheKernelsRange) {
  Case c = makeCase(small());
  c.manifest.nMin = 3;
  c.manifest.nMax = 8;
  int64_t smallest = 1000, largest = 0;
  CheckOptions options;
  options.n = {1, 64};
  Reference reference;
  CheckResult result = check(
      c,
      [&](const Call &call) {
        smallest = std::min(smallest, call.request.n);
        largest = std::max(largest, call.request.n);
        reference(call);
      },
      options);
  EXPECT_EQ(result.status, CheckStatus::Verified) << messageOf(result);
  EXPECT_EQ(smallest, 3);
  EXPECT_EQ(largest, 8);
}

TEST(Checker, HiddenNStayInTheRangeOfTheKernel) {
  Case c = makeCase(small());
  c.manifest.nMax = 5;
  CheckOptions options;
  options.hiddenN = 8;
  CheckResult result = check(c, Reference(), options);
  EXPECT_EQ(result.status, CheckStatus::Verified) << messageOf(result);
  EXPECT_EQ(result.n, (std::vector<int64_t>{1, 2, 3, 4, 5}));
}

//===----------------------------------------------------------------------===//
// What cannot be checked is an error
//===----------------------------------------------------------------------===//

TEST(Checker, RefusesWhatDoesNotFitTheManifest) {
  auto errorOf = [](auto change) {
    Case c = makeCase(small());
    change(c);
    FakeExecutor executor(c, Reference());
    auto result = checkKernel(c.manifest, c.weight, c.packed, executor, {});
    return result ? std::string() : llvm::toString(result.takeError());
  };
  EXPECT_EQ(errorOf([](Case &) {}), "");
  EXPECT_EQ(errorOf([](Case &c) { c.weight.rows = 23; }),
            "weight 'w' is 23 x 40 f16, the problem is 24 x 40 f16");
  EXPECT_EQ(errorOf([](Case &c) { c.packed.version = 2; }),
            "kernel 'fake' reads format plain v1, the packed weight is plain "
            "v2");
  EXPECT_EQ(errorOf([](Case &c) { c.packed.k = 48; }),
            "packed weight is 24 x 48, kernel 'fake' wants 24 x 40");
  EXPECT_EQ(errorOf([](Case &c) { c.packed.buffers[0].name = "v"; }),
            "kernel 'fake' reads buffer 'values', format plain has none of "
            "that name");
  EXPECT_EQ(
      errorOf([](Case &c) { c.packed.buffers[0].type = ElementType::BF16; }),
      "buffer 'values' holds bf16, kernel 'fake' reads f16");
}

TEST(Checker, SpreadsOneHotProbesWhenLimited) {
  Problem problem = {.m = 4, .k = 1000};
  CheckOptions options;
  options.n = {1};
  options.onlyGivenN = true;
  options.maxOneHotLaunches = 2;
  CheckResult result = check(makeCase(problem), Reference(), options);
  EXPECT_EQ(result.status, CheckStatus::Verified) << messageOf(result);
  EXPECT_EQ(result.columnsProbed, 128);
}
