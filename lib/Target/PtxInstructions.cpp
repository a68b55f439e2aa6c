//===- PtxInstructions.cpp - Which instructions a candidate may use -------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxInstructions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;
using llvm::StringRef;

/// By the first part of the opcode, sorted. What is not here is refused: calls,
/// prefetches and cache policies, clocks (they are registers), sleeping,
/// textures, stacks, launches, multi-GPU and tensor-memory instructions.
static constexpr llvm::StringLiteral allowed[] = {
    "abs",        "activemask", "add",      "addc",
    "and",        "atom",       "bar",      "barrier",
    "bfe",        "bfi",        "bfind",    "bmsk",
    "bra",        "brev",       "brx",      "clz",
    "cnot",       "copysign",   "cos",      "cp",
    "cvt",        "cvta",       "div",      "dp2a",
    "dp4a",       "elect",      "ex2",      "exit",
    "fence",      "fma",        "fns",      "griddepcontrol",
    "isspacep",   "ld",         "ldmatrix", "lg2",
    "lop3",       "mad",        "mad24",    "madc",
    "match",      "max",        "mbarrier", "membar",
    "min",        "mma",        "mov",      "movmatrix",
    "mul",        "mul24",      "neg",      "not",
    "or",         "popc",       "prmt",     "rcp",
    "red",        "redux",      "rem",      "ret",
    "rsqrt",      "sad",        "selp",     "set",
    "setmaxnreg", "setp",       "shf",      "shfl",
    "shl",        "shr",        "sin",      "slct",
    "sqrt",       "st",         "stmatrix", "sub",
    "subc",       "szext",      "tanh",     "testp",
    "trap",       "vote",       "wgmma",    "wmma",
    "xor",
};

namespace {
struct Refusal {
  llvm::StringLiteral modifier; ///< Any part of the opcode that starts so.
  llvm::StringLiteral reason;
};
} // namespace

static constexpr Refusal refusedModifiers[] = {
    {"L2::evict_last", "keeps lines in L2 between launches"},
    {"L2::evict_unchanged", "keeps lines in L2 between launches"},
    {"L1::evict_last", "keeps lines in L1"},
    {"L2::cache_hint", "sets a cache policy"},
    {"prefetch", "fills caches ahead of a launch that is timed"},
    {"mmio", "touches memory that is no tensor"},
    {"multimem", "reaches other GPUs"},
    {"tensormap", "changes tensor maps"},
    {"tensor", "needs a tensor map, which the kernel ABI does not have"},
    {"unified", "calls out"},
};

bool sparseditto::isAllowedSpecialRegister(StringRef name) {
  auto [base, axis] = name.split('.');
  if (llvm::is_contained({"x", "y", "z"}, axis))
    return llvm::is_contained({"tid", "ntid", "ctaid", "nctaid"}, base);
  return llvm::is_contained({"laneid", "lanemask_eq", "lanemask_lt",
                             "lanemask_le", "lanemask_gt", "lanemask_ge",
                             "lanemask.eq", "lanemask.lt", "lanemask.le",
                             "lanemask.gt", "lanemask.ge", "warpsize",
                             "dynamic_smem_size", "total_smem_size"},
                            name);
}

/// "[4096]" and "[0x7f00+8]": an address that is no register, parameter or
/// variable.
static bool isNumericAddress(llvm::ArrayRef<PtxToken> operands, size_t i) {
  return operands[i].text == "[" && i + 1 < operands.size() &&
         llvm::isDigit(operands[i + 1].text.front());
}

