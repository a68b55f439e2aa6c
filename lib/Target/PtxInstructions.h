//===- PtxInstructions.h - Instructions candidates may use ------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_PTXINSTRUCTIONS_H
#define SPARSEDITTO_LIB_TARGET_PTXINSTRUCTIONS_H

#include "PtxText.h"

namespace sparseditto {

/// Success if a candidate may contain the instruction. The error is ptxError.
llvm::Error checkInstruction(const PtxInstruction &instruction,
                             const PtxRegisters &registers);

/// Success if every instruction of an inline-assembly text is one that a
/// candidate may contain. Lines count from 1.
llvm::Error checkInlinePtx(llvm::StringRef text);

/// Walks the statements of a body between braces. `tokens` begins behind the
/// opening brace; `end` gets the index behind the closing one. Declarations
/// other than of registers go to `declaration`, which gets the tokens up to the
/// semicolon.
llvm::Error checkBody(
    llvm::ArrayRef<PtxToken> tokens, size_t &end,
    llvm::function_ref<llvm::Error(llvm::ArrayRef<PtxToken>)> declaration);

/// True for a special register that says where in the grid a thread is. The
/// others (clocks, SM numbers, counters) tell launches apart.
bool isAllowedSpecialRegister(llvm::StringRef name);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_PTXINSTRUCTIONS_H
