//===- PolicyTest.cpp - Our own kernels are legal candidates --------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWeights.h"
#include "mlir/IR/MLIRContext.h"
#include "sparseditto/Kernels/Families.h"
#include "sparseditto/Target/CandidatePolicy.h"
#include "sparseditto/Target/Compile.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;

/// The builder's module, what it is lowered to, and its PTX.
static void passes(const KernelFamily &family, const Matrix &weight,
                   const Problem &problem, const Strategy &strategy,
                   const Chip &chip) {
  SCOPED_TRACE(strategy.str() + " " + chip.name.str() + " " +
               name(problem.layout).str() + " " + name(problem.type).str());
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  PackedWeight packed = llvm::cantFail(packChecked(family, weight, strategy));
  BuiltKernel built = llvm::cantFail(family.build(
      context, problem, strategy, packed, chip.computeCapability, "kernel"));
  KernelManifest manifest = built.manifest;
  manifest.chip = chip.name.str();
  manifest.ptxVersion = chip.preferredPtx;
  if (llvm::Error error = checkCandidateModule(*built.module, manifest))
    ADD_FAILURE() << llvm::toString(std::move(error));
  if (llvm::Error error = lowerKernelToNVVM(*built.module))
    FAIL() << llvm::toString(std::move(error));
  if (llvm::Error error = checkCandidateModule(*built.module, manifest))
    ADD_FAILURE() << "lowered: " << llvm::toString(std::move(error));
  llvm::Expected<std::string> ptx =
      translateToPtx(*built.module, chip, chip.preferredPtx);
  ASSERT_TRUE(bool(ptx)) << llvm::toString(ptx.takeError());
  if (llvm::Error error = checkCandidatePtx(*ptx, manifest))
    ADD_FAILURE() << llvm::toString(std::move(error)) << "\n" << *ptx;
}

namespace {
class Policy : public ::testing::TestWithParam<const char *> {};
} // namespace

TEST_P(Policy, EveryCandidateOfALayerPasses) {
  const KernelFamily &family = *findFamily(GetParam());
  Epilogue plain, full;
  full.bias = full.residual = true;
  for (ElementType type : family.declaration().types) {
    Matrix weight = structuredWeight(family.name(), type, 256, 512, 1);
    PatternReport report = blockReport(weight);
    for (const char *chipName : {"sm_80", "sm_90a", "sm_120a"})
      for (int64_t n : {1, 16, 512}) {
        const Chip &chip = *llvm::cantFail(findChip(chipName));
        Problem problem;
        problem.m = weight.rows;
        problem.k = weight.cols;
        problem.type = problem.outputType = type;
        problem.tuneN = n;
        problem.layout = n == 16 ? Layout::FeatureMajor : Layout::TokenMajor;
        problem.epilogue = n == 1 ? plain : full;
        problem.epilogue.activation = n == 16    ? Activation::Gelu
                                      : n == 512 ? Activation::Silu
                                                 : Activation::Relu;
        std::vector<Strategy> candidates =
            family.candidates(report, problem, chip.computeCapability);
        ASSERT_FALSE(candidates.empty());
        // Compilation dominates: the first few of each, which differ most.
        candidates.resize(std::min<size_t>(candidates.size(), 3));
        for (const Strategy &strategy : candidates)
          passes(family, weight, problem, strategy, chip);
      }
  }
}

static std::vector<const char *> familyNames() {
  std::vector<const char *> names;
  for (const KernelFamily *family : allFamilies())
    names.push_back(family->name().data());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Families, Policy, ::testing::ValuesIn(familyNames()),
                         [](const auto &info) {
                           return std::string(info.param);
                         });
