//===- Json.h - Checked use of nlohmann/json --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exceptions are off, so nlohmann/json would abort where it throws: text is
// parsed, read and written through these functions only.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_JSON_H
#define SPARSEDITTO_LIB_AGENT_LLM_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <nlohmann/json.hpp>

namespace sparseditto::chat {

/// What others write. Sorted keys: insertion stays fast with a million of them.
using Json = nlohmann::json;
/// What we write: keys in the order given, which is the order models see.
using OrderedJson = nlohmann::ordered_json;

/// Deepest nesting that is accepted; later recursion is bounded by it.
inline constexpr int maxDepth = 64;

/// The error is one line with line and column.
llvm::Expected<Json> parseJson(llvm::StringRef text);
llvm::Expected<OrderedJson> parseOrderedJson(llvm::StringRef text);

/// Compact text. Bytes that are not UTF-8 become U+FFFD.
template <typename J> std::string dump(const J &value) {
  return value.dump(-1, ' ', false, J::error_handler_t::replace);
}

/// The member, or null if `value` is no object or has none or a null there.
template <typename J, typename Key>
const J *find(const J &value, const Key &key) {
  if (!value.is_object())
    return nullptr;
  auto it = value.find(key);
  return it == value.end() || it->is_null() ? nullptr : &*it;
}

/// The string at `key`, empty if there is none.
std::string stringAt(const Json &value, const char *key);
/// The non-negative integer at `key`, 0 if there is none.
int64_t countAt(const Json &value, const char *key);
/// As a string, whatever it is: strings as they are, else JSON.
std::string asText(const Json &value);

/// Printable text of one line, at most `limit` bytes.
std::string oneLine(llvm::StringRef text, size_t limit = 300);

/// Length of `text` cut to `limit` bytes between UTF-8 characters.
size_t cutLength(llvm::StringRef text, size_t limit);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_JSON_H
