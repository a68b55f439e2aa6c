//===- PtxText.h - PTX text in pieces ---------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Just enough of PTX's syntax to know what a text declares and does. Pieces
// refer to the text that was read.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_PTXTEXT_H
#define SPARSEDITTO_LIB_TARGET_PTXTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace sparseditto {

/// A word ("ld.global.L1::no_allocate.b32", "%tid.x", ".reg", "0f00000000",
/// "\"text\"") or one other character.
struct PtxToken {
  llvm::StringRef text;
  unsigned line = 1;
  bool isWord() const;
};

/// Comments are dropped. Fails at an open comment or string and at a byte that
/// is neither printable nor white space.
llvm::Expected<std::vector<PtxToken>> tokenizePtx(llvm::StringRef text);

/// "@!%p1 ld.global.b32 %r1, [%rd1+4];"
struct PtxInstruction {
  PtxToken opcode;
  llvm::ArrayRef<PtxToken> operands; ///< Without the guard and the semicolon.
};

/// Registers that .reg directives have declared.
class PtxRegisters {
public:
  /// `tokens` is what stands between ".reg" and the semicolon.
  void declare(llvm::ArrayRef<PtxToken> tokens);
  bool contains(llvm::StringRef name) const;

private:
  llvm::StringSet<> names;
  llvm::StringSet<> prefixes; ///< "%r" of "%r<77>".
};

/// "PTX line 12: text".
llvm::Error ptxError(unsigned line, const llvm::Twine &text);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_PTXTEXT_H
