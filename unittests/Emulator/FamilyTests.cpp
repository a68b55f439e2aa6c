//===- FamilyTests.cpp - Every family through the emulator ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights of several patterns; each family that accepts one builds its first
// candidates, and the checker must verify them.
//
//===----------------------------------------------------------------------===//

#include "TestKernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Emulator/EmulatorExecutor.h"
#include "sparseditto/Kernels/Family.h"
#include "sparseditto/Target/Compile.h"
#include "sparseditto/Verify/Checker.h"
#include <random>

using namespace sparseditto;

namespace {

enum class Kind { Unstructured, VerySparse, TwoFour, Block16, Dense };

Matrix makeWeight(Kind kind, int64_t m, int64_t k, ElementType type,
                  uint64_t seed) {
  Matrix w = llvm::cantFail(Matrix::allocate("w", type, m, k));
  std::mt19937 random(seed);
  auto put = [&](int64_t r, int64_t c) {
    double v = (int(random() % 201) - 100) / 32.0;
    storeFromDouble(type, v == 0 ? 0.5 : v,
                    w.mutableData() + (r * k + c) * byteSize(type));
  };
  for (int64_t r = 0; r < m; ++r)
    for (int64_t c = 0; c < k; ++c) {
      bool keep = true;
      switch (kind) {
      case Kind::Unstructured:
        keep = random() % 10 < 4;
        break;
      case Kind::VerySparse:
        keep = random() % 100 < 6;
        break;
      case Kind::TwoFour:
        // Two of four that depend on the group.
        keep = ((c % 4) + (r + c / 4)) % 4 < 2;
        break;
      case Kind::Block16:
        keep = (r / 16 * 7 + c / 16 * 3) % 5 < 2;
        break;
      case Kind::Dense:
        break;
      }
      if (keep)
        put(r, c);
    }
  return w;
}

void checkFamily(const KernelFamily &family, Kind kind, const Problem &problem,
                 unsigned maxCandidates) {
  Matrix weight = makeWeight(kind, problem.m, problem.k, problem.type, 7);
  PatternReport report = llvm::cantFail(analyze(weight));
  if (llvm::Error error = family.accepts(report, problem)) {
    llvm::consumeError(std::move(error));
    return;
  }
  std::vector<Strategy> strategies = family.candidates(report, problem, 80);
  for (unsigned i = 0; i < strategies.size() && i < maxCandidates; ++i) {
    SCOPED_TRACE(strategies[i].str());
    auto packed = packChecked(family, weight, strategies[i]);
    ASSERT_TRUE(static_cast<bool>(packed)) << textOf(packed.takeError());
    mlir::DialectRegistry registry;
    registerKernelDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    auto built =
        family.build(context, problem, strategies[i], *packed, 80, "kernel");
    ASSERT_TRUE(static_cast<bool>(built)) << textOf(built.takeError());
    for (auto side : {GuardedBufferOptions::End, GuardedBufferOptions::Start}) {
      auto executor =
          EmulatorExecutor::create(*built->module, built->manifest, {}, side);
      ASSERT_TRUE(static_cast<bool>(executor)) << textOf(executor.takeError());
      CheckOptions options;
      options.onlyGivenN = true;
      options.n = {1, 7, 17};
      options.allVariants = false;
      options.maxOneHotLaunches = 4;
      auto result =
          checkKernel(built->manifest, weight, *packed, **executor, options);
      ASSERT_TRUE(static_cast<bool>(result)) << textOf(result.takeError());
      EXPECT_EQ(result->status, CheckStatus::Verified)
          << (result->failure ? result->failure->message : "");
    }
  }
}

TEST(Family, EveryAcceptedPatternVerifies) {
  for (const KernelFamily *family : allFamilies())
    for (Kind kind : {Kind::Unstructured, Kind::VerySparse, Kind::TwoFour,
                      Kind::Block16, Kind::Dense})
      for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
        for (ElementType type : {ElementType::F16, ElementType::BF16}) {
          SCOPED_TRACE(family->name().str() + " " + std::to_string(int(kind)) +
                       " " + name(layout).str() + " " + name(type).str());
          Problem problem;
          problem.m = 64;
          problem.k = 128;
          problem.type = problem.outputType = type;
          problem.layout = layout;
          problem.epilogue.bias = true;
          problem.epilogue.residual = layout == Layout::TokenMajor;
          problem.tuneN = 8;
          checkFamily(*family, kind, problem, 2);
        }
}

} // namespace
