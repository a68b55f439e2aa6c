//===- Pipelines.cpp - Pipelines on models --------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Transforms/Pipelines.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "sparseditto/Target/Passes.h"
#include "sparseditto/Transforms/Passes.h"

using namespace mlir;
using namespace sparseditto;

void sparseditto::buildSparseToPtxPipeline(OpPassManager &pm,
                                           const SparseToPtxOptions &options) {
  pm.addPass(createSparsePackPass());
  pm.addPass(createConvertSparsePatternToLinalgPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  ConvertSparsePatternToGPUPassOptions launch;
  launch.chip = options.chip;
  pm.addPass(createConvertSparsePatternToGPUPass(launch));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  SparsePatternKernelToBinaryOptions binary;
  binary.chips = {options.chip};
  binary.format = options.format;
  pm.addPass(createSparsePatternKernelToBinary(binary));
}

void sparseditto::registerPipelines() {
  PassPipelineRegistration<SparseToPtxOptions>(
      "sparse-to-ptx",
      "Pack the weights of planned products, build their kernels and launch "
      "them",
      buildSparseToPtxPipeline);
}
