//===- PrecisionTest.cpp - The next lower precision is refused ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeKernel.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {

/// tf32: the 13 low bits of the mantissa are lost.
float toTf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits &= ~0x1fffu;
  std::memcpy(&value, &bits, 4);
  return value;
}

std::function<float(float)> roundingTo(ElementType type) {
  return [type](float value) { return through(type, value); };
}

struct Fake {
  std::string name;
  Reference kernel;
  /// Applied to each result before it is stored; empty for none.
  std::function<float(float)> store;
};

Fake withSums(llvm::StringRef name, std::function<float(float)> narrow) {
  Fake fake{"sums in " + name.str(), {}, {}};
  fake.kernel.narrow = std::move(narrow);
  return fake;
}
Fake withWeights(llvm::StringRef name, std::function<float(float)> narrow) {
  Fake fake{"weights in " + name.str(), {}, {}};
  fake.kernel.tamper = [narrow = std::move(narrow)](int64_t, int64_t, float w) {
    return narrow(w);
  };
  return fake;
}

/// What a kernel of these types may be tempted to do instead.
std::vector<Fake> temptations(ElementType type, ElementType outputType) {
  std::vector<Fake> fakes = {withSums("f16", roundingTo(ElementType::F16)),
                             withSums("bf16", roundingTo(ElementType::BF16)),
                             withSums("tf32", toTf32)};
  auto weights = [&](ElementType narrow) {
    fakes.push_back(withWeights(name(narrow), roundingTo(narrow)));
  };
  switch (type) {
  case ElementType::F32:
    fakes.push_back(withWeights("tf32", toTf32));
    weights(ElementType::F16);
    weights(ElementType::BF16);
    break;
  case ElementType::F16:
    weights(ElementType::BF16);
    weights(ElementType::F8E4M3);
    break;
  default:
    weights(ElementType::F8E4M3);
    weights(ElementType::F8E5M2);
    break;
  }
  auto stores = [&](llvm::StringRef name, std::function<float(float)> narrow) {
    fakes.push_back({"stores through " + name.str(), {}, std::move(narrow)});
  };
  switch (outputType) {
  case ElementType::F32:
    stores("tf32", toTf32);
    stores("f16", roundingTo(ElementType::F16));
    stores("bf16", roundingTo(ElementType::BF16));
    break;
  case ElementType::F16:
    stores("bf16", roundingTo(ElementType::BF16));
    stores("e4m3", roundingTo(ElementType::F8E4M3));
    break;
  default:
    stores("e4m3", roundingTo(ElementType::F8E4M3));
    stores("e5m2", roundingTo(ElementType::F8E5M2));
    break;
  }
  return fakes;
}

class Precision : public ::testing::TestWithParam<
                      std::tuple<ElementType, ElementType, int64_t>> {};

TEST_P(Precision, OnlyTheRightOneIsAccepted) {
  auto [type, outputType, k] = GetParam();
  Problem problem{.m = 16, .k = k, .type = type, .outputType = outputType};
  Case test = makeCase(problem, 0.6);
  for (int64_t n : {1, 8, 65}) {
    // Half a million products for a launch are enough.
    if (k * n > 40000)
      continue;
    CheckOptions options;
    options.n = {n};
    options.onlyGivenN = true;
    options.allVariants = false;
    options.maxOneHotLaunches = 1;
    CheckResult right = check(test, Reference(), options);
    EXPECT_EQ(right.status, CheckStatus::Verified) << messageOf(right);
    for (const Fake &fake : temptations(type, outputType)) {
      CheckResult result = check(
          test,
          [&](const Call &call) {
            fake.kernel(call);
            for (int64_t t = 0; fake.store && t < call.request.n; ++t)
              for (int64_t m = 0; m < problem.m; ++m)
                storeFromDouble(
                    outputType,
                    fake.store(float(loadAsDouble(outputType, call.y(m, t)))),
                    call.y(m, t));
          },
          options);
      EXPECT_EQ(result.status, CheckStatus::WrongResult)
          << fake.name << " for N = " << n;
    }
  }
}

constexpr ElementType types[] = {ElementType::F16, ElementType::BF16,
                                 ElementType::F32};
INSTANTIATE_TEST_SUITE_P(
    Types, Precision,
    ::testing::Combine(::testing::ValuesIn(types), ::testing::ValuesIn(types),
                       ::testing::Values(8, 16, 40, 64, 129, 512, 1024, 4096)),
    [](const auto &info) {
      return name(std::get<0>(info.param)).str() + "_to_" +
             name(std::get<1>(info.param)).str() + "_k" +
             std::to_string(std::get<2>(info.param));
    });

} // namespace
