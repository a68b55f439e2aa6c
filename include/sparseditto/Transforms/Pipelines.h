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

/// The format that keeps a kernel as a gpu.module instead of compiling it to a
/// gpu.binary: for the emulator, and for compilers of one's own.
inline constexpr llvm::StringLiteral moduleFormat = "module";

/// From products with plans (on tensors, in a module) to gpu.binary (or
/// gpu.module, see moduleFormat) and launches; what has no kernel goes to
/// linalg and is bufferized along. Functions take and return contiguous memrefs
/// afterwards, and the buffers that they allocate and do not return are freed.
void buildLowerPlannedPipeline(mlir::OpPassManager &pm,
                               llvm::ArrayRef<std::string> chips,
                               llvm::StringRef format);

struct SparseToPtxOptions
    : public mlir::PassPipelineOptions<SparseToPtxOptions> {
  ListOption<std::string> chips{
      *this, "chips",
      llvm::cl::desc("Chips to build for, such as sm_90a (default sm_80); "
                     "several share the kernels of sm_80")};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What a binary holds: ptx or cubin; module keeps "
                     "gpu.module, as MLIR"),
      llvm::cl::init("ptx")};
  Option<std::string> agent{
      *this, "agent",
      llvm::cl::desc("Who proposes where there is no plan: heuristic, "
                     "exhaustive or random[:seed]"),
      llvm::cl::init("heuristic")};
  ListOption<int64_t> n{
      *this, "n",
      llvm::cl::desc("Numbers of tokens to plan for where N is dynamic "
                     "(default 1, 16, 512)")};
  Option<bool> hostToLLVM{
      *this, "host-to-llvm",
      llvm::cl::desc("Lower the host to the LLVM dialect as well"),
      llvm::cl::init(true)};
};

/// The whole way: choose where there is no plan, build, lower the host.
void buildSparseToPtxPipeline(mlir::OpPassManager &pm,
                              const SparseToPtxOptions &options);

void registerPipelines();

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_PIPELINES_H
