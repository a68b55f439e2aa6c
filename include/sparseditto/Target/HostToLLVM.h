//===- HostToLLVM.h - Host code to the LLVM dialect ------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_HOSTTOLLVM_H
#define SPARSEDITTO_TARGET_HOSTTOLLVM_H

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace sparseditto {

/// Registers the dialects of host code on memrefs and what lowering them needs,
/// those of kernels included. Idempotent.
void registerHostDialects(mlir::DialectRegistry &registry);

/// Everything but gpu.launch_func, gpu.binary and the shell of gpu.module to
/// the LLVM dialect. What gpu operations ask of the driver become calls of
/// mgpu functions. Kernels are in the LLVM dialect already or gone.
void buildHostToLLVM(mlir::OpPassManager &pm);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_HOSTTOLLVM_H
