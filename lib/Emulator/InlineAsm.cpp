//===- InlineAsm.cpp - Inline PTX that kernels may use --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/IR/InlineAsm.h"
#include "Instrumenter.h"

using namespace sparseditto;
using namespace sparseditto::emulator;

llvm::Error Instrumenter::rewriteInlineAsm(llvm::CallInst &call) {
  auto *assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  return unsupported(call, "inline PTX '" + assembly->getAsmString() + "'");
}
