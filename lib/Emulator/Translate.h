//===- Translate.h - Kernel MLIR to LLVM IR ---------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_TRANSLATE_H
#define SPARSEDITTO_LIB_EMULATOR_TRANSLATE_H

#include "Site.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sparseditto::emulator {

struct TranslatedKernel {
  std::unique_ptr<llvm::Module> module;
  /// Line l of an instruction's debug location stands for operations[l].
  /// operations[0] is "nothing known".
  std::vector<OperationRecord> operations;
};

/// True if some operation is of a dialect that the emulator does not take.
bool needsLowering(mlir::ModuleOp module);

/// NVPTX-flavoured LLVM IR of the module that holds the llvm.func `symbol`.
/// `module` is left alone.
llvm::Expected<TranslatedKernel> translateKernel(mlir::ModuleOp module,
                                                 llvm::StringRef symbol,
                                                 llvm::LLVMContext &context);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_TRANSLATE_H
