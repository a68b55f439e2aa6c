//===- Pipelines.h - Pipelines on models -----------------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_PIPELINES_H
#define SPARSEDITTO_TRANSFORMS_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace sparseditto {

struct SparseToPtxOptions
    : public mlir::PassPipelineOptions<SparseToPtxOptions> {
  PassOptions::Option<std::string> chip{
      *this, "chip", llvm::cl::desc("Chip to build for, such as sm_90a"),
      llvm::cl::init("sm_80")};
  PassOptions::Option<std::string> format{
      *this, "format", llvm::cl::desc("What a binary holds: ptx or cubin"),
      llvm::cl::init("ptx")};
};

/// From products with plans (on tensors, in a module) to gpu.binary and
/// launches; what has no kernel goes to linalg and is bufferized along.
/// Functions take and return contiguous memrefs afterwards.
void buildSparseToPtxPipeline(mlir::OpPassManager &pm,
                              const SparseToPtxOptions &options);

void registerPipelines();

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_PIPELINES_H
