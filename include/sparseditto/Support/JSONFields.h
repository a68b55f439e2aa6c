//===- JSONFields.h - Checked reading of JSON objects -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_JSONFIELDS_H
#define SPARSEDITTO_SUPPORT_JSONFIELDS_H

#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace sparseditto {

/// Reads typed fields of one object and remembers the first failure, so that a
/// reader is a list of fields.
class JSONFields {
public:
  JSONFields(const llvm::json::Value &value, llvm::StringRef description)
      : what(description.str()) {
    object = value.getAsObject();
    if (!object)
      error = what + " is not an object";
  }

  const llvm::json::Value *get(llvm::StringRef key) {
    if (!error.empty())
      return nullptr;
    const llvm::json::Value *value = object->get(key);
    if (!value)
      error = what + " has no \"" + key.str() + "\"";
    return value;
  }
  /// Null if there is none, which is fine.
  const llvm::json::Value *find(llvm::StringRef key) {
    return error.empty() ? object->get(key) : nullptr;
  }
  void string(llvm::StringRef key, std::string &out) {
    if (const llvm::json::Value *value = get(key)) {
      if (std::optional<llvm::StringRef> text = value->getAsString())
        out = text->str();
      else
        mismatch(key, "a string");
    }
  }
  template <typename T>
  void integer(llvm::StringRef key, int64_t min, int64_t max, T &out) {
    if (const llvm::json::Value *value = get(key)) {
      std::optional<int64_t> number = value->getAsInteger();
      if (number && *number >= min && *number <= max)
        out = T(*number);
      else
        mismatch(key, "an integer in [" + std::to_string(min) + ", " +
                          std::to_string(max) + "]");
    }
  }
  /// A finite number: JSON has no other, but 1e999 parses.
  void number(llvm::StringRef key, double &out) {
    if (const llvm::json::Value *value = get(key)) {
      std::optional<double> number = value->getAsNumber();
      if (number && std::isfinite(*number))
        out = *number;
      else
        mismatch(key, "a finite number");
    }
  }
  void boolean(llvm::StringRef key, bool &out) {
    if (const llvm::json::Value *value = get(key)) {
      if (std::optional<bool> flag = value->getAsBoolean())
        out = *flag;
      else
        mismatch(key, "true or false");
    }
  }
  /// An enumeration spelled as a string.
  template <typename T, typename Parse>
  void word(llvm::StringRef key, Parse parse, T &out) {
    std::string text;
    string(key, text);
    if (!error.empty())
      return;
    if (std::optional<T> value = parse(llvm::StringRef(text)))
      out = *value;
    else
      error = what + ": unknown " + key.str() + " '" + printable(text) + "'";
  }
  const llvm::json::Array *array(llvm::StringRef key, size_t min, size_t max) {
    const llvm::json::Value *value = get(key);
    if (!value)
      return nullptr;
    const llvm::json::Array *items = value->getAsArray();
    if (items && items->size() >= min && items->size() <= max)
      return items;
    mismatch(key, "an array of " + std::to_string(min) + " to " +
                      std::to_string(max) + " items");
    return nullptr;
  }
  /// A nested reader failed.
  void take(llvm::Error nested) {
    std::string text = llvm::toString(std::move(nested));
    if (error.empty() && !text.empty())
      error = what + ": " + text;
  }
  bool ok() const { return error.empty(); }
  llvm::Error finish() const {
    if (error.empty())
      return llvm::Error::success();
    return llvm::createStringError(llvm::inconvertibleErrorCode(), error);
  }

private:
  void mismatch(llvm::StringRef key, const std::string &wanted) {
    error = what + ": \"" + key.str() + "\" is not " + wanted;
  }

  std::string what;
  const llvm::json::Object *object = nullptr;
  std::string error;
};

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_JSONFIELDS_H
