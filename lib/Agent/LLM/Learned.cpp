//===- Learned.cpp - What a server turned out not to support --------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Learned.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;
using namespace sparseditto::chat;

/// A server that objects more often is not worth asking.
static constexpr size_t maxLessons = 16;

/// OpenAI's reasoning models take only the newer name.
static bool wantsCompletionCap(llvm::StringRef model) {
  model = model.rsplit('/').second.empty() ? model : model.rsplit('/').second;
  return model.starts_with("gpt-5") ||
         (model.size() > 1 && model[0] == 'o' && llvm::isDigit(model[1]));
}

Learned::Learned(const ProviderConfig &config, ChatDialect dialect)
    : dialect(dialect), structured(config.structured == StructuredMode::Auto
                                       ? StructuredMode::JSONSchema
                                       : config.structured),
      tools(config.tools == ToolMode::Auto ? ToolMode::Native : config.tools),
      capName(dialect == ChatDialect::OpenAI && wantsCompletionCap(config.model)
                  ? "max_completion_tokens"
                  : "max_tokens"),
      fixedStructured(config.structured != StructuredMode::Auto),
      fixedTools(config.tools != ToolMode::Auto) {}

static bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

/// `word` stands in `text` and is not part of a longer one.
static bool hasWord(llvm::StringRef text, llvm::StringRef word) {
  for (size_t at = text.find(word); at != llvm::StringRef::npos;
       at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isWordCharacter(text[at - 1])) &&
        (end == text.size() || !isWordCharacter(text[end])))
      return true;
  }
  return false;
}

/// The numbers in a text, largest first.
static std::vector<int64_t> numbers(llvm::StringRef text) {
  std::vector<int64_t> found;
  while (!text.empty()) {
    text = text.drop_until(llvm::isDigit);
    llvm::StringRef digits = text.take_while(llvm::isDigit);
    int64_t value;
    if (llvm::to_integer(digits, value, 10))
      found.push_back(value);
    text = text.drop_front(digits.size());
  }
  llvm::sort(found, std::greater<>());
  return found;
}

bool Learned::learnCap(llvm::StringRef message, const OrderedJson &sent) {
  std::string other =
      capName == "max_tokens" ? "max_completion_tokens" : "max_tokens";
  bool unsupported = message.contains_insensitive("unsupported") ||
                     message.contains_insensitive("not supported") ||
                     message.contains_insensitive("unrecognized") ||
                     message.contains_insensitive("not permitted");
  if (!capSwapped && dialect == ChatDialect::OpenAI &&
      (unsupported || message.contains("'" + other + "' instead"))) {
    lessons.push_back(capName + " is called " + other);
    capName = other;
    capSwapped = true;
    return true;
  }
  // "100000 > 8192, which is the maximum": the largest smaller number.
  const OrderedJson *now = find(sent, capName);
  int64_t cap = now && now->is_number() ? now->get<int64_t>() : 0;
  for (int64_t value : numbers(message))
    if (value < cap && value >= 256) {
      maxCap = value;
      lessons.push_back(capName + " is at most " + std::to_string(value));
      return true;
    }
  return false;
}

bool Learned::learnStructured() {
  if (fixedStructured || structured == StructuredMode::Text)
    return false;
  if (dialect == ChatDialect::Anthropic) {
    structured = StructuredMode::Text;
    lessons.push_back("output_config.format is not supported");
    return true;
  }
  structured = StructuredMode(uint8_t(structured) + 1);
  lessons.push_back(structured == StructuredMode::JSONObjectSchema
                        ? "response_format json_schema is not supported"
                    : structured == StructuredMode::JSONObject
                        ? "response_format json_object with a schema is not "
                          "supported"
                        : "response_format is not supported");
  return true;
}

bool Learned::learnTools() {
  if (fixedTools || tools == ToolMode::JSONActions)
    return false;
  tools = ToolMode::JSONActions;
  lessons.push_back("tools are not supported");
  return true;
}

bool Learned::learn(int status, const ServerError &error,
                    const OrderedJson &sent) {
  // "At most 4095", "at most 4094", ...
  if (lessons.size() >= maxLessons)
    return false;
  llvm::StringRef message = error.message;
  // A missing model or a crash is not about a parameter unless it says so.
  // llama-cpp-python reports what its schema refuses as a 500.
  bool suspicious = status == 400 || status == 422;
  bool possible = status == 404 || status == 500 || status == 501;
  bool saysSo = message.contains_insensitive("support") ||
                message.contains_insensitive("validation error") ||
                message.contains("--jinja");
  if (!suspicious && !(possible && saysSo))
    return false;
  if (error.kind == ChatErrorKind::OutOfMoney)
    return false;
  auto about = [&](llvm::StringRef parameter) {
    return error.parameter == parameter || hasWord(message, parameter);
  };
  if (sent.contains(capName) && about(capName) && learnCap(message, sent))
    return true;
  if (error.kind == ChatErrorKind::ContextTooLong)
    return false;
  if (sent.contains("tools") &&
      (about("tools") || about("tool_choice") || about("--jinja") ||
       message.contains_insensitive("tool use") ||
       message.contains_insensitive("function calling")))
    if (learnTools())
      return true;
  if ((sent.contains("response_format") || sent.contains("output_config")) &&
      (about("response_format") || about("json_schema") ||
       about("json_object") || about("output_config") ||
       about("output_format") || about("grammar") ||
       message.contains_insensitive("structured output")))
    if (learnStructured())
      return true;
  if (systemRole && message.contains_insensitive("system role")) {
    systemRole = false;
    lessons.push_back("the system role is not supported");
    return true;
  }
  for (const auto &item : sent.items()) {
    const std::string &key = item.key();
    if (key == "model" || key == "messages" || key == "system" ||
        key == "tools" || key == "response_format" || key == capName ||
        !about(key))
      continue;
    dropped.insert(key);
    lessons.push_back(key + " is not supported");
    return true;
  }
  return false;
}
