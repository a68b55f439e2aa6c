//===- FileProtocol.cpp - Requests and replies as files -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileProtocol.h"
#include "Fail.h"
#include "llvm/ADT/STLExtras.h"

using namespace sparseditto;
using namespace sparseditto::chat;

/// JSON text as JSON; a string where it is not.
static OrderedJson parsed(const std::string &text) {
  llvm::Expected<OrderedJson> value = parseOrderedJson(text);
  if (value)
    return std::move(*value);
  llvm::consumeError(value.takeError());
  return OrderedJson(text);
}

std::string chat::requestText(const ChatRequest &request,
                              const std::string &model) {
  OrderedJson result = {{"sparseditto_request", 1}};
  if (!model.empty())
    result["model"] = model;
  OrderedJson messages = OrderedJson::array();
  for (const ChatMessage &message : request.messages) {
    OrderedJson item = {{"role", sparseditto::name(message.role).str()}};
    item["text"] = message.text;
    if (!message.toolCallId.empty())
      item["tool_call_id"] = message.toolCallId;
    for (const ToolCall &call : message.toolCalls) {
      OrderedJson entry = {{"id", call.id}};
      entry["name"] = call.name;
      entry["arguments"] = parsed(call.arguments);
      item["tool_calls"].push_back(std::move(entry));
    }
    messages.push_back(std::move(item));
  }
  result["messages"] = std::move(messages);
  for (const ToolDeclaration &tool : request.tools) {
    OrderedJson item = {{"name", tool.name}};
    item["description"] = tool.description;
    item["schema"] = parsed(tool.schema);
    result["tools"].push_back(std::move(item));
  }
  if (request.response) {
    OrderedJson response = {{"name", request.response->name}};
    response["schema"] = parsed(request.response->schema);
    result["response"] = std::move(response);
  }
  result["max_output_tokens"] = request.maxOutputTokens;
  if (request.temperature)
    result["temperature"] = *request.temperature;
  if (request.seed)
    result["seed"] = *request.seed;
  return result.dump(1, ' ', false, OrderedJson::error_handler_t::replace) +
         "\n";
}

static constexpr llvm::StringLiteral envelopeKeys[] = {
    "text", "tool_calls", "reasoning", "stop", "usage", "model", "error"};

static bool isEnvelope(const Json &value) {
  if (!value.is_object() ||
      (!find(value, "text") && !find(value, "tool_calls") &&
       !find(value, "error")))
    return false;
  for (const auto &item : value.items())
    if (!llvm::is_contained(envelopeKeys, item.key()))
      return false;
  return true;
}

static StopReason stopReason(llvm::StringRef word) {
  for (StopReason reason :
       {StopReason::End, StopReason::Length, StopReason::ToolUse,
        StopReason::Refusal, StopReason::ContentFilter})
    if (word == sparseditto::name(reason))
      return reason;
  return word.empty() ? StopReason::End : StopReason::Other;
}

llvm::Expected<ChatReply> chat::readReply(llvm::StringRef text) {
  ChatReply reply;
  reply.message.role = ChatRole::Assistant;
  text = text.trim();
  llvm::Expected<Json> value = parseJson(text);
  bool envelope = value && isEnvelope(*value);
  if (!value)
    llvm::consumeError(value.takeError());
  if (!envelope) {
    if (text.empty())
      return fail(ChatErrorKind::Malformed, "the reply is empty");
    reply.message.text = text.str();
    return reply;
  }
  if (const Json *error = find(*value, "error")) {
    std::string why = oneLine(asText(*error));
    return fail(ChatErrorKind::Server, "{0}",
                why.empty() ? "an error without a text" : why);
  }
  // A string, or the answer's own object.
  if (const Json *content = find(*value, "text"))
    reply.message.text = asText(*content);
  if (const Json *calls = find(*value, "tool_calls")) {
    if (!calls->is_array())
      return fail(ChatErrorKind::Malformed,
                  "the reply's \"tool_calls\" is not an array");
    for (const Json &item : *calls) {
      ToolCall call = {stringAt(item, "id"), stringAt(item, "name"), "{}"};
      if (call.name.empty())
        return fail(ChatErrorKind::Malformed,
                    "a tool call of the reply has no \"name\"");
      if (call.id.empty())
        call.id = "call-" + std::to_string(reply.message.toolCalls.size());
      if (const Json *arguments = find(item, "arguments"))
        call.arguments = asText(*arguments);
      reply.message.toolCalls.push_back(std::move(call));
    }
  }
  reply.reasoning = stringAt(*value, "reasoning");
  reply.stop = stopReason(stringAt(*value, "stop"));
  if (!reply.message.toolCalls.empty())
    reply.stop = StopReason::ToolUse;
  reply.model = stringAt(*value, "model");
  if (const Json *usage = find(*value, "usage")) {
    reply.usage.input = countAt(*usage, "input");
    reply.usage.cachedInput = countAt(*usage, "cached_input");
    reply.usage.output = countAt(*usage, "output");
    reply.usage.reasoning = countAt(*usage, "reasoning");
  }
  return reply;
}

std::string chat::writtenText(const ChatReply &reply) {
  std::string text = reply.message.text + reply.reasoning;
  for (const ToolCall &call : reply.message.toolCalls)
    text += call.name + call.arguments;
  return text;
}
