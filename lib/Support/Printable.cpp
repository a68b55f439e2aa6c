//===- Printable.cpp - Text from outside in messages ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

std::string sparseditto::printable(llvm::StringRef text, size_t limit) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printEscapedString(text.take_front(limit), os);
  if (text.size() > limit)
    os << "...";
  return result;
}

std::string sparseditto::printableLine(llvm::StringRef text, size_t limit) {
  std::string line = text.take_front(limit).str();
  for (char &c : line)
    if (!llvm::isPrint(c))
      c = ' ';
  return text.size() > limit ? line + "..." : line;
}
