//===- AssembleTest.cpp - Every candidate assembles for every chip --------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWeights.h"
#include "mlir/IR/MLIRContext.h"
#include "sparseditto/Kernels/Families.h"
#include "sparseditto/Target/Compile.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {
struct Case {
  const char *family;
  ElementType type;
  int64_t m, k;
  double density;
};
} // namespace

static void assembles(const KernelFamily &family, const Matrix &weight,
                      const Problem &problem, const Strategy &strategy,
                      const Chip &chip) {
  SCOPED_TRACE(strategy.str() + " " + chip.name.str() + " " +
               name(problem.layout).str() + " " + name(problem.type).str());
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto packed = packChecked(family, weight, strategy);
  ASSERT_TRUE(bool(packed)) << llvm::toString(packed.takeError());
  auto built = family.build(context, problem, strategy, *packed,
                            chip.computeCapability, "kernel");
  ASSERT_TRUE(bool(built)) << llvm::toString(built.takeError());
  ASSERT_FALSE(bool(built->manifest.verify()));
  auto compiled = compileKernel(*built->module, chip, PtxasOptions());
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  if (!compiled->report.available)
    GTEST_SKIP() << "ptxas not found";
  ASSERT_TRUE(compiled->report.ok()) << compiled->report.log;
  EXPECT_FALSE(compiled->report.hasPerformanceFault()) << compiled->report.log;
  const KernelResources *resources = compiled->report.find("kernel");
  ASSERT_NE(resources, nullptr);
  EXPECT_EQ(resources->spillLoadBytes + resources->spillStoreBytes, 0u);
  EXPECT_EQ(resources->stackFrameBytes, 0u);
}

TEST(Assemble, CsrDefaultsOnSixChips) {
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::F32}) {
    Matrix weight = randomWeight(type, 64, 256, 0.1, 1);
    for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor})
      for (const char *chipName :
           {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
        const Chip &chip = *llvm::cantFail(findChip(chipName));
        Problem problem;
        problem.m = 64;
        problem.k = 256;
        problem.type = problem.outputType = type;
        problem.layout = layout;
        for (int64_t tile : {1, 8, 16}) {
          Strategy strategy = csrFamily().declaration().defaults();
          strategy.set("tile_n", tile);
          assembles(csrFamily(), weight, problem, strategy, chip);
        }
      }
  }
}
