//===- PtxStatement.cpp - Statements of inline PTX ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxStatement.h"
#include "llvm/ADT/SmallVector.h"

using namespace sparseditto::emulator;
using llvm::StringRef;

/// Splits at commas outside braces and brackets.
static std::vector<StringRef> splitOperands(StringRef text) {
  std::vector<StringRef> operands;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    if (c == '{' || c == '[')
      ++depth;
    else if (c == '}' || c == ']')
      --depth;
    else if (c == ',' && depth == 0) {
      StringRef operand = text.slice(begin, i).trim();
      if (!operand.empty())
        operands.push_back(operand);
      begin = i + 1;
    }
  }
  return operands;
}

std::optional<std::vector<PtxStatement>>
sparseditto::emulator::parsePtx(StringRef text) {
  text = text.trim();
  // "{ ...; }" is a scope; "{$0, $1}" never starts a statement.
  if (text.starts_with("{") && text.ends_with("}"))
    text = text.drop_front().drop_back().trim();
  llvm::SmallVector<StringRef> lines;
  text.split(lines, ';');
  std::vector<PtxStatement> statements;
  for (StringRef line : lines) {
    line = line.trim();
    if (line.empty())
      continue;
    PtxStatement statement;
    if (line.consume_front("@")) {
      statement.negated = line.consume_front("!");
      size_t end = line.find_first_of(" \t\n");
      if (end == StringRef::npos)
        return std::nullopt;
      statement.guard = line.take_front(end);
      line = line.drop_front(end).trim();
    }
    size_t end = std::min(line.find_first_of(" \t\n"), line.size());
    StringRef opcode = line.take_front(end);
    if (line.starts_with(".reg")) {
      statement.parts.push_back(".reg");
      statements.push_back(statement);
      continue;
    }
    // Labels end in a colon; "L1::no_allocate" does not.
    if (opcode.empty() || opcode.ends_with(":") || opcode.contains('{'))
      return std::nullopt;
    llvm::SmallVector<StringRef> parts;
    opcode.split(parts, '.');
    statement.parts.assign(parts.begin(), parts.end());
    statement.operands = splitOperands(line.drop_front(end));
    statements.push_back(std::move(statement));
  }
  return statements;
}

std::optional<PtxStatement>
sparseditto::emulator::parseWaitLoop(StringRef text) {
  text = text.trim();
  if (!text.consume_front("{") || !text.consume_back("}"))
    return std::nullopt;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, ';');
  std::optional<PtxStatement> wait;
  StringRef start, end;             // Labels before and after.
  StringRef leaves, repeats, guard; // Targets of the branches.
  for (StringRef line : lines) {
    line = line.trim();
    StringRef label;
    auto [first, rest] = line.split(':');
    if (!first.contains_insensitive("mbarrier") && !first.contains(' ') &&
        line.contains(':')) {
      label = first.trim();
      line = rest.trim();
      (wait ? end : start) = label;
    }
    if (line.empty() || line.starts_with(".reg"))
      continue;
    if (line.starts_with("mbarrier.try_wait.")) {
      std::optional<std::vector<PtxStatement>> parsed = parsePtx(line);
      if (wait || !parsed || parsed->size() != 1)
        return std::nullopt;
      wait = parsed->front();
      continue;
    }
    bool guarded = line.consume_front("@");
    if (guarded) {
      std::tie(guard, line) = line.split(' ');
      line = line.trim();
    }
    if (!line.consume_front("bra"))
      return std::nullopt;
    line.consume_front(".uni");
    (guarded ? leaves : repeats) = line.trim();
  }
  if (!wait || wait->operands.empty() || wait->operands[0] != guard ||
      leaves != end || repeats != start || start.empty() || end.empty())
    return std::nullopt;
  return wait;
}

std::vector<StringRef> sparseditto::emulator::splitVector(StringRef operand) {
  if (operand.consume_front("{") && operand.consume_back("}"))
    return splitOperands(operand);
  return {operand};
}
