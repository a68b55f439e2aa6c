//===- FuzzPtx.cpp - The reader of inline PTX on arbitrary bytes ----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "Mutators.h"
#include "PtxStatement.h"
#include "sparseditto/Target/CandidatePolicy.h"

using namespace sparseditto;
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

/// The kernel that seeds/ptx/module is.
static const KernelManifest &manifest() {
  static const KernelManifest manifest = [] {
    KernelManifest result;
    result.symbol = "kernel";
    result.strategy.family = "custom";
    result.format = "rows";
    result.problem.m = result.problem.k = 64;
    result.block = {64, 1, 1};
    result.staticSharedBytes = 256;
    result.chip = "sm_80";
    result.ptxVersion = 80;
    result.args.push_back({ArgKind::Packed, "values", ElementType::F16, 256});
    for (const KernelArg &arg : activationArgs(result.problem))
      result.args.push_back(arg);
    return result;
  }();
  return manifest;
}

static const llvm::StringRef words[] = {".version 8.0",
                                        ".target sm_80",
                                        ".address_size 64",
                                        ".visible",
                                        ".entry",
                                        ".func",
                                        ".extern",
                                        ".global",
                                        ".shared",
                                        ".const",
                                        ".local",
                                        ".align 16",
                                        ".b8",
                                        ".v4",
                                        "name[256]",
                                        "[]",
                                        ".reg",
                                        ".b32",
                                        "%r<9>",
                                        "%r1",
                                        ".param",
                                        ".u64",
                                        ".ptr",
                                        ".maxntid 64, 1, 1",
                                        ".reqntid",
                                        ".pragma",
                                        "\"nounroll\"",
                                        "@%p1",
                                        "bra",
                                        "L1:",
                                        "ld.global.u32",
                                        "st.shared.f32",
                                        "mma.sync.aligned.m16n8k16.row.col",
                                        "bar.sync 0",
                                        "call",
                                        "{",
                                        "}",
                                        ";",
                                        ",",
                                        "(",
                                        ")",
                                        "//",
                                        "/*",
                                        "*/",
                                        "\"",
                                        "\n"};

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  return mutateTokens(data, size, maxSize, seed, words);
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
  if (llvm::Error error = checkCandidatePtx(text, manifest()))
    checkError(std::move(error), "PTX line ");
  return 0;
}
