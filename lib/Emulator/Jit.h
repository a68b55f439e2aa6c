//===- Jit.h - Compiling for this machine -----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_JIT_H
#define SPARSEDITTO_LIB_EMULATOR_JIT_H

#include "Runtime.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace sparseditto::emulator {

/// Registers the native backend, once.
void initializeNativeBackend();

/// The host as it is, without the instruction that rounds to bf16 but flushes
/// subnormals, which no GPU does.
llvm::Expected<llvm::orc::JITTargetMachineBuilder> hostMachine();

/// Gives `module` the machine's triple and optimizes it at -O1.
llvm::Error optimize(llvm::Module &module,
                     llvm::orc::JITTargetMachineBuilder machine);

/// Compiles `module` for `machine`. It sees no symbols but `symbols`: code from
/// outside calls nothing of this process by name.
llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
compileWithJit(llvm::orc::JITTargetMachineBuilder machine,
               std::unique_ptr<llvm::Module> module,
               std::unique_ptr<llvm::LLVMContext> context,
               llvm::ArrayRef<RuntimeSymbol> symbols);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_JIT_H
