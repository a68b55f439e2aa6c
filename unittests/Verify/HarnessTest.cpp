//===- HarnessTest.cpp - Wrong kernels are refused ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeKernel.h"
#include <limits>
#include <map>

using namespace sparseditto;
using namespace sparseditto::test;

TEST(Harness, RefusesAKernelThatDoesNothing) {
  CheckResult result = check(makeCase(small()), [](const Call &) {});
  EXPECT_EQ(result.status, CheckStatus::WrongResult);
  EXPECT_NE(messageOf(result).find("never written"), std::string::npos)
      << messageOf(result);
}

static void fill(const Call &call, double value) {
  for (int64_t t = 0; t < call.request.n; ++t)
    for (int64_t m = 0; m < call.manifest.problem.m; ++m)
      storeFromDouble(call.manifest.problem.outputType, value, call.y(m, t));
}

TEST(Harness, RefusesZeroAndConstant) {
  for (double value : {0.0, 1.0, 1e-3}) {
    CheckResult result =
        check(makeCase(small()), [=](const Call &call) { fill(call, value); });
    EXPECT_EQ(result.status, CheckStatus::WrongResult);
    EXPECT_EQ(result.failure->inputSet, "random");
    EXPECT_EQ(result.failure->row, 0);
  }
}

TEST(Harness, RefusesNaNEverywhere) {
  CheckResult result = check(makeCase(small()), [](const Call &call) {
    fill(call, std::numeric_limits<double>::quiet_NaN());
  });
  EXPECT_EQ(result.status, CheckStatus::WrongResult);
}

TEST(Harness, RefusesIdentity) {
  CheckResult result = check(makeCase(small()), [](const Call &call) {
    for (int64_t t = 0; t < call.request.n; ++t)
      for (int64_t m = 0; m < call.manifest.problem.m; ++m)
        storeFromDouble(call.manifest.problem.outputType, call.x(m, t),
                        call.y(m, t));
  });
  EXPECT_EQ(result.status, CheckStatus::WrongResult);
}

TEST(Harness, RefusesADroppedBlock) {
  Reference dropped;
  dropped.tamper = [](int64_t m, int64_t k, float w) {
    return m >= 16 && k >= 32 ? 0 : w;
  };
  EXPECT_EQ(check(makeCase(small()), dropped).status, CheckStatus::WrongResult);
}

/// A weight too small to leave the bound of any random product: only the
/// exact sets show it.
TEST(Harness, RefusesADroppedTinyWeight) {
  Case c = makeCase(small(), 1.0);
  storeFromDouble(ElementType::F16, 0x1p-24,
                  const_cast<uint8_t *>(c.weight.at(7, 11)));
  Reference dropped;
  dropped.tamper = [](int64_t m, int64_t k, float w) {
    return m == 7 && k == 11 ? 0 : w;
  };
  CheckResult result = check(c, dropped);
  ASSERT_EQ(result.status, CheckStatus::WrongResult);
  EXPECT_NE(result.failure->inputSet, "random");
  EXPECT_EQ(result.failure->row, 7);
}

TEST(Harness, RefusesSwappedWeights) {
  Case c = makeCase(small(), 1.0);
  Reference swapped;
  swapped.tamper = [&](int64_t m, int64_t k, float w) {
    return m == 3 && (k == 8 || k == 9) ? float(c.weight.value(3, 17 - k)) : w;
  };
  EXPECT_EQ(check(c, swapped).status, CheckStatus::WrongResult);
}

TEST(Harness, RefusesAWrongTail) {
  // Right up to the last full tile of 8 tokens, zero beyond.
  Reference reference;
  CheckResult result = check(makeCase(small()), [&](const Call &call) {
    reference(call);
    for (int64_t t = call.request.n / 8 * 8; t < call.request.n; ++t)
      for (int64_t m = 0; m < call.manifest.problem.m; ++m)
        storeFromDouble(call.manifest.problem.outputType, 0, call.y(m, t));
  });
  ASSERT_EQ(result.status, CheckStatus::WrongResult);
  EXPECT_EQ(result.failure->n, 1);
}

