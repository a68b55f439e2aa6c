//===- Instrumenter.h - Shared state of the rewrite -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_INSTRUMENTER_H
#define SPARSEDITTO_LIB_EMULATOR_INSTRUMENTER_H

#include "Access.h"
#include "Instrument.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace sparseditto::emulator {

class Instrumenter {
public:
  Instrumenter(llvm::Module &module, llvm::StringRef symbol,
               const std::vector<OperationRecord> &operations)
      : M(module), Symbol(symbol), Operations(operations),
        DL(module.getDataLayout()) {}

  llvm::Expected<InstrumentedKernel> run();

private:
  llvm::Module &M;
  llvm::StringRef Symbol;
  const std::vector<OperationRecord> &Operations;
  const llvm::DataLayout &DL;
  InstrumentedKernel Result;
  llvm::Function *F = nullptr;          ///< The entry.
  llvm::BasicBlock *Prologue = nullptr; ///< Arguments and local arrays.
  llvm::Instruction *PrologueEnd = nullptr;
  llvm::Value *Context = nullptr, *CacheBase = nullptr;
  llvm::Value *ArgSlots = nullptr, *ResultSlots = nullptr;

  // Structure (Instrument.cpp).
  llvm::Error inlineEverything();
  llvm::Error buildEntry(llvm::Function &kernel);
  llvm::Error layOutShared();
  bool refuseHugeFrame();
  llvm::Expected<InstrumentedKernel> finish();
  llvm::Error rewrite(llvm::Instruction &inst);
  void addFuel();

  // Memory accesses (Instrument.cpp).
  llvm::Error rewriteAccess(llvm::Instruction &inst, llvm::Value *pointer,
                            llvm::Type *type, llvm::Align align,
                            AccessKind kind);
  void checkLocal(llvm::Instruction &inst, llvm::Value *pointer,
                  llvm::AllocaInst &array, llvm::Value *size);
  llvm::Value *clampedSize(llvm::IRBuilder<> &b, llvm::Value *size);
  void checkRange(llvm::Instruction &inst, llvm::Value *pointer,
                  llvm::Value *size, AccessKind kind);

  // Calls (InstrumentCalls.cpp).
  llvm::Error rewriteCall(llvm::CallInst &call);
  llvm::Error rewriteNvvm(llvm::CallInst &call, llvm::StringRef name);
  llvm::Value *specialRegister(llvm::IRBuilder<> &b, llvm::StringRef name);
  bool rewriteWarpOp(llvm::CallInst &call, llvm::StringRef name);
  bool rewriteMatrixOp(llvm::CallInst &call, llvm::StringRef name);
  bool rewriteBarrier(llvm::CallInst &call, llvm::StringRef name);
  bool rewriteMbarrier(llvm::CallInst &call, llvm::StringRef name);
  bool rewriteBulkCopy(llvm::CallInst &call, llvm::StringRef name);
  bool rewriteCopy(llvm::CallInst &call, llvm::StringRef name);
  llvm::Value *emitMath(llvm::CallInst &call, llvm::IRBuilder<> &b,
                        llvm::StringRef name);

  // Inline PTX (InlineAsm.cpp).
  llvm::Error rewriteInlineAsm(llvm::CallInst &call);

  // Helpers.
  unsigned addSite(const llvm::Instruction &inst, llvm::StringRef name);
  llvm::Error unsupported(const llvm::Instruction &inst,
                          const llvm::Twine &message);
  llvm::CallInst *emitCall(llvm::IRBuilder<> &b, llvm::StringRef function,
                           llvm::Type *result,
                           llvm::ArrayRef<llvm::Value *> args);
  /// Emits the warp operation of `site`; results as the type `result` wants.
  llvm::Value *emitWarpOp(llvm::IRBuilder<> &b, unsigned site,
                          llvm::Value *mask, llvm::ArrayRef<llvm::Value *> args,
                          llvm::Type *result);
  llvm::Value *loadContext(size_t offset, llvm::Type *type);
  llvm::Value *addressOf(llvm::IRBuilder<> &b, llvm::Value *pointer);
  void replace(llvm::Instruction &inst, llvm::Value *value);
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_INSTRUMENTER_H
