//===- PtxStatement.h - Statements of inline PTX ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_PTXSTATEMENT_H
#define SPARSEDITTO_LIB_EMULATOR_PTXSTATEMENT_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace sparseditto::emulator {

/// "@!p ld.global.v2.u32 {$0, $1}, [$2 + 8];" in pieces. The pieces refer to
/// the text that was parsed.
struct PtxStatement {
  llvm::StringRef guard; ///< "p"; empty without one.
  bool negated = false;
  std::vector<llvm::StringRef> parts;    ///< The opcode, split at the dots.
  std::vector<llvm::StringRef> operands; ///< Braces and brackets kept whole.
};

/// None for labels, nested scopes and other text that is no plain list of
/// statements. Outer braces are dropped.
std::optional<std::vector<PtxStatement>> parsePtx(llvm::StringRef text);

/// The mbarrier.try_wait of a text that only repeats it until it succeeds:
/// "L: try_wait P, ...; @P bra D; bra L; D:". None for any other text.
std::optional<PtxStatement> parseWaitLoop(llvm::StringRef text);

/// The registers of "{$0, $1}", or the operand itself.
std::vector<llvm::StringRef> splitVector(llvm::StringRef operand);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_PTXSTATEMENT_H
