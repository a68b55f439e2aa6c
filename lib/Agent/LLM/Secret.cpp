//===- Secret.cpp - A key that is never shown -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Secret.h"
#include "Json.h"

using namespace sparseditto::chat;

static constexpr llvm::StringLiteral redacted = "[redacted]";

Secret::Secret(std::string text) : key(std::move(text)) {
  std::string quoted = dump(Json(key));
  escaped = quoted.substr(1, quoted.size() - 2);
}

static void replaceAll(std::string &text, const std::string &what) {
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + redacted.size()))
    text.replace(at, what.size(), redacted.str());
}

/// What a key and its abbreviation consist of.
static bool isKeyCharacter(char c) {
  return llvm::StringRef("-_*.").contains(c) || (c >= '0' && c <= '9') ||
         (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Replaces words that begin as the key does and leave some of it out.
static void replaceAbbreviations(std::string &text, llvm::StringRef start) {
  for (size_t at = text.find(start.str()); at != std::string::npos;
       at = text.find(start.str(), at + 1)) {
    size_t end = at;
    while (end < text.size() && isKeyCharacter(text[end]))
      ++end;
    llvm::StringRef word(text.data() + at, end - at);
    if (word.contains("**") || word.contains("..")) {
      text.replace(at, word.size(), redacted.str());
      at += redacted.size() - 1;
    }
  }
}

std::string Secret::redact(llvm::StringRef text) const {
  std::string result = text.str();
  // A key of a few characters would be found everywhere and hides nothing.
  if (key.size() < 4)
    return result;
  replaceAll(result, key);
  if (escaped != key)
    replaceAll(result, escaped);
  replaceAbbreviations(result, llvm::StringRef(key).take_front(3));
  return result;
}
