//===- PtxText.cpp - PTX text in pieces -----------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxText.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;
using llvm::StringRef;

static bool isWordCharacter(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
}

bool PtxToken::isWord() const {
  return isWordCharacter(text.front()) || text.front() == '"';
}

llvm::Error sparseditto::ptxError(unsigned line, const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "PTX line " + llvm::Twine(line) + ": " +
                                     printableLine(text.str()));
}

llvm::Expected<std::vector<PtxToken>> sparseditto::tokenizePtx(StringRef text) {
  std::vector<PtxToken> tokens;
  unsigned line = 1;
  size_t i = 0;
  // Ends a comment or string that starts at i; false if it is open.
  auto skipTo = [&](StringRef end, size_t from) {
    size_t at = text.find(end, from);
    if (at == StringRef::npos)
      return false;
    line += unsigned(text.slice(i, at).count('\n'));
    i = at + end.size();
    return true;
  };
  while (i < text.size()) {
    char c = text[i];
    StringRef rest = text.drop_front(i);
    if (c == '\n') {
      ++line;
      ++i;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else if (rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (rest.starts_with("/*")) {
      if (!skipTo("*/", i + 2))
        return ptxError(line, "a comment is not closed");
    } else if (c == '"') {
      size_t begin = i;
      unsigned at = line;
      if (!skipTo("\"", i + 1))
        return ptxError(line, "a string is not closed");
      tokens.push_back({text.slice(begin, i), at});
    } else if (isWordCharacter(c)) {
      size_t begin = i;
      // "L1::no_allocate" is part of an opcode, the colon of a label is not.
      while (i < text.size() &&
             (isWordCharacter(text[i]) || (text.substr(i, 2) == "::" && ++i)))
        ++i;
      tokens.push_back({text.slice(begin, i), line});
    } else if (llvm::isPrint(c)) {
      tokens.push_back({text.substr(i, 1), line});
      ++i;
    } else {
      return ptxError(line, "byte 0x" + llvm::utohexstr(uint8_t(c), true) +
                                " is no text");
    }
  }
  return tokens;
}

void PtxRegisters::declare(llvm::ArrayRef<PtxToken> tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    StringRef text = tokens[i].text;
    if (!tokens[i].isWord() || text.front() == '.')
      continue;
    if (i + 3 < tokens.size() && tokens[i + 1].text == "<") {
      prefixes.insert(text);
      i += 3;
    } else {
      names.insert(text);
    }
  }
}

bool PtxRegisters::contains(StringRef name) const {
  // Vectors are taken apart with ".x" to ".w" or ".r" to ".a".
  if (size_t dot = name.rfind('.'); dot != StringRef::npos && dot > 0)
    name = name.take_front(dot);
  return names.contains(name) || prefixes.contains(name.rtrim("0123456789"));
}
