//===- AnthropicTest.cpp - The Messages API -------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "ScriptedServer.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;
using sparseditto::chat::Json;
using Server = ScriptedServer;

static Json bodyOf(const Server &server, size_t index) {
  return llvm::cantFail(chat::parseJson(server.requests().at(index).body));
}

static ProviderConfig anthropic(const Server &server) {
  ProviderConfig config = configFor(server);
  config.dialect = ChatDialect::Anthropic;
  return config;
}

static std::string message(const std::string &content,
                           const std::string &stop = "end_turn") {
  return R"({"type": "message", "model": "scripted-2", "content": )" + content +
         R"(, "stop_reason": ")" + stop +
         R"(", "usage": {"input_tokens": 10, "cache_read_input_tokens": 100,
             "cache_creation_input_tokens": 20, "output_tokens": 7}})";
}

static const std::string fine =
    message(R"([{"type": "text", "text": "fine"}])");

TEST(Anthropic, RequestAndReply) {
  Server server({Server::reply(200, fine)});
  ScopedVariable key("SPARSEDITTO_TEST_KEY", "sk-ant-0123456789");
  ProviderConfig config = anthropic(server);
  config.keyVariable = "SPARSEDITTO_TEST_KEY";
  config.prices["*"] = {1.0, 10.0, 0.1, 1.25};
  ChatRequest request = ask();
  request.messages.insert(request.messages.begin(),
                          ChatMessage::system("be brief"));
  request.temperature = 0.5;
  request.seed = 4;
  ChatReply reply = success(providerFor(config)->complete(request, {}));
  EXPECT_EQ(reply.message.text, "fine");
  EXPECT_TRUE(reply.message.providerBlocks.empty());
  EXPECT_EQ(reply.model, "scripted-2");
  EXPECT_EQ(reply.usage.input, 130);
  EXPECT_EQ(reply.usage.cachedInput, 100);
  EXPECT_EQ(reply.usage.cacheWrite, 20);
  EXPECT_EQ(reply.usage.output, 7);
  EXPECT_NEAR(*reply.cost, (10 + 100 * 0.1 + 20 * 1.25 + 70) * 1e-6, 1e-12);
  ReceivedRequest sent = server.requests()[0];
  EXPECT_EQ(sent.target, "/v1/messages");
  EXPECT_EQ(sent.headers["x-api-key"], "sk-ant-0123456789");
  EXPECT_EQ(sent.headers["anthropic-version"], "2023-06-01");
  EXPECT_EQ(sent.headers.count("authorization"), 0u);
  EXPECT_EQ(bodyOf(server, 0), llvm::cantFail(chat::parseJson(R"(
    {"model": "scripted", "max_tokens": 4096, "system": "be brief",
     "messages": [{"role": "user", "content":
       [{"type": "text", "text": "hello"}]}], "temperature": 0.5})")));
}

TEST(Anthropic, ThinkingIsReplayedUnchangedAndResultsAreMerged) {
  std::string content = R"([
      {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
      {"type": "redacted_thinking", "data": "eA=="},
      {"type": "text", "text": "I look."},
      {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 3}},
      {"type": "tool_use", "id": "t2", "name": "look", "input": {}}])";
  Server server({Server::reply(200, message(content, "tool_use")),
                 Server::reply(200, fine)});
  ChatRequest request = ask();
  request.tools = {{"look", "looks", R"({"type": "object"})"}};
  auto provider = providerFor(anthropic(server));
  ChatReply reply = success(provider->complete(request, {}));
  EXPECT_EQ(reply.reasoning, "hm");
  EXPECT_EQ(reply.message.text, "I look.");
  EXPECT_EQ(reply.stop, StopReason::ToolUse);
  ASSERT_EQ(reply.message.toolCalls.size(), 2u);
  EXPECT_EQ(reply.message.toolCalls[0].arguments, R"({"at":3})");
  request.messages.push_back(reply.message);
  request.messages.push_back(ChatMessage::toolResult("t1", "one"));
  request.messages.push_back(ChatMessage::toolResult("t2", "two"));
  success(provider->complete(request, {}));
  Json sent = bodyOf(server, 1);
  ASSERT_EQ(sent["messages"].size(), 3u);
  EXPECT_EQ(sent["messages"][1]["content"],
            llvm::cantFail(chat::parseJson(content)));
  EXPECT_EQ(sent["messages"][2], llvm::cantFail(chat::parseJson(R"(
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
      {"type": "tool_result", "tool_use_id": "t2", "content": "two"}]})")));
  EXPECT_EQ(sent["tools"][0]["input_schema"]["type"], "object");
}

