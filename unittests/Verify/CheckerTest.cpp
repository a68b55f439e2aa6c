//===- CheckerTest.cpp - Tests of the checker and its parts ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Verify/Checker.h"
#include "sparseditto/Verify/Inputs.h"
#include "sparseditto/Verify/Oracle.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

using namespace sparseditto;

namespace {
/// A weight, its "packed" form (the dense bytes) and the kernel's contract.
struct Case {
  std::vector<uint8_t> storage;
  Matrix weight;
  PackedWeight packed;
  KernelManifest manifest;
};

/// What a fake kernel sees: pointers as the ABI gives them.
struct Call {
  const KernelManifest &manifest;
  const Matrix &weight;
  LaunchRequest &request;
  int64_t launch; ///< Counts from 0.

  size_t xAt(int64_t k, int64_t t) const {
    bool tokens = manifest.problem.layout == Layout::TokenMajor;
    return size_t(tokens ? t * request.ldx + k : k * request.ldx + t);
  }
  size_t yAt(int64_t m, int64_t t, int64_t ld) const {
    bool tokens = manifest.problem.layout == Layout::TokenMajor;
    return size_t(tokens ? t * ld + m : m * ld + t);
  }
  float x(int64_t k, int64_t t) const {
    ElementType type = manifest.problem.type;
    return float(
        loadAsDouble(type, request.x->payload() + xAt(k, t) * byteSize(type)));
  }
  uint8_t *y(int64_t m, int64_t t) const {
    return request.y->payload() +
           yAt(m, t, request.ldy) * byteSize(manifest.problem.outputType);
  }
};

/// f32 accumulation in index order, as a straightforward kernel would.
struct Reference {
  /// Rounds a partial sum: identity for a right kernel.
  std::function<float(float)> narrow = [](float value) { return value; };
  bool skipZeros = true;
  /// Weight (m, k) as the kernel sees it.
  std::function<float(int64_t, int64_t, float)> tamper =
      [](int64_t, int64_t, float w) { return w; };

  void element(const Call &call, int64_t m, int64_t t) const {
    const Problem &problem = call.manifest.problem;
    float sum = 0;
    for (int64_t k = 0; k < problem.k; ++k) {
      float w = tamper(m, k, float(call.weight.value(m, k)));
      if (w == 0 && skipZeros)
        continue;
      sum = narrow(sum + w * call.x(k, t));
    }
    if (problem.epilogue.bias) {
      float bias;
      std::memcpy(&bias, call.request.bias->payload() + 4 * m, 4);
      sum += bias;
    }
    switch (problem.epilogue.activation) {
    case Activation::None:
      break;
    case Activation::Relu:
      sum = sum < 0 ? 0 : sum;
      break;
    case Activation::Gelu:
      sum = 0.5f * sum * (1 + std::erf(sum * float(M_SQRT1_2)));
      break;
    case Activation::Silu:
      sum = sum / (1 + std::exp(-sum));
      break;
    }
    if (problem.epilogue.residual)
      sum += float(loadAsDouble(problem.outputType,
                                call.request.residual->payload() +
                                    call.yAt(m, t, call.request.ldr) *
                                        byteSize(problem.outputType)));
    storeFromDouble(problem.outputType, sum, call.y(m, t));
  }
  void operator()(const Call &call) const {
    for (int64_t t = 0; t < call.request.n; ++t)
      for (int64_t m = 0; m < call.manifest.problem.m; ++m)
        element(call, m, t);
  }
};

class FakeExecutor : public Executor {
public:
  FakeExecutor(const Case &c, std::function<void(const Call &)> kernel)
      : test(c), kernel(std::move(kernel)) {}
  llvm::StringRef name() const override { return "fake"; }
  llvm::Error upload(llvm::ArrayRef<BufferImage> images) override {
    packed.assign(images.begin(), images.end());
    return llvm::Error::success();
  }
  llvm::Error launch(LaunchRequest &request) override {
    if (failAt == launches)
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     "CUDA_ERROR_ILLEGAL_ADDRESS");
    kernel(Call{test.manifest, test.weight, request, launches++});
    return llvm::Error::success();
  }
  llvm::Error download(llvm::MutableArrayRef<BufferImage> images) override {
    for (size_t i = 0; i < packed.size(); ++i)
      images[i].bytes = packed[i].bytes;
    return llvm::Error::success();
  }

  const Case &test;
  std::function<void(const Call &)> kernel;
  std::vector<BufferImage> packed;
  int64_t launches = 0, failAt = -1;
};
} // namespace