TEST(Harness, RefusesAKernelMadeForTheNThatAreKnown) {
  Case c = makeCase(small());
  CheckOptions options;
  options.n = {1, 16, 512};
  auto knowsTheList = [&](const Call &call) {
    if (llvm::is_contained(hostileN(), call.request.n) ||
        llvm::is_contained(options.n, call.request.n))
      Reference()(call);
  };
  EXPECT_EQ(check(c, knowsTheList, options).status, CheckStatus::Verified);
  options.hiddenN = 1;
  for (options.seed = 1; options.seed < 20; ++options.seed) {
    CheckResult result = check(c, knowsTheList, options);
    EXPECT_EQ(result.status, CheckStatus::WrongResult);
    ASSERT_TRUE(result.failure.has_value());
    EXPECT_LE(result.failure->n, options.hiddenLimit);
  }
}

TEST(Harness, RefusesAKernelThatIsWrongForOneN) {
  Reference reference;
  CheckResult result = check(makeCase(small()), [&](const Call &call) {
    reference(call);
    if (call.request.n == 33)
      storeFromDouble(call.manifest.problem.outputType, 0, call.y(23, 32));
  });
  ASSERT_EQ(result.status, CheckStatus::WrongResult);
  EXPECT_EQ(result.failure->n, 33);
  EXPECT_EQ(result.failure->row, 23);
  EXPECT_EQ(result.failure->token, 32);
}

TEST(Harness, RefusesLateGarbage) {
  Reference reference;
  CheckResult result = check(makeCase(small()), [&](const Call &call) {
    reference(call);
    if (call.launch >= 40)
      storeFromDouble(call.manifest.problem.outputType, 1234, call.y(5, 0));
  });
  EXPECT_EQ(result.status, CheckStatus::WrongResult);
}

TEST(Harness, RefusesOutputsRememberedByPartOfTheInput) {
  Case c = makeCase(small());
  // N and eight elements of each token: no two inputs of the other sets agree
  // in that.
  std::map<std::vector<double>, double> memory;
  CheckResult result = check(c, [&](const Call &call) {
    Reference()(call);
    for (int64_t t = 0; t < call.request.n; ++t)
      for (int64_t m = 0; m < call.manifest.problem.m; ++m) {
        std::vector<double> key = {double(call.request.n), double(t),
                                   double(m)};
        for (int64_t k = 0; k < 8; ++k)
          key.push_back(call.x(k, t));
        double value =
            loadAsDouble(call.manifest.problem.outputType, call.y(m, t));
        auto [it, isNew] = memory.try_emplace(key, value);
        storeFromDouble(call.manifest.problem.outputType, it->second,
                        call.y(m, t));
      }
  });
  EXPECT_EQ(result.status, CheckStatus::WrongResult);
  EXPECT_EQ(result.failure->inputSet, "altered");
}

TEST(Harness, RefusesOutputsReplayedFromTheFirstCall) {
  Reference reference;
  std::map<int64_t, std::vector<uint8_t>> cache;
  CheckResult result = check(makeCase(small()), [&](const Call &call) {
    auto [it, inserted] =
        cache.try_emplace(call.request.n * 1000 + call.request.ldy);
    if (inserted) {
      reference(call);
      it->second.assign(call.request.y->payload(),
                        call.request.y->payload() + call.request.y->size);
    }
    std::memcpy(call.request.y->payload(), it->second.data(),
                it->second.size());
  });
  EXPECT_NE(result.status, CheckStatus::Verified);
}

TEST(Harness, RefusesDependenceOnOldOutput) {
  // Adds a hundredth of what was there: NaN poison makes it NaN.
  Reference reference;
  CheckResult result = check(makeCase(small()), [&](const Call &call) {
    ElementType type = call.manifest.problem.outputType;
    double old = loadAsDouble(type, call.y(0, 0));
    reference(call);
    if (!std::isnan(old))
      storeFromDouble(type, loadAsDouble(type, call.y(0, 0)) + 1, call.y(0, 0));
  });
  ASSERT_EQ(result.status, CheckStatus::Nondeterministic);
  EXPECT_EQ(result.failure->row, 0);
  EXPECT_EQ(result.failure->token, 0);
}

TEST(Harness, RefusesWritesOutsideY) {
  Reference reference;
  for (int64_t byte : {int64_t(-1), int64_t(-4000), int64_t(0)}) {
    CheckResult result = check(makeCase(small()), [&](const Call &call) {
      reference(call);
      BufferImage &y = *call.request.y;
      int64_t at = byte < 0 ? byte : int64_t(y.size);
      y.bytes[size_t(int64_t(y.offset) + at)] ^= 0x40;
    });
    EXPECT_EQ(result.status, CheckStatus::OutOfBounds);
  }
}