TEST(Anthropic, SchemaWhereItCanBeStrictElseWords) {
  Server server({Server::reply(200, fine), Server::reply(200, fine),
                 Server::reply(400, R"({"type": "error", "error": {"message":
                     "output_config: Extra inputs are not permitted"}})"),
                 Server::reply(200, fine)});
  auto provider = providerFor(anthropic(server));
  ChatRequest request = ask();
  request.response = {"answer", R"({"type": "object", "properties":
      {"x": {"type": "integer"}}, "required": ["x"]})"};
  success(provider->complete(request, {}));
  Json format = bodyOf(server, 0)["output_config"]["format"];
  EXPECT_EQ(format["type"], "json_schema");
  EXPECT_EQ(format["schema"]["additionalProperties"], false);
  ChatRequest free = request;
  free.response->schema = R"({"type": "object"})";
  success(provider->complete(free, {}));
  EXPECT_FALSE(bodyOf(server, 1).contains("output_config"));
  EXPECT_NE(chat::asText(bodyOf(server, 1)["system"]).find("JSON Schema"),
            std::string::npos);
  // A server that does not know the parameter at all.
  success(provider->complete(request, {}));
  EXPECT_FALSE(bodyOf(server, 3).contains("output_config"));
  EXPECT_NE(chat::asText(bodyOf(server, 3)["system"]).find("JSON Schema"),
            std::string::npos);
}

TEST(Anthropic, CallsNeedAnId) {
  // Without one its result could not be sent.
  Server server({Server::reply(
      200, message(R"([{"type": "tool_use", "name": "look", "input": {}}])",
                   "tool_use"))});
  auto provider = providerFor(anthropic(server));
  ChatError error = failure(provider->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::Malformed);
  EXPECT_NE(error.message.find("a tool call of the response has no \"id\""),
            std::string::npos)
      << error.message;
}

TEST(Anthropic, StopReasons) {
  Server server({Server::reply(200, message("[]", "refusal")),
                 Server::reply(200, message("[]", "max_tokens")),
                 Server::reply(200, fine),
                 Server::reply(200, message("[]", "pause_turn"))});
  auto provider = providerFor(anthropic(server));
  EXPECT_EQ(success(provider->complete(ask(), {})).stop, StopReason::Refusal);
  EXPECT_EQ(success(provider->complete(ask(), {})).message.text, "fine");
  EXPECT_EQ(bodyOf(server, 2)["max_tokens"], 4096 * 4);
  EXPECT_EQ(success(provider->complete(ask(), {})).stop, StopReason::Other);
}

TEST(Anthropic, Overloaded) {
  Server server({Server::reply(529, R"({"type": "error", "error":
                     {"type": "overloaded_error", "message": "Overloaded"},
                     "request_id": "r"})"),
                 Server::reply(200, fine)});
  EXPECT_EQ(success(providerFor(anthropic(server))->complete(ask(), {}))
                .attempts.size(),
            2u);
}

TEST(Anthropic, Malformed) {
  Server server({Server::reply(200, R"({"choices": []})")});
  EXPECT_EQ(failure(providerFor(anthropic(server))->complete(ask(), {})).kind,
            ChatErrorKind::Malformed);
}