/// A seeded m x k weight with the given density.
static Case makeCase(const Problem &problem, double density = 0.3) {
  Case c;
  unsigned size = byteSize(problem.type);
  c.storage.assign(size_t(problem.m * problem.k) * size, 0);
  Random random(99);
  for (int64_t i = 0; i < problem.m * problem.k; ++i)
    if (random.uniform() < density)
      storeFromDouble(problem.type, random.normal(),
                      &c.storage[size_t(i) * size]);
  c.weight.name = "w";
  c.weight.type = problem.type;
  c.weight.rows = problem.m;
  c.weight.cols = problem.k;
  c.weight.data = c.storage.data();
  c.packed.format = "plain";
  c.packed.m = problem.m;
  c.packed.k = problem.k;
  c.packed.type = problem.type;
  c.packed.buffers.push_back(
      {"values", problem.type, {problem.m, problem.k}, c.storage});
  c.manifest.symbol = "fake";
  c.manifest.strategy.family = "fake";
  c.manifest.format = "plain";
  c.manifest.problem = problem;
  c.manifest.args.push_back({ArgKind::Packed, "values", problem.type, 16});
  for (KernelArg &arg : activationArgs(problem))
    c.manifest.args.push_back(arg);
  return c;
}

static Problem small() { return {.m = 24, .k = 40}; }

static CheckResult check(const Case &c,
                         std::function<void(const Call &)> kernel,
                         CheckOptions options = {}) {
  FakeExecutor executor(c, std::move(kernel));
  auto result = checkKernel(c.manifest, c.weight, c.packed, executor, options);
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
  return *result;
}

static std::string messageOf(const CheckResult &result) {
  return result.failure ? result.failure->message : "";
}

//===----------------------------------------------------------------------===//
// Right kernels pass
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Each kind of wrong kernel is refused
//===----------------------------------------------------------------------===//

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

TEST(Checker, HiddenNStayInTheRangeOfTheKernel) {
  Case c = makeCase(small());
  c.manifest.nMax = 5;
  CheckOptions options;
  options.hiddenN = 8;
  CheckResult result = check(c, Reference(), options);
  EXPECT_EQ(result.status, CheckStatus::Verified) << messageOf(result);
  EXPECT_EQ(result.n, (std::vector<int64_t>{1, 2, 3, 4, 5}));
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

TEST(Harness, RefusesTheNextLowerPrecision) {
  auto through = [](ElementType type) {
    return [=](float value) {
      uint8_t bytes[8];
      storeFromDouble(type, value, bytes);
      return float(loadAsDouble(type, bytes));
    };
  };
  Problem problem = {.m = 8, .k = 1024};
  CheckOptions options;
  options.n = {8};
  options.onlyGivenN = true;
  // f16 accumulation under an f16 product.
  Reference narrow;
  narrow.narrow = through(ElementType::F16);
  EXPECT_EQ(check(makeCase(problem), narrow, options).status,
            CheckStatus::WrongResult);
  // bf16 weights where f16 was asked for.
  Reference weights;
  weights.tamper = [&](int64_t, int64_t, float w) {
    return through(ElementType::BF16)(w);
  };
  EXPECT_EQ(check(makeCase(problem), weights, options).status,
            CheckStatus::WrongResult);
  // An f32 result that went through f16.
  problem.outputType = ElementType::F32;
  Reference right;
  CheckResult result = check(
      makeCase(problem),
      [&](const Call &call) {
        right(call);
        for (int64_t t = 0; t < call.request.n; ++t)
          for (int64_t m = 0; m < problem.m; ++m)
            storeFromDouble(ElementType::F32,
                            through(ElementType::F16)(float(
                                loadAsDouble(ElementType::F32, call.y(m, t)))),
                            call.y(m, t));
      },
      options);
  EXPECT_EQ(result.status, CheckStatus::WrongResult);
  // tf32 products (10-bit mantissas) where f32 was asked for.
  problem.type = ElementType::F32;
  Reference tf32;
  tf32.tamper = [](int64_t, int64_t, float w) {
    uint32_t bits;
    std::memcpy(&bits, &w, 4);
    bits &= ~0x1fffu;
    std::memcpy(&w, &bits, 4);
    return w;
  };
  EXPECT_EQ(check(makeCase(problem), tf32, options).status,
            CheckStatus::WrongResult);
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

//===----------------------------------------------------------------------===//
// The parts
//===----------------------------------------------------------------------===//

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
