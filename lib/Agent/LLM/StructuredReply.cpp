//===- StructuredReply.cpp - JSON out of a model, checked -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/StructuredReply.h"
#include "ExtractJSON.h"
#include "Fail.h"
#include "Schema.h"

using namespace sparseditto;
using namespace sparseditto::chat;

/// The first object that matches; `error` says what is wrong with the likeliest
/// otherwise.
static std::optional<std::string>
answer(const Json &schema, const ChatReply &reply, std::string &error) {
  std::string first;
  for (const std::string *source : {&reply.message.text, &reply.reasoning}) {
    std::string why;
    for (Json &object : findObjects(*source, why)) {
      dropNulls(schema, object);
      why = validate(schema, object);
      if (why.empty())
        return dump(object);
      if (first.empty())
        first = why;
    }
    if (source == &reply.message.text && error.empty())
      error = why;
  }
  if (!first.empty())
    error = first;
  return std::nullopt;
}

/// Adds what earlier turns used.
static void addTo(ChatReply &reply, const ChatReply &earlier) {
  reply.usage += earlier.usage;
  if (reply.cost && earlier.cost)
    *reply.cost += *earlier.cost;
  reply.attempts.insert(reply.attempts.begin(), earlier.attempts.begin(),
                        earlier.attempts.end());
  reply.seconds += earlier.seconds;
}

static llvm::Error failWith(ChatErrorKind kind, std::string message,
                            const ChatReply &reply) {
  auto error = std::make_unique<ChatError>(kind, oneLine(message, 600));
  error->usage = reply.usage;
  error->cost = reply.cost;
  error->attempts = reply.attempts;
  return llvm::Error(std::move(error));
}

/// The error of a second turn with what the first one used.
static llvm::Error withEarlier(llvm::Error error, const ChatReply &earlier) {
  return llvm::handleErrors(
      std::move(error), [&](std::unique_ptr<ChatError> typed) -> llvm::Error {
        typed->usage += earlier.usage;
        if (typed->cost && earlier.cost)
          *typed->cost += *earlier.cost;
        typed->attempts.insert(typed->attempts.begin(),
                               earlier.attempts.begin(),
                               earlier.attempts.end());
        return llvm::Error(std::move(typed));
      });
}

llvm::Expected<StructuredReply>
sparseditto::completeStructured(ChatProvider &provider,
                                const ChatRequest &request,
                                const ChatControl &control) {
  if (!request.response)
    return fail(ChatErrorKind::Config, "a structured reply needs a schema");
  llvm::Expected<Json> schema = parseJson(request.response->schema);
  if (!schema)
    return fail(ChatErrorKind::Config, "schema of answer '{0}': {1}",
                request.response->name, llvm::toString(schema.takeError()));
  if (llvm::Error error = checkSchema(*schema))
    return fail(ChatErrorKind::Config, "answer '{0}': {1}",
                request.response->name, llvm::toString(std::move(error)));
  StructuredReply result;
  ChatRequest current = request;
  for (bool second : {false, true}) {
    llvm::Expected<ChatReply> reply = provider.complete(current, control);
    if (!reply)
      return second ? withEarlier(reply.takeError(), result.reply)
                    : reply.takeError();
    if (second)
      addTo(*reply, result.reply);
    result.reply = std::move(*reply);
    if (!result.reply.message.toolCalls.empty())
      return result;
    if (result.reply.stop == StopReason::Refusal ||
        result.reply.stop == StopReason::ContentFilter)
      return failWith(ChatErrorKind::Refused,
                      "the model declined to answer: " +
                          result.reply.message.text,
                      result.reply);
    std::string error;
    if (std::optional<std::string> json =
            answer(*schema, result.reply, error)) {
      result.json = std::move(*json);
      result.repaired = second;
      return result;
    }
    if (second)
      return failWith(ChatErrorKind::InvalidReply,
                      "the answer does not match, after one repair: " + error,
                      result.reply);
    result.firstError = error;
    ChatMessage said = result.reply.message;
    if (llvm::StringRef(said.text).trim().empty() &&
        said.providerBlocks.empty())
      said.text = "(nothing)";
    current.messages.push_back(std::move(said));
    current.messages.push_back(ChatMessage::user(
        "That answer was not accepted: " + error +
        "\nAnswer again with the corrected JSON object and nothing else."));
  }
  llvm_unreachable("the second turn returns");
}
