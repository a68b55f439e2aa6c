//===- LowerToNVVM.h - Kernel MLIR to LLVM and NVVM -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_LOWERTONVVM_H
#define SPARSEDITTO_LIB_TARGET_LOWERTONVVM_H

#include "mlir/Support/LLVM.h"

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace sparseditto {

/// Lowers one kernel module in place. Reports through the context's diagnostic
/// engine. The dialects of registerKernelDialects must be loaded.
llvm::LogicalResult lowerGpuModule(mlir::gpu::GPUModuleOp module);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_LOWERTONVVM_H
