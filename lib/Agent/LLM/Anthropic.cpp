//===- Anthropic.cpp - The Messages API -----------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dialect.h"
#include "Fail.h"
#include "Schema.h"

using namespace sparseditto;
using namespace sparseditto::chat;

static OrderedJson textBlock(const std::string &text) {
  OrderedJson block = {{"type", "text"}};
  block["text"] = text;
  return block;
}

/// The content of one message; empty if it has none.
static OrderedJson blocks(const ChatMessage &message) {
  if (!message.providerBlocks.empty()) {
    // As it came: thinking blocks are signed.
    llvm::Expected<OrderedJson> kept = parseOrderedJson(message.providerBlocks);
    if (kept && kept->is_array())
      return std::move(*kept);
    llvm::consumeError(kept.takeError());
  }
  OrderedJson result = OrderedJson::array();
  if (message.role == ChatRole::Tool) {
    OrderedJson block = {{"type", "tool_result"}};
    block["tool_use_id"] = message.toolCallId;
    block["content"] = message.text;
    result.push_back(std::move(block));
    return result;
  }
  // An empty text block is an error.
  if (!llvm::StringRef(message.text).trim().empty())
    result.push_back(textBlock(message.text));
  for (const ToolCall &call : message.toolCalls) {
    llvm::Expected<OrderedJson> input = parseOrderedJson(call.arguments);
    if (!input) {
      llvm::consumeError(input.takeError());
      input = OrderedJson::object();
    }
    OrderedJson block = {{"type", "tool_use"}};
    block["id"] = call.id;
    block["name"] = call.name;
    block["input"] =
        input->is_object() ? std::move(*input) : OrderedJson::object();
    result.push_back(std::move(block));
  }
  return result;
}

static StopReason stopReason(llvm::StringRef reason) {
  if (reason == "end_turn" || reason == "stop_sequence" || reason.empty())
    return StopReason::End;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded")
    return StopReason::Length;
  if (reason == "tool_use")
    return StopReason::ToolUse;
  if (reason == "refusal")
    return StopReason::Refusal;
  return StopReason::Other;
}

namespace {
class AnthropicDialect : public Dialect {
public:
  llvm::StringRef name() const override { return "anthropic"; }

  Url target(Url endpoint) const override {
    llvm::StringRef path = llvm::StringRef(endpoint.path).rtrim('/');
    if (path.empty())
      endpoint.path = "/v1/messages";
    else if (!path.ends_with("/messages"))
      endpoint.path = (path + "/messages").str();
    return endpoint;
  }

  std::string keyHeader(const std::string &key) const override {
    return "x-api-key: " + key;
  }

  std::vector<std::string> headers() const override {
    return {"anthropic-version: 2023-06-01"};
  }

  OrderedJson body(const Prepared &prepared, const Learned &learned,
                   const std::string &model, int64_t cap) const override {
    const ChatRequest &request = prepared.request;
    OrderedJson result = {{"model", model}};
    result[learned.capName] = cap;
    std::string system;
    OrderedJson messages = OrderedJson::array();
    for (const ChatMessage &message : request.messages) {
      if (message.role == ChatRole::System) {
        system += (system.empty() ? "" : "\n\n") + message.text;
        continue;
      }
      const char *role =
          message.role == ChatRole::Assistant ? "assistant" : "user";
      OrderedJson content = blocks(message);
      if (content.empty())
        continue;
      // Roles alternate: results of several calls are one message.
      if (!messages.empty() && messages.back()["role"] == role) {
        for (OrderedJson &block : content)
          messages.back()["content"].push_back(std::move(block));
        continue;
      }
      OrderedJson item = {{"role", role}};
      item["content"] = std::move(content);
      messages.push_back(std::move(item));
    }
    if (!system.empty())
      result["system"] = std::move(system);
    result["messages"] = std::move(messages);
    if (request.temperature)
      result["temperature"] = *request.temperature;
    if (request.response && prepared.structured == StructuredMode::JSONSchema) {
      OrderedJson schema =
          llvm::cantFail(parseOrderedJson(request.response->schema));
      OrderedJson format = {{"type", "json_schema"}};
      format["schema"] = std::move(*strictSchema(schema));
      OrderedJson config = OrderedJson::object();
      config["format"] = std::move(format);
      result["output_config"] = std::move(config);
    }
    if (request.tools.empty())
      return result;
    OrderedJson tools = OrderedJson::array();
    for (const ToolDeclaration &tool : request.tools) {
      OrderedJson item = {{"name", tool.name}};
      item["description"] = tool.description;
      item["input_schema"] = llvm::cantFail(parseOrderedJson(tool.schema));
      tools.push_back(std::move(item));
    }
    result["tools"] = std::move(tools);
    return result;
  }

  llvm::Expected<ChatReply> read(const Json &body) const override {
    const Json *content = find(body, "content");
    if (!content || !content->is_array())
      return fail(ChatErrorKind::Malformed, "the response has no \"content\"");
    ChatReply reply;
    reply.message.role = ChatRole::Assistant;
    bool plain = true;
    for (const Json &block : *content) {
      std::string type = stringAt(block, "type");
      plain &= type == "text";
      if (type == "text") {
        reply.message.text += stringAt(block, "text");
      } else if (type == "thinking") {
        reply.reasoning += stringAt(block, "thinking");
      } else if (type == "tool_use") {
        // The result goes back under this id, beside the block as it came.
        if (stringAt(block, "id").empty())
          return fail(ChatErrorKind::Malformed,
                      "a tool call of the response has no \"id\"");
        const Json *input = find(block, "input");
        reply.message.toolCalls.push_back({stringAt(block, "id"),
                                           stringAt(block, "name"),
                                           input ? asText(*input) : "{}"});
      }
    }
    if (!plain)
      reply.message.providerBlocks = dump(*content);
    reply.stop = stopReason(stringAt(body, "stop_reason"));
    if (const Json *usage = find(body, "usage")) {
      reply.usage.cachedInput = countAt(*usage, "cache_read_input_tokens");
      reply.usage.cacheWrite = countAt(*usage, "cache_creation_input_tokens");
      reply.usage.input = countAt(*usage, "input_tokens") +
                          reply.usage.cachedInput + reply.usage.cacheWrite;
      reply.usage.output = countAt(*usage, "output_tokens");
    }
    reply.model = stringAt(body, "model");
    return reply;
  }
};
} // namespace

std::unique_ptr<Dialect> chat::createAnthropicDialect() {
  return std::make_unique<AnthropicDialect>();
}