TEST(Harness, RefusesWritesIntoStridePadding) {
  Reference reference;
  CheckResult result = check(makeCase(small()), [&](const Call &call) {
    reference(call);
    const Problem &problem = call.manifest.problem;
    if (call.request.n > 1 && call.request.ldy > problem.m)
      call.y(0, 0)[size_t(problem.m) * byteSize(problem.outputType)] ^= 1;
  });
  ASSERT_EQ(result.status, CheckStatus::OutOfBounds);
  EXPECT_EQ(result.failure->variant, "padded");
}

TEST(Harness, RefusesChangedInputs) {
  Reference reference;
  Problem problem = small();
  problem.epilogue.bias = problem.epilogue.residual = true;
  for (int which = 0; which < 3; ++which) {
    CheckResult result = check(makeCase(problem), [&](const Call &call) {
      reference(call);
      BufferImage *image = which == 0   ? call.request.x
                           : which == 1 ? call.request.bias
                                        : call.request.residual;
      image->payload()[0] ^= 1;
    });
    EXPECT_EQ(result.status, CheckStatus::InputModified);
  }
}

TEST(Harness, RefusesChangedPackedBuffers) {
  Case c = makeCase(small());
  Reference reference;
  FakeExecutor executor(c, reference);
  const uint8_t original = c.packed.buffers[0].bytes[5000 - 4096];
  executor.kernel = [&](const Call &call) {
    reference(call);
    executor.packed[0].bytes[5000] = uint8_t(~original);
  };
  auto result = checkKernel(c.manifest, c.weight, c.packed, executor, {});
  ASSERT_TRUE(bool(result));
  ASSERT_EQ(result->status, CheckStatus::InputModified);
  EXPECT_EQ(result->failure->message,
            "the kernel wrote to packed buffer 'values' (input set random, N = "
            "1, packed buffers)");
}

TEST(Harness, RefusesIgnoredStrides) {
  Reference reference;
  CheckResult result = check(makeCase(small()), [&](const Call &call) {
    LaunchRequest request = call.request;
    request.ldx = call.manifest.problem.k;
    reference(Call{call.manifest, call.weight, request, call.launch});
  });
  ASSERT_EQ(result.status, CheckStatus::WrongResult);
  EXPECT_EQ(result.failure->variant, "padded");
}

TEST(Harness, RefusesPoisonSpreadingBetweenTokens) {
  // A NaN anywhere in X makes every token NaN.
  Reference reference;
  CheckResult result = check(makeCase(small()), [&](const Call &call) {
    reference(call);
    for (int64_t t = 0; t < call.request.n; ++t)
      for (int64_t k = 0; k < call.manifest.problem.k; ++k)
        if (std::isnan(call.x(k, t)))
          fill(call, std::numeric_limits<double>::quiet_NaN());
  });
  ASSERT_EQ(result.status, CheckStatus::WrongResult);
  EXPECT_EQ(result.failure->inputSet, "special");
}

TEST(Harness, RefusesReluThatSwallowsNaN) {
  Problem problem = small();
  problem.epilogue.activation = Activation::Relu;
  Reference reference;
  CheckResult result = check(makeCase(problem, 1.0), [&](const Call &call) {
    reference(call);
    for (int64_t t = 0; t < call.request.n; ++t)
      for (int64_t m = 0; m < problem.m; ++m)
        if (std::isnan(loadAsDouble(problem.outputType, call.y(m, t))))
          storeFromDouble(problem.outputType, 0, call.y(m, t));
  });
  EXPECT_EQ(result.status, CheckStatus::WrongResult);
}

TEST(Harness, ReportsAFailedLaunch) {
  Case c = makeCase(small());
  FakeExecutor executor(c, Reference());
  executor.failAt = 7;
  auto result = checkKernel(c.manifest, c.weight, c.packed, executor, {});
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->status, CheckStatus::LaunchFailed);
  EXPECT_NE(messageOf(*result).find("CUDA_ERROR_ILLEGAL_ADDRESS"),
            std::string::npos);
}
