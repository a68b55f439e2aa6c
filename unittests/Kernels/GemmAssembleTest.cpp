//===- GemmAssembleTest.cpp - Matrix kernels assemble without spills ------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWeights.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "sparseditto/Kernels/Families.h"
#include "sparseditto/Kernels/Limits.h"
#include "sparseditto/Target/Compile.h"
#include "sparseditto/Target/Sass.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {

class GemmAssemble : public ::testing::TestWithParam<const char *> {};

/// `spills`, if given, takes the bytes spilled; otherwise there must be none.
void assemble(const KernelFamily &family, const PackedWeight &packed,
              const Problem &problem, const Strategy &strategy,
              const Chip &chip, unsigned *spills = nullptr) {
  SCOPED_TRACE(strategy.str() + " " + chip.name.str() + " " +
               name(problem.layout).str() + " " + name(problem.type).str());
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto built = family.build(context, problem, strategy, packed,
                            chip.computeCapability, "kernel");
  ASSERT_TRUE(bool(built)) << llvm::toString(built.takeError());
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*built->module)));
  if (llvm::Error error = built->manifest.verify())
    FAIL() << llvm::toString(std::move(error));
  EXPECT_LE(built->manifest.dynamicSharedBytes +
                built->manifest.staticSharedBytes,
            maxSharedBytes(chip.computeCapability));
  auto compiled = compileKernel(*built->module, chip, PtxasOptions());
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  if (!compiled->report.available)
    GTEST_SKIP() << "ptxas not found";
  ASSERT_TRUE(compiled->report.ok()) << compiled->report.log;
  EXPECT_FALSE(compiled->report.hasPerformanceFault()) << compiled->report.log;
  const KernelResources *resources = compiled->report.find("kernel");
  ASSERT_NE(resources, nullptr);
  const unsigned spilled =
      resources->spillLoadBytes + resources->spillStoreBytes;
  if (spills) {
    *spills = spilled;
    return;
  }
  EXPECT_EQ(spilled, 0u) << compiled->report.log;
  EXPECT_EQ(resources->stackFrameBytes, 0u);
}

