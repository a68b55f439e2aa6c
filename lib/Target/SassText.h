//===- SassText.h - Lines of a disassembly ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_SASSTEXT_H
#define SPARSEDITTO_LIB_TARGET_SASSTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace sparseditto {

/// "        /*0390*/   @!P0 LDG.E.128 R24, desc[UR4][R12.64] ;   /* ... */".
struct SassInstruction {
  unsigned address = 0;
  llvm::StringRef predicate; ///< "!P0", without the sign at; empty if none.
  llvm::StringRef opcode;    ///< "LDG.E.128".
  llvm::StringRef operands;  ///< "R24, desc[UR4][R12.64]".
};
/// None for a line that is not an instruction.
std::optional<SassInstruction> parseSassInstruction(llvm::StringRef line);

/// What a line says between the functions.
struct SassHeading {
  std::optional<llvm::StringRef> chip, function, label;
};
SassHeading parseSassHeading(llvm::StringRef line);

/// The disassembler's text of a cubin; none when there is no disassembler.
llvm::Expected<std::optional<std::string>>
disassembleText(llvm::StringRef cubin, unsigned timeoutSeconds);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_SASSTEXT_H
