//===- AsmTranslator.h - Inline PTX as LLVM IR ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_ASMTRANSLATOR_H
#define SPARSEDITTO_LIB_EMULATOR_ASMTRANSLATOR_H

#include "PtxStatement.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace sparseditto::emulator {

/// Translates the statements of one asm call. Registers are SSA values by name;
/// "$3" is an operand.
class AsmTranslator {
public:
  AsmTranslator(llvm::CallInst &call, std::vector<llvm::Instruction *> &made)
      : Call(call), B(&call), Made(made) {}

  /// False if some statement is unknown.
  bool run(llvm::StringRef text, llvm::StringRef constraints);
  llvm::Value *result();

private:
  llvm::CallInst &Call;
  llvm::IRBuilder<> B;
  std::vector<llvm::Instruction *> &Made; ///< To be instrumented afterwards.
  llvm::StringMap<llvm::Value *> Registers;
  unsigned Outputs = 0;

  static std::string operandName(unsigned i) {
    return (llvm::Twine("$") + llvm::Twine(i)).str();
  }
  bool bindOperands(llvm::StringRef constraints);
  bool translate(const PtxStatement &statement);
  bool execute(const PtxStatement &statement);
  bool arithmetic(const PtxStatement &s);
  bool memory(const PtxStatement &s);
  bool atomic(const PtxStatement &s);
  bool synchronization(const PtxStatement &s);

  llvm::Type *outputType(unsigned i) const;
  llvm::Value *read(llvm::StringRef operand, llvm::Type *type);
  void write(llvm::StringRef operand, llvm::Value *value) {
    Registers[operand] = value;
  }
  llvm::Value *pointer(llvm::StringRef bracketed, unsigned space);
  llvm::Value *convert(llvm::Value *value, llvm::Type *type);
  llvm::Type *typeOf(llvm::StringRef ptx) const;
  template <typename Inst> Inst *keep(Inst *inst) {
    inst->setDebugLoc(Call.getDebugLoc());
    Made.push_back(inst);
    return inst;
  }
  void intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> args) {
    keep(B.CreateIntrinsic(B.getVoidTy(), id, args));
  }
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_ASMTRANSLATOR_H
