//===- Json.cpp - Checked use of nlohmann/json ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "sparseditto/Support/Error.h"
#include <cmath>

using namespace sparseditto;
using namespace sparseditto::chat;

namespace {
/// Accepts or finds the first error; builds nothing.
struct Check : nlohmann::json_sax<Json> {
  std::string error;
  int depth = 0;

  bool enter() {
    if (++depth <= maxDepth)
      return true;
    error = "nested more than " + std::to_string(maxDepth) + " deep";
    return false;
  }
  bool leave() { return --depth, true; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool key(string_t &) override { return true; }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &exception) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    llvm::StringRef text = exception.what();
    error = oneLine(text.substr(text.find(']') + 1), 160);
    return false;
  }
};
} // namespace

template <typename J> static llvm::Expected<J> parseAs(llvm::StringRef text) {
  Check check;
  if (!J::sax_parse(text.begin(), text.end(), &check))
    return makeError("{0}", check.error.empty() ? "invalid JSON" : check.error);
  J value = J::parse(text.begin(), text.end(), nullptr,
                     /*allow_exceptions=*/false);
  if (value.is_discarded())
    return makeError("invalid JSON");
  return value;
}

llvm::Expected<Json> chat::parseJson(llvm::StringRef text) {
  return parseAs<Json>(text);
}

llvm::Expected<OrderedJson> chat::parseOrderedJson(llvm::StringRef text) {
  return parseAs<OrderedJson>(text);
}

std::string chat::stringAt(const Json &value, const char *key) {
  const Json *member = find(value, key);
  const std::string *text =
      member ? member->get_ptr<const std::string *>() : nullptr;
  return text ? *text : std::string();
}

int64_t chat::countAt(const Json &value, const char *key) {
  // No model has ever used more tokens; sums of a few stay in range.
  constexpr double most = 1e12;
  const Json *member = find(value, key);
  if (!member || !member->is_number())
    return 0;
  double number = member->get<double>();
  return number >= 0 && number <= most ? int64_t(number) : 0;
}

std::string chat::asText(const Json &value) {
  if (const std::string *text = value.get_ptr<const std::string *>())
    return *text;
  return dump(value);
}

size_t chat::cutLength(llvm::StringRef text, size_t limit) {
  if (text.size() <= limit)
    return text.size();
  // Continuation bytes are 10xxxxxx; a character has at most three of them.
  size_t cut = limit;
  while (cut > 0 && limit - cut < 4 && (uint8_t(text[cut]) & 0xc0) == 0x80)
    --cut;
  return cut;
}

std::string chat::oneLine(llvm::StringRef text, size_t limit) {
  std::string line;
  bool space = false;
  for (char c : text) {
    bool blank = uint8_t(c) <= ' ' || c == 0x7f;
    if (blank) {
      space = !line.empty();
      continue;
    }
    if (space)
      line += ' ';
    space = false;
    line += c;
    if (line.size() > limit)
      break;
  }
  if (line.size() > limit)
    line = line.substr(0, cutLength(line, limit)) + "...";
  return line;
}
