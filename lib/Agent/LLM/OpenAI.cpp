//===- OpenAI.cpp - Chat completions --------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// OpenAI's chat completions as spoken by OpenAI, llama.cpp, vLLM, Ollama and
// many others, with the fields that only some of them have.
//
//===----------------------------------------------------------------------===//

#include "Dialect.h"
#include "Fail.h"
#include "Schema.h"

using namespace sparseditto;
using namespace sparseditto::chat;

Dialect::~Dialect() = default;

llvm::Expected<Json> chat::parseResponse(llvm::StringRef text) {
  text = text.ltrim();
  while (text.starts_with(":"))
    text = text.split('\n').second.ltrim();
  if (text.starts_with("data:") || text.starts_with("event:"))
    return fail(ChatErrorKind::Malformed,
                "the server sends a stream though none was asked for");
  llvm::Expected<Json> body = parseJson(text);
  if (!body)
    return fail(ChatErrorKind::Malformed, "the response is not JSON: {0}",
                llvm::toString(body.takeError()));
  if (!body->is_object())
    return fail(ChatErrorKind::Malformed, "the response is not a JSON object");
  return body;
}

static OrderedJson message(const ChatMessage &source) {
  OrderedJson result = {{"role", sparseditto::name(source.role).str()}};
  result["content"] = source.text;
  if (source.role == ChatRole::Tool)
    result["tool_call_id"] = source.toolCallId;
  if (source.toolCalls.empty())
    return result;
  if (source.text.empty())
    result["content"] = nullptr;
  OrderedJson calls = OrderedJson::array();
  for (const ToolCall &call : source.toolCalls) {
    OrderedJson function = {{"name", call.name}};
    function["arguments"] = call.arguments;
    OrderedJson item = {{"id", call.id}};
    item["type"] = "function";
    item["function"] = std::move(function);
    calls.push_back(std::move(item));
  }
  result["tool_calls"] = std::move(calls);
  return result;
}

/// A schema of ours, which parses: it was checked when the turn began.
static OrderedJson schemaOf(const std::string &text) {
  return llvm::cantFail(parseOrderedJson(text));
}

static OrderedJson responseFormat(const ResponseSchema &response,
                                  StructuredMode mode) {
  OrderedJson schema = schemaOf(response.schema);
  OrderedJson format = {{"type", "json_object"}};
  if (mode == StructuredMode::JSONObjectSchema)
    format["schema"] = std::move(schema);
  if (mode != StructuredMode::JSONSchema)
    return format;
  std::optional<OrderedJson> strict = strictSchema(schema);
  OrderedJson named = {{"name", response.name}};
  named["strict"] = strict.has_value();
  named["schema"] = strict ? std::move(*strict) : std::move(schema);
  format["type"] = "json_schema";
  format["json_schema"] = std::move(named);
  return format;
}

/// Content is a string, null, or a list of parts.
static std::string contentText(const Json &content) {
  if (!content.is_array())
    return content.is_null() ? "" : asText(content);
  std::string text;
  for (const Json &part : content)
    text += part.is_string() ? asText(part) : stringAt(part, "text");
  return text;
}

static std::vector<ToolCall> toolCalls(const Json &message) {
  std::vector<ToolCall> calls;
  const Json *list = find(message, "tool_calls");
  if (!list || !list->is_array())
    return calls;
  for (const Json &item : *list) {
    const Json *function = find(item, "function");
    if (!function)
      continue;
    ToolCall call = {stringAt(item, "id"), stringAt(*function, "name"), "{}"};
    if (call.id.empty())
      call.id = "call-" + std::to_string(calls.size());
    // A string by the standard, an object by some.
    if (const Json *arguments = find(*function, "arguments"))
      call.arguments = asText(*arguments);
    calls.push_back(std::move(call));
  }
  return calls;
}

static StopReason stopReason(llvm::StringRef reason) {
  if (reason == "stop" || reason.empty())
    return StopReason::End;
  if (reason == "length")
    return StopReason::Length;
  if (reason == "tool_calls" || reason == "function_call")
    return StopReason::ToolUse;
  if (reason == "content_filter")
    return StopReason::ContentFilter;
  return StopReason::Other;
}

