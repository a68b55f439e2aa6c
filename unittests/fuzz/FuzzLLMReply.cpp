//===- FuzzLLMReply.cpp - What models and servers send --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first byte chooses the reader, the rest is what it reads: '0' a chat
// completion, '1' an Anthropic message, '2' a command's reply, '3' an answer in
// prose, '4' an error response (headers, an empty line, a body), '5' a schema.
//
//===----------------------------------------------------------------------===//

#include "Dialect.h"
#include "ExtractJSON.h"
#include "FileProtocol.h"
#include "Schema.h"
#include "Secret.h"
#include "sparseditto/Agent/StructuredReply.h"
#include <cstdlib>

using namespace sparseditto;
using namespace sparseditto::chat;

static void check(bool condition) {
  if (!condition)
    std::abort();
}

static const char *const schemaText = R"({"type": "object", "properties": {
    "x": {"type": "integer", "minimum": 0, "maximum": 9},
    "y": {"type": ["string", "null"], "minLength": 1, "maxLength": 4},
    "z": {"type": "array", "maxItems": 3, "items": {"anyOf": [
      {"type": "object", "properties": {"k": {"const": "a"},
       "v": {"enum": [1, 2]}}, "required": ["k"]},
      {"type": "boolean"}]}}},
    "required": ["x"], "additionalProperties": false})";

static ChatRequest makeRequest() {
  ChatRequest request;
  request.messages.push_back(ChatMessage::user("question"));
  request.tools = {{"look", "looks", R"({"type": "object"})"}};
  request.response = {"answer", schemaText};
  return request;
}

/// A reply goes back into the next request, whatever it holds.
static void replay(llvm::Expected<ChatReply> reply, ChatDialect name,
                   const Dialect &dialect) {
  if (!reply) {
    check(!llvm::toString(reply.takeError()).empty());
    return;
  }
  check(reply->usage.input >= 0 && reply->usage.output >= 0);
  ChatRequest request = makeRequest();
  splitThinking(*reply);
  readActions(request, *reply);
  for (const ToolCall &call : reply->message.toolCalls)
    check(!call.id.empty());
  request.messages.push_back(reply->message);
  for (const ToolCall &call : reply->message.toolCalls)
    request.messages.push_back(ChatMessage::toolResult(call.id, "result"));
  ProviderConfig config;
  for (ToolMode tools : {ToolMode::Native, ToolMode::JSONActions}) {
    config.tools = tools;
    Learned learned(config, name);
    Prepared prepared = prepare(request, learned);
    check(!dump(dialect.body(prepared, learned, "m", 10)).empty());
  }
  check(!requestText(request, "m").empty());
}

static llvm::Expected<ChatReply> read(llvm::StringRef text,
                                      const Dialect &dialect) {
  llvm::Expected<Json> body = parseResponse(text);
  if (!body)
    return body.takeError();
  if (std::optional<ServerError> inside = errorInside(*body))
    check(!llvm::StringRef(inside->message).contains('\n'));
  return dialect.read(*body);
}

static void readError(llvm::StringRef text) {
  auto [head, body] = text.split("\n\n");
  HttpHeaders headers;
  while (!head.empty()) {
    auto [line, rest] = head.split('\n');
    headers.add(line);
    head = rest;
  }
  if (std::optional<double> wait = requestedWait(headers, 1000000000))
    check(*wait >= 0);
  OrderedJson sent = {{"model", "m"}};
  for (const char *key : {"tools", "response_format", "temperature", "seed"})
    sent[key] = 1;
  sent["max_tokens"] = 4096;
  ProviderConfig config;
  Learned learned(config, ChatDialect::OpenAI);
  for (int status : {302, 400, 404, 422, 429, 500, 529}) {
    ServerError error = classify(status, headers, body);
    check(!llvm::StringRef(error.message).contains('\n'));
    // Learning takes something away each time, so it ends.
    int rounds = 0;
    while (learned.learn(status, error, sent)) {
      for (const std::string &key : learned.dropped)
        sent.erase(key);
      if (learned.structured == StructuredMode::Text)
        sent.erase("response_format");
      if (learned.tools == ToolMode::JSONActions)
        sent.erase("tools");
      if (sent.contains("max_tokens") && learned.capName != "max_tokens") {
        sent["max_completion_tokens"] = sent["max_tokens"];
        sent.erase("max_tokens");
      }
      if (sent.contains(learned.capName))
        sent[learned.capName] = std::min<int64_t>(
            sent[learned.capName].get<int64_t>(), learned.maxCap);
      check(++rounds < 5000);
    }
  }
}

static void readSchema(llvm::StringRef text) {
  llvm::Expected<Json> schema = parseJson(text);
  if (!schema)
    return llvm::consumeError(schema.takeError());
  if (llvm::Error error = checkSchema(*schema))
    return llvm::consumeError(std::move(error));
  Json value = *schema;
  dropNulls(*schema, value);
  (void)validate(*schema, value);
  if (auto strict = strictSchema(llvm::cantFail(parseOrderedJson(text))))
    check(strict->is_object());
}

static void readProse(llvm::StringRef text) {
  Json schema = llvm::cantFail(parseJson(schemaText));
  std::string error;
  std::vector<Json> objects = findObjects(text, error);
  check(!objects.empty() || !error.empty());
  for (Json &object : objects) {
    dropNulls(schema, object);
    std::string problem = validate(schema, object);
    check(!llvm::StringRef(problem).contains('\n'));
  }
  if (llvm::Expected<std::string> json = extractJSON(text))
    llvm::cantFail(parseJson(*json));
  else
    llvm::consumeError(json.takeError());
  std::string redacted = Secret("sk-0123456789").redact(text);
  check(!llvm::StringRef(redacted).contains("sk-0123456789"));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  llvm::StringRef text(reinterpret_cast<const char *>(data) + 1, size - 1);
  static const std::unique_ptr<Dialect> openAI = createOpenAIDialect();
  static const std::unique_ptr<Dialect> anthropic = createAnthropicDialect();
  switch (data[0]) {
  case '0':
    replay(read(text, *openAI), ChatDialect::OpenAI, *openAI);
    break;
  case '1':
    replay(read(text, *anthropic), ChatDialect::Anthropic, *anthropic);
    break;
  case '2':
    replay(readReply(text), ChatDialect::OpenAI, *openAI);
    break;
  case '3':
    readProse(text);
    break;
  case '4':
    readError(text);
    break;
  case '5':
    readSchema(text);
    break;
  }
  return 0;
}
