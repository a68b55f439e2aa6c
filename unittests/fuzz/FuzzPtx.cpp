//===- FuzzPtx.cpp - The reader of inline PTX on arbitrary bytes ----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "PtxStatement.h"

using namespace sparseditto::emulator;
using namespace sparseditto::fuzz;

static bool isWithin(llvm::StringRef piece, llvm::StringRef text) {
  return piece.empty() ||
         (piece.begin() >= text.begin() && piece.end() <= text.end());
}

static void checkStatement(const PtxStatement &statement,
                           llvm::StringRef text) {
  check(!statement.parts.empty(), "a statement has an opcode");
  check(isWithin(statement.guard, text), "a guard is of the text");
  for (llvm::StringRef part : statement.parts)
    check(part == ".reg" || isWithin(part, text), "an opcode is of the text");
  for (llvm::StringRef operand : statement.operands) {
    check(!operand.empty() && isWithin(operand, text),
          "an operand is of the text");
    for (llvm::StringRef element : splitVector(operand))
      check(isWithin(element, operand), "an element is of its operand");
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (std::optional<std::vector<PtxStatement>> statements = parsePtx(text)) {
    check(statements->size() <= text.count(';') + 1,
          "statements end in semicolons");
    for (const PtxStatement &statement : *statements)
      checkStatement(statement, text);
  }
  if (std::optional<PtxStatement> wait = parseWaitLoop(text)) {
    checkStatement(*wait, text);
    check(wait->parts.front() == "mbarrier" && !wait->operands.empty(),
          "a wait loop waits for a barrier");
  }
  return 0;
}