static ChatUsage usage(const Json &body) {
  ChatUsage result;
  const Json *source = find(body, "usage");
  if (!source)
    return result;
  result.input = countAt(*source, "prompt_tokens");
  result.output = countAt(*source, "completion_tokens");
  result.cachedInput = countAt(*source, "prompt_cache_hit_tokens");
  if (const Json *details = find(*source, "prompt_tokens_details"))
    result.cachedInput = countAt(*details, "cached_tokens");
  if (const Json *details = find(*source, "completion_tokens_details"))
    result.reasoning = countAt(*details, "reasoning_tokens");
  return result;
}

namespace {
class OpenAIDialect : public Dialect {
public:
  llvm::StringRef name() const override { return "openai"; }

  Url target(Url endpoint) const override {
    llvm::StringRef path = llvm::StringRef(endpoint.path).rtrim('/');
    if (path.empty())
      endpoint.path = "/v1/chat/completions";
    else if (!path.ends_with("/chat/completions"))
      endpoint.path = (path + "/chat/completions").str();
    return endpoint;
  }

  std::string keyHeader(const std::string &key) const override {
    return "Authorization: Bearer " + key;
  }

  OrderedJson body(const Prepared &prepared, const Learned &learned,
                   const std::string &model, int64_t cap) const override {
    const ChatRequest &request = prepared.request;
    OrderedJson result = {{"model", model}};
    OrderedJson messages = OrderedJson::array();
    for (const ChatMessage &source : request.messages)
      messages.push_back(message(source));
    result["messages"] = std::move(messages);
    result["stream"] = false;
    result[learned.capName] = cap;
    if (request.temperature)
      result["temperature"] = *request.temperature;
    if (request.seed)
      result["seed"] = *request.seed;
    if (request.response)
      result["response_format"] =
          responseFormat(*request.response, prepared.structured);
    if (request.tools.empty())
      return result;
    OrderedJson tools = OrderedJson::array();
    for (const ToolDeclaration &tool : request.tools) {
      OrderedJson function = {{"name", tool.name}};
      function["description"] = tool.description;
      function["parameters"] = schemaOf(tool.schema);
      OrderedJson item = {{"type", "function"}};
      item["function"] = std::move(function);
      tools.push_back(std::move(item));
    }
    result["tools"] = std::move(tools);
    return result;
  }

  llvm::Expected<ChatReply> read(const Json &body) const override {
    const Json *choices = find(body, "choices");
    if (!choices || !choices->is_array() || choices->empty())
      return fail(ChatErrorKind::Malformed, "the response has no \"choices\"");
    const Json &choice = choices->front();
    const Json *source = find(choice, "message");
    if (!source || !source->is_object())
      return fail(ChatErrorKind::Malformed,
                  "the response's choice has no \"message\"");
    ChatReply reply;
    reply.message.role = ChatRole::Assistant;
    if (const Json *content = find(*source, "content"))
      reply.message.text = contentText(*content);
    for (const char *key : {"reasoning_content", "reasoning", "thinking"})
      if (const Json *reasoning = find(*source, key)) {
        reply.reasoning = contentText(*reasoning);
        break;
      }
    reply.message.toolCalls = toolCalls(*source);
    reply.stop = stopReason(stringAt(choice, "finish_reason"));
    std::string refusal = stringAt(*source, "refusal");
    if (!refusal.empty()) {
      reply.stop = StopReason::Refusal;
      if (reply.message.text.empty())
        reply.message.text = std::move(refusal);
    }
    // Some say "stop" though they call.
    if (reply.stop == StopReason::End && !reply.message.toolCalls.empty())
      reply.stop = StopReason::ToolUse;
    reply.usage = usage(body);
    reply.model = stringAt(body, "model");
    return reply;
  }
};
} // namespace

std::unique_ptr<Dialect> chat::createOpenAIDialect() {
  return std::make_unique<OpenAIDialect>();
}