llvm::Error sparseditto::checkInstruction(const PtxInstruction &instruction,
                                          const PtxRegisters &registers) {
  StringRef opcode = instruction.opcode.text;
  const unsigned line = instruction.opcode.line;
  llvm::SmallVector<StringRef, 8> parts;
  opcode.split(parts, '.');
  if (!llvm::is_contained(allowed, parts[0]))
    return ptxError(line, "instruction '" + opcode +
                              "' is not one that a candidate may use");
  for (StringRef part : llvm::drop_begin(parts))
    for (const Refusal &refusal : refusedModifiers)
      if (part.starts_with(refusal.modifier))
        return ptxError(line, "'" + opcode + "' " + refusal.reason);
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const PtxToken &token = instruction.operands[i];
    if (isNumericAddress(instruction.operands, i))
      return ptxError(token.line, "'" + opcode + "' uses the number " +
                                      instruction.operands[i + 1].text +
                                      " as an address");
    if (token.text.size() < 2 || token.text.front() != '%' ||
        registers.contains(token.text) ||
        isAllowedSpecialRegister(token.text.drop_front()))
      continue;
    return ptxError(token.line, "special register '" + token.text +
                                    "' is not one that a candidate may read");
  }
  return llvm::Error::success();
}

llvm::Error sparseditto::checkBody(
    llvm::ArrayRef<PtxToken> tokens, size_t &end,
    llvm::function_ref<llvm::Error(llvm::ArrayRef<PtxToken>)> declaration) {
  PtxRegisters registers;
  unsigned depth = 1;
  size_t i = 0;
  while (depth != 0) {
    if (i == tokens.size())
      return ptxError(tokens.empty() ? 1 : tokens.back().line,
                      "a brace is not closed");
    StringRef first = tokens[i].text;
    if (first == "{" || first == "}") {
      depth = first == "{" ? depth + 1 : depth - 1;
      ++i;
      continue;
    }
    if (first == ";") {
      ++i;
      continue;
    }
    if (i + 1 < tokens.size() && tokens[i].isWord() &&
        tokens[i + 1].text == ":") {
      i += 2;
      continue;
    }
    size_t begin = i;
    while (i < tokens.size() && tokens[i].text != ";")
      ++i;
    if (i == tokens.size())
      return ptxError(tokens[begin].line, "a statement is not ended");
    llvm::ArrayRef<PtxToken> statement = tokens.slice(begin, i - begin);
    ++i;
    if (first == ".reg") {
      registers.declare(statement.drop_front());
      continue;
    }
    if (first.front() == '.') {
      if (llvm::Error error = declaration(statement))
        return error;
      continue;
    }
    if (first == "@") {
      bool negated = statement.size() > 1 && statement[1].text == "!";
      size_t guard = negated ? 3 : 2;
      if (statement.size() <= guard)
        return ptxError(tokens[begin].line, "a guard guards nothing");
      statement = statement.drop_front(guard);
    }
    if (!statement.front().isWord())
      return ptxError(statement.front().line, "expected an instruction, got '" +
                                                  statement.front().text + "'");
    if (llvm::Error error = checkInstruction(
            {statement.front(), statement.drop_front()}, registers))
      return error;
  }
  end = i;
  return llvm::Error::success();
}

llvm::Error sparseditto::checkInlinePtx(StringRef text) {
  // "$0" is an operand of LLVM's, "$rw0" one of MLIR's. "$(a$|b$)" and others
  // are expanded after we have looked.
  for (size_t at = text.find('$'); at != StringRef::npos;
       at = text.find('$', at + 1))
    if (StringRef rest = text.drop_front(at + 1);
        rest.empty() || (!llvm::isDigit(rest.front()) && rest.front() != 'r'))
      return ptxError(1, "inline assembly with a '$' that is no operand");
  // One scope more than written, so that a text needs no braces.
  std::string whole = "{" + text.str() + "\n;}";
  llvm::Expected<std::vector<PtxToken>> tokens = tokenizePtx(whole);
  if (!tokens)
    return tokens.takeError();
  size_t end = 0;
  llvm::ArrayRef<PtxToken> body(*tokens);
  if (llvm::Error error = checkBody(
          body.drop_front(), end, [](llvm::ArrayRef<PtxToken> statement) {
            return ptxError(statement.front().line,
                            "inline assembly may not declare '" +
                                statement.front().text + "'");
          }))
    return error;
  if (end + 1 != tokens->size())
    return ptxError((*tokens)[end].line, "inline assembly closes a brace that "
                                         "it did not open");
  return llvm::Error::success();
}
