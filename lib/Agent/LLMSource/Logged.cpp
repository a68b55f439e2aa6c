//===- Logged.cpp - A provider whose turns are events ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Logged.h"
#include <algorithm>

using namespace sparseditto;
namespace json = llvm::json;

static json::Array callsOf(const std::vector<ToolCall> &calls) {
  json::Array result;
  for (const ToolCall &call : calls)
    result.push_back(
        json::Object{{"id", json::fixUTF8(call.id)},
                     {"name", json::fixUTF8(call.name)},
                     {"arguments", json::fixUTF8(call.arguments)}});
  return result;
}

static json::Array attemptsOf(const std::vector<ChatAttempt> &attempts) {
  json::Array result;
  for (const ChatAttempt &attempt : attempts)
    result.push_back(json::Object{{"status", attempt.status},
                                  {"outcome", json::fixUTF8(attempt.outcome)},
                                  {"seconds", attempt.seconds},
                                  {"wait_seconds", attempt.waitSeconds}});
  return result;
}

static json::Object usageOf(const ChatUsage &usage,
                            const std::optional<double> &cost) {
  json::Object object{{"input", usage.input},
                      {"cached_input", usage.cachedInput},
                      {"output", usage.output},
                      {"reasoning", usage.reasoning},
                      {"estimated", usage.estimated}};
  if (cost)
    object["money"] = *cost;
  return object;
}

void LoggedProvider::writeRequest(const ChatRequest &request) {
  // How many messages are those of the last request.
  size_t same = 0;
  while (same < written.size() && same < request.messages.size() &&
         written[same] == request.messages[same].text)
    ++same;
  const bool isRestart = same < written.size() || written.empty();
  if (isRestart)
    same = 0;
  written.resize(same);
  json::Array messages;
  for (size_t i = same; i < request.messages.size(); ++i) {
    const ChatMessage &message = request.messages[i];
    json::Object object{{"role", sparseditto::name(message.role)},
                        {"text", json::fixUTF8(message.text)}};
    if (!message.toolCalls.empty())
      object["tool_calls"] = callsOf(message.toolCalls);
    if (!message.toolCallId.empty())
      object["tool_call_id"] = json::fixUTF8(message.toolCallId);
    messages.push_back(std::move(object));
    written.push_back(message.text);
  }
  json::Object fields{{"source", "llm"},
                      {"provider", json::fixUTF8(provider.name())},
                      {"round", round},
                      {"n", n},
                      {"restart", isRestart},
                      {"messages", std::move(messages)},
                      {"max_output_tokens", request.maxOutputTokens}};
  if (isRestart) {
    json::Array tools;
    for (const ToolDeclaration &tool : request.tools)
      tools.push_back(json::Object{{"name", tool.name},
                                   {"description", tool.description},
                                   {"schema", tool.schema}});
    fields["tools"] = std::move(tools);
    if (request.response)
      fields["schema"] = request.response->schema;
  }
  sink->event("request", std::move(fields));
}

void LoggedProvider::writeReply(const ChatReply &reply) {
  json::Object fields{{"source", "llm"},
                      {"round", round},
                      {"n", n},
                      {"model", json::fixUTF8(reply.model)},
                      {"stop", sparseditto::name(reply.stop)},
                      {"text", json::fixUTF8(reply.message.text)},
                      {"usage", usageOf(reply.usage, reply.cost)},
                      {"attempts", attemptsOf(reply.attempts)},
                      {"seconds", reply.seconds}};
  if (!reply.reasoning.empty())
    fields["reasoning"] = json::fixUTF8(reply.reasoning);
  if (!reply.message.toolCalls.empty())
    fields["tool_calls"] = callsOf(reply.message.toolCalls);
  sink->event("reply", std::move(fields));
}

llvm::Expected<ChatReply> LoggedProvider::complete(const ChatRequest &request,
                                                   const ChatControl &control) {
  if (!sink)
    return provider.complete(request, control);
  writeRequest(request);
  llvm::Expected<ChatReply> reply = provider.complete(request, control);
  if (reply) {
    writeReply(*reply);
    return reply;
  }
  llvm::Error error = llvm::handleErrors(
      reply.takeError(), [&](std::unique_ptr<ChatError> failed) -> llvm::Error {
        sink->event(
            "reply",
            json::Object{{"source", "llm"},
                         {"round", round},
                         {"n", n},
                         {"error", sparseditto::name(failed->kind)},
                         {"message", json::fixUTF8(failed->message)},
                         {"usage", usageOf(failed->usage, failed->cost)},
                         {"attempts", attemptsOf(failed->attempts)}});
        return llvm::Error(std::move(failed));
      });
  return error;
}
