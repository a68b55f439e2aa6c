//===- Actions.cpp - Tools and schemas as text ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Actions.h"
#include "ExtractJSON.h"
#include "Schema.h"
#include "llvm/ADT/STLExtras.h"

using namespace sparseditto;
using namespace sparseditto::chat;

static std::string toolsAsText(llvm::ArrayRef<ToolDeclaration> tools) {
  std::string text =
      "You can call the tools below. To call one, answer with one JSON object "
      "{\"action\": NAME, \"arguments\": {...}} and nothing else; its result "
      "is the next message.\n";
  for (const ToolDeclaration &tool : tools)
    text += "- " + tool.name + ": " + tool.description +
            "\n  arguments, as JSON Schema: " + tool.schema + "\n";
  return text;
}

static std::string callAsText(const ToolCall &call) {
  llvm::Expected<OrderedJson> arguments = parseOrderedJson(call.arguments);
  if (!arguments) {
    llvm::consumeError(arguments.takeError());
    arguments = OrderedJson(call.arguments);
  }
  OrderedJson action = {{"action", call.name}};
  action["arguments"] = std::move(*arguments);
  return dump(action);
}

/// Calls and results become what the model would have written and read.
static void actionsAsText(std::vector<ChatMessage> &messages) {
  std::map<std::string, std::string> names;
  for (ChatMessage &message : messages) {
    for (const ToolCall &call : message.toolCalls) {
      names[call.id] = call.name;
      if (!llvm::StringRef(message.text).contains("\"action\""))
        message.text += (message.text.empty() ? "" : "\n") + callAsText(call);
    }
    message.toolCalls.clear();
    message.providerBlocks.clear();
    if (message.role == ChatRole::Tool) {
      std::string &name = names[message.toolCallId];
      message.text = "Result of " + (name.empty() ? "the tool" : name) + ":\n" +
                     message.text;
      message.role = ChatRole::User;
      message.toolCallId.clear();
    }
  }
}

static void appendToSystem(std::vector<ChatMessage> &messages,
                           const std::string &text) {
  auto last = llvm::find_if(llvm::reverse(messages), [](const ChatMessage &m) {
    return m.role == ChatRole::System;
  });
  if (last == llvm::reverse(messages).end())
    messages.insert(messages.begin(), ChatMessage::system(text));
  else
    last->text += "\n\n" + text;
}

/// For templates that know no system role.
static void systemToUser(std::vector<ChatMessage> &messages) {
  std::string system;
  llvm::erase_if(messages, [&](const ChatMessage &message) {
    if (message.role != ChatRole::System)
      return false;
    system += message.text + "\n\n";
    return true;
  });
  if (system.empty())
    return;
  if (!messages.empty() && messages.front().role == ChatRole::User)
    messages.front().text = system + messages.front().text;
  else
    messages.insert(messages.begin(), ChatMessage::user(system));
}

Prepared chat::prepare(const ChatRequest &request, const Learned &learned) {
  Prepared prepared = {request, learned.structured};
  std::vector<ChatMessage> &messages = prepared.request.messages;
  if (learned.tools == ToolMode::JSONActions) {
    bool offered = !request.tools.empty();
    actionsAsText(messages);
    if (offered)
      appendToSystem(messages, toolsAsText(request.tools));
    prepared.request.tools.clear();
    // A server that enforces the schema would make an action impossible.
    if (offered && (prepared.structured == StructuredMode::JSONSchema ||
                    prepared.structured == StructuredMode::JSONObjectSchema))
      prepared.structured = StructuredMode::JSONObject;
  }
  // Anthropic takes the strict subset or nothing.
  if (request.response && learned.dialect == ChatDialect::Anthropic &&
      !strictSchema(llvm::cantFail(parseOrderedJson(request.response->schema))))
    prepared.structured = StructuredMode::Text;
  if (request.response) {
    if (prepared.structured == StructuredMode::Text ||
        prepared.structured == StructuredMode::JSONObject)
      appendToSystem(
          messages,
          "Your final answer is one JSON object and nothing else. It matches "
          "this JSON Schema:\n" +
              request.response->schema);
    if (prepared.structured == StructuredMode::Text)
      prepared.request.response.reset();
  }
  if (!learned.systemRole)
    systemToUser(messages);
  return prepared;
}

void chat::readActions(const ChatRequest &request, ChatReply &reply) {
  if (!reply.message.toolCalls.empty() || request.tools.empty())
    return;
  std::string error;
  for (const Json &object : findObjects(reply.message.text, error)) {
    std::string name = stringAt(object, "action");
    if (llvm::none_of(request.tools, [&](const ToolDeclaration &tool) {
          return tool.name == name;
        }))
      continue;
    Json arguments = Json::object();
    for (const char *key : {"arguments", "args", "parameters", "input"})
      if (const Json *found = find(object, key)) {
        arguments = *found;
        break;
      }
    // Unique within the conversation: the turn's number is.
    reply.message.toolCalls.push_back(
        {"action-" + std::to_string(request.messages.size()), name,
         asText(arguments)});
    reply.stop = StopReason::ToolUse;
    return;
  }
}

void chat::splitThinking(ChatReply &reply) {
  llvm::StringRef text = llvm::StringRef(reply.message.text).ltrim();
  if (!text.consume_front("<think>"))
    return;
  auto [thought, answer] = text.split("</think>");
  if (!reply.reasoning.empty())
    reply.reasoning += '\n';
  reply.reasoning += thought.trim();
  reply.message.text = answer.trim().str();
}
