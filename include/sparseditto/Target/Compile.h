//===- Compile.h - Kernel MLIR to PTX to cubin ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_COMPILE_H
#define SPARSEDITTO_TARGET_COMPILE_H

#include "mlir/IR/BuiltinOps.h"
#include "sparseditto/Target/Chips.h"
#include "sparseditto/Target/Ptxas.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sparseditto {

/// Registers the dialects, translation interfaces and external models that
/// building and compiling kernels needs. Idempotent.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Lowers every gpu.module of `module` from the builders' dialects (gpu, scf,
/// arith, math, vector, llvm, nvvm) to the LLVM and NVVM dialects, in place:
/// one conversion pass, one type converter. What the emulator executes.
llvm::Error lowerKernelToNVVM(mlir::ModuleOp module);

/// PTX text of a module lowered by lowerKernelToNVVM (or not yet lowered: then
/// it is lowered on a clone first). `ptxVersion` comes from choosePtxVersion.
llvm::Expected<std::string>
translateToPtx(mlir::ModuleOp module, const Chip &chip, unsigned ptxVersion);

/// The whole way for one kernel and chip: PTX, cubin and what ptxas said.
struct CompiledKernel {
  std::string ptx;
  std::string cubin; ///< Bytes; empty when ptxas is not available.
  PtxasReport report;
  unsigned ptxVersion = 0;
};
llvm::Expected<CompiledKernel> compileKernel(mlir::ModuleOp module,
                                             const Chip &chip,
                                             const PtxasOptions &options);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_COMPILE_H