TEST_P(GemmAssemble, DefaultsOnEveryChip) {
  const KernelFamily &family = *findFamily(GetParam());
  Matrix weight =
      structuredWeight(family.name(), ElementType::F16, 256, 512, 1);
  Strategy strategy = family.declaration().defaults();
  PackedWeight packed = llvm::cantFail(packChecked(family, weight, strategy));
  Problem problem;
  problem.m = 256;
  problem.k = 512;
  for (const char *name :
       {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    assemble(family, packed, problem, strategy,
             *llvm::cantFail(findChip(name)));
}

// Every candidate assembles. One that spills is refused when a plan is chosen,
// so among those of each N one must not.
TEST_P(GemmAssemble, EveryCandidateOfALayer) {
  const KernelFamily &family = *findFamily(GetParam());
  Matrix weight =
      structuredWeight(family.name(), ElementType::BF16, 1024, 4096, 2);
  PatternReport report = blockReport(weight);
  for (const char *chipName : {"sm_80", "sm_90a"})
    for (int64_t n : {1, 16, 32, 2048}) {
      const Chip &chip = *llvm::cantFail(findChip(chipName));
      Problem problem;
      problem.m = weight.rows;
      problem.k = weight.cols;
      problem.type = problem.outputType = ElementType::BF16;
      problem.tuneN = n;
      problem.layout = n == 32 ? Layout::FeatureMajor : Layout::TokenMajor;
      problem.epilogue.bias = n == 16;
      std::vector<Strategy> candidates =
          family.candidates(report, problem, chip.computeCapability);
      EXPECT_GE(candidates.size(), 2u) << "N = " << n;
      size_t spillFree = 0;
      for (const Strategy &strategy : candidates) {
        PackedWeight packed =
            llvm::cantFail(packChecked(family, weight, strategy));
        unsigned spills = 0;
        assemble(family, packed, problem, strategy, chip, &spills);
        spillFree += spills == 0;
      }
      EXPECT_GE(spillFree, 1u) << chipName << " N = " << n;
    }
}

TEST_P(GemmAssemble, CandidatesFitSmallSharedMemory) {
  const KernelFamily &family = *findFamily(GetParam());
  Matrix weight =
      structuredWeight(family.name(), ElementType::F16, 128, 256, 3);
  PatternReport report = blockReport(weight);
  for (int64_t k : {1, 70, 256, 4096, 14336, 28672})
    for (int64_t n : {1, 8, 16, 33, 64, 128, 4096})
      for (unsigned cc : {80u, 86u, 89u, 90u, 100u, 120u}) {
        Problem problem;
        problem.m = 4096;
        problem.k = k;
        problem.tuneN = n;
        auto candidates = family.candidates(report, problem, cc);
        EXPECT_FALSE(candidates.empty())
            << "K = " << k << " N = " << n << " sm_" << cc;
        for (const Strategy &strategy : candidates)
          EXPECT_FALSE(bool(family.check(strategy, problem, cc)));
      }
}

/// The machine code of `strategy` for a 4096 x 4096 layer.
std::optional<SassKernel> machineCode(const KernelFamily &family,
                                      const Strategy &strategy,
                                      unsigned &weightLoads) {
  const Chip &chip = *llvm::cantFail(findChip("sm_90a"));
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Matrix weight =
      structuredWeight(family.name(), ElementType::F16, 4096, 4096, 5);
  PackedWeight packed = llvm::cantFail(family.pack(weight, strategy));
  Problem problem;
  problem.m = problem.k = 4096;
  auto built = llvm::cantFail(family.build(context, problem, strategy, packed,
                                           chip.computeCapability, "kernel"));
  auto compiled =
      llvm::cantFail(compileKernel(*built.module, chip, PtxasOptions()));
  weightLoads = *strategy.get("tile_m") / 16 / *strategy.get("warps_m") *
                *strategy.get("prefetch") * 2;
  if (!compiled.report.available)
    return std::nullopt;
  auto kernels = llvm::cantFail(disassemble(compiled.cubin));
  if (!kernels)
    return std::nullopt;
  EXPECT_EQ(kernels->size(), 1u);
  return kernels->front();
}

TEST(GemmMachineCode, DecodeIssuesEveryWeightLoadBeforeTheFirstBarrier) {
  for (const char *name : {"nm", "dense"}) {
    SCOPED_TRACE(name);
    const KernelFamily &family = *findFamily(name);
    Strategy strategy = family.declaration().defaults();
    for (auto [knob, value] : {std::pair<const char *, int64_t>{"tile_m", 32},
                               {"tile_n", 16},
                               {"warps_k", 16},
                               {"prefetch", 4},
                               {"stages", family.name() == "nm" ? 1 : 2},
                               {"blocks_per_sm", 1}})
      strategy.set(knob, value);
    unsigned weightLoads = 0;
    std::optional<SassKernel> code = machineCode(family, strategy, weightLoads);
    if (!code)
      GTEST_SKIP() << "no ptxas or disassembler";
    // The element-wise path of X has narrow loads, behind no barrier either.
    EXPECT_GE(code->wideGlobalLoads, weightLoads);
    EXPECT_GT(code->asyncCopies, 0u);
    EXPECT_GT(code->sharedMatrixLoads, 0u);
    EXPECT_GT(code->matrixProducts, 0u);
    EXPECT_FALSE(code->usesLocalMemory());
    if (family.name() == "nm") {
      EXPECT_EQ(code->sparseMatrixProducts, code->matrixProducts);
      EXPECT_EQ(code->globalLoadsAfterBarrier, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GemmAssemble,
                         ::testing::Values("nm", "block", "channel", "dense"),
                         [](const auto &info) { return info.param; });

} // namespace
