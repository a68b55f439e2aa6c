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

struct KernelManifest;

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

enum class CompileOutcome {
  Compiled, ///< PTX was made; the report says what ptxas made of it.
  Rejected, ///< A diagnostic: it does not parse, verify, lower or fit the chip.
  Refused,  ///< It holds what no candidate may (CandidatePolicy.h).
  Crashed,  ///< The compiler died; the diagnostic has its last words.
  TimedOut,
};
struct IsolatedCompile {
  CompileOutcome outcome = CompileOutcome::Compiled;
  std::string diagnostic; ///< Empty when compiled.
  CompiledKernel kernel;  ///< When compiled.
};
struct IsolationLimits {
  unsigned timeoutSeconds = 30;             ///< From MLIR to PTX.
  uint64_t memoryBytes = uint64_t(4) << 30; ///< On top of this process.
};

/// compileKernel for text that nobody has checked: parsed and compiled to PTX
/// in a child process, so that an abort inside LLVM, endless compilation or
/// exhausted memory is an outcome. With `policy`, the kernel's manifest, both
/// the module and its PTX must pass the checks of CandidatePolicy.h there.
/// Diagnostics name the text isolatedSourceName: "kernel.mlir:3:5: ...; ...".
/// An Error means that no child could be made.
llvm::Expected<IsolatedCompile> compileKernelIsolated(
    llvm::StringRef mlirText, const Chip &chip, const PtxasOptions &options,
    const IsolationLimits &limits = {}, const KernelManifest *policy = nullptr);
inline constexpr llvm::StringLiteral isolatedSourceName = "kernel.mlir";

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_COMPILE_H
