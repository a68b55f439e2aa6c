//===- Pipelines.cpp - Pipelines on models --------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Transforms/Pipelines.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "sparseditto/Target/HostToLLVM.h"
#include "sparseditto/Target/Passes.h"
#include "sparseditto/Transforms/Passes.h"

using namespace mlir;
using namespace sparseditto;

/// What several chips have in common.
static constexpr llvm::StringLiteral commonChip = "sm_80";

/// The chip that kernels are chosen and built for.
static std::string kernelChip(ArrayRef<std::string> chips) {
  return chips.size() == 1 ? chips.front() : commonChip.str();
}

void sparseditto::buildLowerPlannedPipeline(OpPassManager &pm,
                                            ArrayRef<std::string> chips,
                                            StringRef format) {
  pm.addPass(createSparsePackPass());
  pm.addPass(createConvertSparsePatternToLinalgPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  bufferization::buildBufferDeallocationPipeline(pm);
  ConvertSparsePatternToGPUPassOptions launch;
  launch.chip = kernelChip(chips);
  pm.addPass(createConvertSparsePatternToGPUPass(launch));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  if (format == moduleFormat)
    return;
  SparsePatternKernelToBinaryOptions binary;
  binary.chips.assign(chips.begin(), chips.end());
  binary.format = format.str();
  pm.addPass(createSparsePatternKernelToBinary(binary));
}

void sparseditto::buildSparseToPtxPipeline(OpPassManager &pm,
                                           const SparseToPtxOptions &options) {
  SmallVector<std::string> chips(options.chips.begin(), options.chips.end());
  if (chips.empty())
    chips.push_back(commonChip.str());
  SparseAgentLowerPassOptions choose;
  choose.agent = options.agent;
  choose.target = kernelChip(chips);
  choose.format = options.format;
  choose.n.assign(options.n.begin(), options.n.end());
  choose.decideOnly = true;
  pm.addPass(createSparseAgentLowerPass(choose));
  buildLowerPlannedPipeline(pm, chips, options.format);
  if (!options.hostToLLVM)
    return;
  // Kernels first: the host's type converter is not theirs.
  pm.addNestedPass<gpu::GPUModuleOp>(createConvertSparsePatternKernelToNVVM());
  buildHostToLLVM(pm);
}

void sparseditto::registerPipelines() {
  PassPipelineRegistration<SparseToPtxOptions>(
      "sparse-to-ptx",
      "Choose a kernel for every pruned weight, pack the weights, build the "
      "kernels and launch them",
      buildSparseToPtxPipeline);
}
