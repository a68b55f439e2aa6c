//===- FuzzChat.cpp - The readers of a model's answers --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is the body of a server's response, a reply in a file, the text of
// an answer, and up to its first line a header and an endpoint. Beside what the
// sanitizers see, an error must be one line, counts of tokens must be sane, and
// what was extracted as JSON must be JSON that matches.
//
//===----------------------------------------------------------------------===//

#include "Actions.h"
#include "Dialect.h"
#include "ExtractJSON.h"
#include "FileProtocol.h"
#include "Fuzz.h"
#include "Mutators.h"
#include "Schema.h"
#include "sparseditto/Agent/StructuredReply.h"
#include <cmath>

using namespace sparseditto;
using namespace sparseditto::chat;
using namespace sparseditto::fuzz;

/// Of what a server said: it may have been in any language.
static void checkLine(llvm::StringRef message) {
  check(message.size() <= 4096 &&
            llvm::none_of(message,
                          [](char c) { return uint8_t(c) < ' ' || c == 0x7f; }),
        "a message is one line");
}

static void checkFailure(llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  check(!message.empty(), "an error says something");
  checkLine(message);
}

static const ChatRequest &request() {
  static const ChatRequest request = [] {
    ChatRequest result;
    result.messages = {ChatMessage::user("choose")};
    result.tools = {{"describe", "", R"({"type": "object"})"}};
    return result;
  }();
  return request;
}

static const Json &schema() {
  static const Json schema = [] {
    Json result = llvm::cantFail(parseJson(R"({
      "type": "object",
      "properties": {
        "family": {"type": "string", "enum": ["csr", "nm"]},
        "rows": {"type": "integer", "minimum": 1, "maximum": 64},
        "knobs": {"type": "array", "items": {"type": "integer"}, "maxItems": 4},
        "reason": {"type": "string"}
      },
      "required": ["family", "rows"],
      "additionalProperties": false})"));
    check(!llvm::errorToBool(checkSchema(result)), "the schema is one");
    return result;
  }();
  return schema;
}

static void checkReply(ChatReply reply) {
  const ChatUsage &usage = reply.usage;
  for (int64_t count : {usage.input, usage.cachedInput, usage.cacheWrite,
                        usage.output, usage.reasoning})
    check(count >= 0 && count <= int64_t(4e12), "a count of tokens is sane");
  splitThinking(reply);
  readActions(request(), reply);
  for (const ToolCall &call : reply.message.toolCalls)
    check(!call.id.empty(), "a call has a name to be answered by");
  (void)writtenText(reply);
}

static void checkResponse(llvm::StringRef text) {
  llvm::Expected<Json> body = parseResponse(text);
  if (!body)
    return checkFailure(body.takeError());
  if (std::optional<ServerError> error = errorInside(*body))
    checkLine(error->message);
  static const std::unique_ptr<Dialect> dialects[] = {createOpenAIDialect(),
                                                      createAnthropicDialect()};
  for (const std::unique_ptr<Dialect> &dialect : dialects) {
    llvm::Expected<ChatReply> reply = dialect->read(*body);
    if (reply)
      checkReply(std::move(*reply));
    else
      checkFailure(reply.takeError());
  }
}

static void checkFile(llvm::StringRef text) {
  llvm::Expected<ChatReply> reply = readReply(text);
  if (reply)
    checkReply(std::move(*reply));
  else
    checkFailure(reply.takeError());
}

/// A refusal, and what is learnt from it.
static void checkStatus(llvm::StringRef header, llvm::StringRef body) {
  HttpHeaders headers;
  headers.add(header);
  ProviderConfig config;
  Learned learned(config, ChatDialect::OpenAI);
  OrderedJson sent = {{"model", "m"}, {"max_tokens", 100000}};
  sent["temperature"] = 0.5;
  sent["tools"] = OrderedJson::array();
  sent["response_format"] = OrderedJson::object();
  for (int status : {400, 404, 429, 500}) {
    ServerError error = classify(status, headers, body);
    checkLine(error.message);
    learned.learn(status, error, sent);
  }
  check(learned.maxCap >= 256, "the output limit leaves room for an answer");
  for (const std::string &lesson : learned.lessons)
    checkLine(lesson);
  if (std::optional<double> wait = requestedWait(headers, 1'700'000'000))
    check(std::isfinite(*wait) && *wait >= 0, "a wait is a time");
}

static void checkAnswer(llvm::StringRef text) {
  std::string error;
  std::vector<Json> objects = findObjects(text, error);
  check(!objects.empty() || !error.empty(), "no answer has a reason");
  checkLine(error);
  for (Json &object : objects) {
    check(object.is_object(), "an answer is an object");
    dropNulls(schema(), object);
    std::string problem = validate(schema(), object);
    checkLine(problem);
    if (problem.empty())
      check(object["rows"].is_number() && object["family"].is_string(),
            "what matches has what is required");
  }
  llvm::Expected<std::string> extracted = extractJSON(text);
  if (!extracted)
    return checkFailure(extracted.takeError());
  llvm::Expected<Json> again = parseJson(*extracted);
  check(bool(again), "extracted JSON is JSON");
}

static void checkEndpoint(llvm::StringRef text) {
  llvm::Expected<Url> url = Url::parse(text);
  if (!url)
    return checkFailure(url.takeError());
  llvm::Expected<Url> again = Url::parse(url->str());
  check(bool(again) && again->str() == url->str(),
        "a written endpoint is the same");
  (void)url->isLoopback();
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  return mutateJSON(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::StringRef line = text.take_until([](char c) { return c == '\n'; });
  checkResponse(text);
  checkFile(text);
  checkStatus(line, text);
  checkAnswer(text);
  checkEndpoint(line);
  return 0;
}
