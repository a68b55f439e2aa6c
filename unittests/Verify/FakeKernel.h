//===- FakeKernel.h - Kernels that are host functions -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_VERIFY_FAKEKERNEL_H
#define SPARSEDITTO_UNITTESTS_VERIFY_FAKEKERNEL_H

#include "sparseditto/Verify/Checker.h"
#include "sparseditto/Verify/Inputs.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <functional>

namespace sparseditto::test {

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

/// A seeded m x k weight with the given density.
inline Case makeCase(const Problem &problem, double density = 0.3) {
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

inline Problem small() { return {.m = 24, .k = 40}; }

inline CheckResult check(const Case &c,
                         std::function<void(const Call &)> kernel,
                         CheckOptions options = {}) {
  FakeExecutor executor(c, std::move(kernel));
  auto result = checkKernel(c.manifest, c.weight, c.packed, executor, options);
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
  return *result;
}

inline std::string messageOf(const CheckResult &result) {
  return result.failure ? result.failure->message : "";
}

/// `value` rounded to `type`.
inline float through(ElementType type, float value) {
  uint8_t bytes[8];
  storeFromDouble(type, value, bytes);
  return float(loadAsDouble(type, bytes));
}

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_VERIFY_FAKEKERNEL_H
