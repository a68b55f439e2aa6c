//===- HttpProviderTest.cpp - A model behind a scripted server ------------===//
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

static Json bodyOf(const ReceivedRequest &request) {
  return llvm::cantFail(chat::parseJson(request.body));
}

static const std::string fine = completion("\"fine\"");

//===----------------------------------------------------------------------===//
// Requests and replies
//===----------------------------------------------------------------------===//

TEST(OpenAI, RequestAndReply) {
  Server server({Server::reply(
      200,
      R"({"model": "scripted-1", "choices": [{"message": {"content": "fine"},
          "finish_reason": "stop"}], "usage": {"prompt_tokens": 100,
          "completion_tokens": 20, "prompt_tokens_details":
          {"cached_tokens": 40}, "completion_tokens_details":
          {"reasoning_tokens": 7}}})")});
  ProviderConfig config = configFor(server);
  config.prices["scripted"] = {2.0, 10.0, 0.5, std::nullopt};
  ChatRequest request = ask();
  request.messages.insert(request.messages.begin(),
                          ChatMessage::system("be brief"));
  request.maxOutputTokens = 77;
  request.temperature = 0.5;
  request.seed = 9;
  ChatReply reply = success(providerFor(config)->complete(request, {}));
  EXPECT_EQ(reply.message.text, "fine");
  EXPECT_EQ(reply.message.role, ChatRole::Assistant);
  EXPECT_EQ(reply.stop, StopReason::End);
  EXPECT_EQ(reply.model, "scripted-1");
  EXPECT_EQ(reply.usage.input, 100);
  EXPECT_EQ(reply.usage.cachedInput, 40);
  EXPECT_EQ(reply.usage.output, 20);
  EXPECT_EQ(reply.usage.reasoning, 7);
  EXPECT_FALSE(reply.usage.estimated);
  ASSERT_TRUE(reply.cost.has_value());
  EXPECT_NEAR(*reply.cost, (60 * 2.0 + 40 * 0.5 + 20 * 10.0) * 1e-6, 1e-12);
  ASSERT_EQ(reply.attempts.size(), 1u);
  EXPECT_EQ(reply.attempts[0].status, 200);
  EXPECT_EQ(reply.attempts[0].outcome, "ok");

  ASSERT_EQ(server.requests().size(), 1u);
  ReceivedRequest sent = server.requests()[0];
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.target, "/v1/chat/completions");
  EXPECT_EQ(sent.headers["content-type"], "application/json");
  EXPECT_EQ(sent.headers.count("authorization"), 0u);
  EXPECT_EQ(bodyOf(sent), llvm::cantFail(chat::parseJson(R"(
    {"model": "scripted", "messages": [
      {"role": "system", "content": "be brief"},
      {"role": "user", "content": "hello"}], "stream": false,
     "max_tokens": 77, "temperature": 0.5, "seed": 9})")));
}

TEST(OpenAI, TargetsAndNamesOfTheOutputLimit) {
  for (auto [path, target] : std::vector<std::pair<std::string, std::string>>{
           {"", "/v1/chat/completions"},
           {"/", "/v1/chat/completions"},
           {"/v1", "/v1/chat/completions"},
           {"/api/v1/", "/api/v1/chat/completions"},
           {"/x/chat/completions?v=2", "/x/chat/completions?v=2"}}) {
    Server server({Server::reply(200, fine)});
    ProviderConfig config = configFor(server);
    config.endpoint = server.url(path);
    config.model = "gpt-5-mini";
    success(providerFor(config)->complete(ask(), {}));
    EXPECT_EQ(server.requests()[0].target, target) << path;
    EXPECT_TRUE(bodyOf(server.requests()[0]).contains("max_completion_tokens"));
  }
}

TEST(OpenAI, ReasoningIsKeptApartUnderEveryName) {
  for (const char *field : {"reasoning_content", "reasoning", "thinking"}) {
    Server server({Server::reply(
        200, R"({"choices": [{"message": {"content": "42", ")" +
                 std::string(field) + R"(": "six times seven"}}]})")});
    ChatReply reply =
        success(providerFor(configFor(server))->complete(ask(), {}));
    EXPECT_EQ(reply.message.text, "42");
    EXPECT_EQ(reply.reasoning, "six times seven");
  }
  Server server({Server::reply(
      200, completion(quoted("\n<think>\nhm\n</think>\n\nanswer")))});
  ChatReply reply =
      success(providerFor(configFor(server))->complete(ask(), {}));
  EXPECT_EQ(reply.message.text, "answer");
  EXPECT_EQ(reply.reasoning, "hm");
}

TEST(OpenAI, ContentInParts) {
  Server server(
      {Server::reply(200, completion(R"([{"type": "text", "text": "a"},
                          {"type": "text", "text": "b"}])"))});
  EXPECT_EQ(
      success(providerFor(configFor(server))->complete(ask(), {})).message.text,
      "ab");
}

TEST(OpenAI, RefusalAndFilter) {
  Server server({Server::reply(200, R"({"choices": [{"message": {"content":
                     null, "refusal": "I would rather not"}}]})"),
                 Server::reply(200, completion("\"\"", "content_filter"))});
  auto provider = providerFor(configFor(server));
  ChatReply refusal = success(provider->complete(ask(), {}));
  EXPECT_EQ(refusal.stop, StopReason::Refusal);
  EXPECT_EQ(refusal.message.text, "I would rather not");
  EXPECT_EQ(success(provider->complete(ask(), {})).stop,
            StopReason::ContentFilter);
}

TEST(OpenAI, ToolCallsThereAndBack) {
  Server server(
      {Server::reply(200, R"({"choices": [{"finish_reason": "tool_calls",
          "message": {"content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function":
              {"name": "look", "arguments": "{\"at\": 3}"}},
            {"type": "function", "function":
              {"name": "look", "arguments": {"at": 4}}}]}}]})"),
       Server::reply(200, fine)});
  ChatRequest request = ask();
  request.tools = {{"look", "looks at a line", R"({"type": "object",
      "properties": {"at": {"type": "integer"}}, "required": ["at"]})"}};
  auto provider = providerFor(configFor(server));
  ChatReply reply = success(provider->complete(request, {}));
  EXPECT_EQ(reply.stop, StopReason::ToolUse);
  ASSERT_EQ(reply.message.toolCalls.size(), 2u);
  EXPECT_EQ(reply.message.toolCalls[0].id, "c1");
  EXPECT_EQ(reply.message.toolCalls[0].name, "look");
  EXPECT_EQ(reply.message.toolCalls[0].arguments, R"({"at": 3})");
  EXPECT_EQ(reply.message.toolCalls[1].id, "call-1");
  EXPECT_EQ(reply.message.toolCalls[1].arguments, R"({"at":4})");
  request.messages.push_back(reply.message);
  request.messages.push_back(ChatMessage::toolResult("c1", "a loop"));
  success(provider->complete(request, {}));
  Json sent = bodyOf(server.requests()[1]);
  EXPECT_EQ(sent["tools"][0]["function"]["name"], "look");
  EXPECT_EQ(sent["tools"][0]["function"]["parameters"]["required"][0], "at");
  EXPECT_EQ(sent["messages"][1]["tool_calls"][0]["function"]["arguments"],
            R"({"at": 3})");
  EXPECT_TRUE(sent["messages"][1]["content"].is_null());
  EXPECT_EQ(sent["messages"][2],
            llvm::cantFail(chat::parseJson(R"({"role": "tool",
                "content": "a loop", "tool_call_id": "c1"})")));
}

TEST(OpenAI, MissingUsageIsEstimatedFromBytes) {
  Server server({Server::reply(
      200, R"({"choices": [{"message": {"content": "0123456789"}}]})")});
  ChatReply reply =
      success(providerFor(configFor(server))->complete(ask(), {}));
  EXPECT_TRUE(reply.usage.estimated);
  EXPECT_EQ(reply.usage.input, estimateTokens(server.requests()[0].body));
  EXPECT_EQ(reply.usage.output, 6);
}

TEST(OpenAI, APromptThatWasCutIsNoticed) {
  Server server({Server::reply(200, fine), Server::reply(200, fine)});
  auto provider = providerFor(configFor(server));
  success(provider->complete(ask(std::string(4000, 'x')), {}));
  EXPECT_TRUE(provider->lessons().empty());
  success(provider->complete(ask(std::string(40000, 'x')), {}));
  ASSERT_EQ(provider->lessons().size(), 1u);
  EXPECT_NE(provider->lessons()[0].find("may have cut the prompt"),
            std::string::npos);
}

TEST(OpenAI, ExtraParametersAndHeaders) {
  Server server({Server::reply(200, fine)});
  ProviderConfig config = configFor(server);
  config.extraParameters =
      R"({"reasoning_effort": "low", "temperature": null, "model": "other",
          "stream": true})";
  config.headers = {{"X-Team", "kernels"}};
  ChatRequest request = ask();
  request.temperature = 0.1;
  success(providerFor(config)->complete(request, {}));
  Json sent = bodyOf(server.requests()[0]);
  EXPECT_EQ(sent["reasoning_effort"], "low");
  EXPECT_FALSE(sent.contains("temperature"));
  EXPECT_EQ(sent["model"], "scripted");
  EXPECT_EQ(sent["stream"], false);
  EXPECT_EQ(server.requests()[0].headers.at("x-team"), "kernels");
}

TEST(OpenAI, KeepAliveBlanksAndCommentsAreSkipped) {
  Server server({Server::reply(200, "\n\n: keep-alive\n\n : x\n" + fine)});
  EXPECT_EQ(
      success(providerFor(configFor(server))->complete(ask(), {})).message.text,
      "fine");
}

TEST(OpenAI, MalformedReplies) {
  std::string deep(200, '[');
  for (auto [body, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "the response is not JSON"},
           {"<html>busy</html>", "the response is not JSON"},
           {"[1]", "the response is not a JSON object"},
           {deep, "nested more than 64 deep"},
           {R"({"id": 1})", "no \"choices\""},
           {R"({"choices": []})", "no \"choices\""},
           {R"({"choices": [{"text": "x"}]})", "no \"message\""},
           {"{\"choices\": [{\"message\": {\"content\": \"\xff\"}}]}",
            "not JSON"},
           {"data: {\"choices\": []}\n\n", "sends a stream"}}) {
    Server server({Server::reply(200, body)});
    ChatError error =
        failure(providerFor(configFor(server))->complete(ask(), {}));
    EXPECT_EQ(error.kind, ChatErrorKind::Malformed) << body;
    EXPECT_NE(error.message.find(message), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    EXPECT_EQ(server.requests().size(), 1u);
    // Something was generated, and nobody knows how much.
    EXPECT_TRUE(error.usage.estimated);
  }
}

TEST(OpenAI, AnErrorInsideASuccess) {
  Server server({Server::reply(200, R"({"error": {"code": 429,
                     "message": "slow down"}})"),
                 Server::reply(200, fine),
                 Server::reply(200, R"({"error": {"code": 401,
                     "message": "who are you"}})")});
  auto provider = providerFor(configFor(server));
  EXPECT_EQ(success(provider->complete(ask(), {})).message.text, "fine");
  EXPECT_EQ(failure(provider->complete(ask(), {})).kind, ChatErrorKind::Auth);
}

//===----------------------------------------------------------------------===//
// Truncation
//===----------------------------------------------------------------------===//

TEST(Truncation, TheLimitIsRaisedOnce) {
  Server server({Server::reply(200, completion("null", "length")),
                 Server::reply(200, fine)});
  ChatRequest request = ask();
  request.maxOutputTokens = 100;
  ChatReply reply =
      success(providerFor(configFor(server))->complete(request, {}));
  EXPECT_EQ(reply.message.text, "fine");
  EXPECT_EQ(bodyOf(server.requests()[0])["max_tokens"], 100);
  EXPECT_EQ(bodyOf(server.requests()[1])["max_tokens"], 400);
  // Both were paid for.
  EXPECT_EQ(reply.usage.input, 20);
  EXPECT_EQ(reply.usage.output, 10);
  ASSERT_EQ(reply.attempts.size(), 2u);
  EXPECT_EQ(reply.attempts[0].outcome, "cut at the output limit");
}

TEST(Truncation, ASecondOneIsAnError) {
  Server server({Server::reply(200, completion("\"par", "length") + ""),
                 Server::reply(200, completion("null", "length")),
                 Server::reply(200, completion("\"part\"", "length"))});
  auto provider = providerFor(configFor(server));
  EXPECT_EQ(failure(provider->complete(ask(), {})).kind,
            ChatErrorKind::Malformed);
  ChatError error = failure(provider->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::Truncated);
  EXPECT_NE(error.message.find("cut at 16384 tokens"), std::string::npos)
      << error.message;
  EXPECT_EQ(error.usage.output, 10);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(Truncation, NotRaisedBeyondTheConfiguredLimit) {
  Server server({Server::reply(200, completion("null", "length"))});
  ProviderConfig config = configFor(server);
  config.maxOutputTokens = 4096;
  ChatError error = failure(providerFor(config)->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::Truncated);
  EXPECT_NE(error.message.find("all of them spent on reasoning"),
            std::string::npos);
  EXPECT_EQ(server.requests().size(), 1u);
}

//===----------------------------------------------------------------------===//
// Retries
//===----------------------------------------------------------------------===//

TEST(Retry, WhatPassesIsTriedAgain) {
  for (int status : {408, 409, 429, 500, 502, 503, 529}) {
    Server server({Server::reply(status, R"({"error": {"message": "busy"}})"),
                   Server::reply(200, fine)});
    ChatReply reply =
        success(providerFor(configFor(server))->complete(ask(), {}));
    EXPECT_EQ(reply.message.text, "fine") << status;
    ASSERT_EQ(reply.attempts.size(), 2u);
    EXPECT_EQ(reply.attempts[0].status, status);
    EXPECT_GT(reply.attempts[0].waitSeconds, 0);
    // A refused request costs nothing.
    EXPECT_EQ(reply.usage.input, 10);
  }
}

TEST(Retry, GivesUpWithTheTypeOfTheLastError) {
  for (auto [status, kind] : std::vector<std::pair<int, ChatErrorKind>>{
           {429, ChatErrorKind::RateLimited},
           {503, ChatErrorKind::Server},
           {529, ChatErrorKind::Server}}) {
    Server::Step step =
        Server::reply(status, R"({"error": {"message": "overloaded\nvery"}})");
    Server server({step, step, step});
    ProviderConfig config = configFor(server);
    config.maxAttempts = 3;
    ChatError error = failure(providerFor(config)->complete(ask(), {}));
    EXPECT_EQ(error.kind, kind);
    EXPECT_EQ(error.message, "127.0.0.1: HTTP " + std::to_string(status) +
                                 ": overloaded very (3 attempts)");
    EXPECT_EQ(error.attempts.size(), 3u);
    EXPECT_EQ(server.requests().size(), 3u);
  }
}

TEST(Retry, TheServersOwnWaitIsTaken) {
  Server server({Server::reply(429, "{}", {"retry-after-ms: 30"}),
                 Server::reply(503, "{}", {"Retry-After: 0"}),
                 Server::reply(200, fine)});
  ChatReply reply =
      success(providerFor(configFor(server))->complete(ask(), {}));
  ASSERT_EQ(reply.attempts.size(), 3u);
  EXPECT_DOUBLE_EQ(reply.attempts[0].waitSeconds, 0.03);
  EXPECT_DOUBLE_EQ(reply.attempts[1].waitSeconds, 0);
}

TEST(Retry, TooLongAWaitIsAnError) {
  Server server({Server::reply(429, "{}", {"retry-after: 3600"}),
                 Server::reply(429, "{}", {"retry-after: 100"})});
  auto provider = providerFor(configFor(server));
  ChatError error = failure(provider->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::RateLimited);
  EXPECT_NE(error.message.find("the next attempt would be in 3600.0 s"),
            std::string::npos)
      << error.message;
  // Within maxWaitSeconds, but not within the deadline.
  error = failure(provider->complete(ask(), ChatControl::within(20)));
  EXPECT_EQ(error.kind, ChatErrorKind::RateLimited);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(Retry, XShouldRetryDecides) {
  Server server({Server::reply(503, "{}", {"x-should-retry: false"}),
                 Server::reply(400, R"({"error": {"message": "a lock"}})",
                               {"x-should-retry: true"}),
                 Server::reply(200, fine)});
  auto provider = providerFor(configFor(server));
  EXPECT_EQ(failure(provider->complete(ask(), {})).kind, ChatErrorKind::Server);
  EXPECT_EQ(success(provider->complete(ask(), {})).message.text, "fine");
}

TEST(Retry, MoneyIsNotARate) {
  for (auto [status, body] : std::vector<std::pair<int, std::string>>{
           {429, R"({"error": {"code": "insufficient_quota",
                     "message": "You exceeded your current quota"}})"},
           {429, R"({"type": "error", "error": {"type":
                     "enforced_spend_limit_reached", "message": "no"}})"},
           {429, R"({"error": {"type": "credit_balance_exhausted",
                     "message": "no"}})"},
           {402, R"({"error": {"message": "pay"}})"},
           {400, R"({"type": "error", "error": {"type":
                     "invalid_request_error", "message":
                     "Your credit balance is too low"}})"}}) {
    Server server({Server::reply(status, body)});
    EXPECT_EQ(failure(providerFor(configFor(server))->complete(ask(), {})).kind,
              ChatErrorKind::OutOfMoney)
        << body;
    EXPECT_EQ(server.requests().size(), 1u);
  }
}

TEST(Retry, WhatDoesNotPassIsNot) {
  for (auto [status, body, kind] :
       std::vector<std::tuple<int, std::string, ChatErrorKind>>{
           {401, R"({"error": {"message": "who"}})", ChatErrorKind::Auth},
           {403, R"({"error": "not you"})", ChatErrorKind::Auth},
           {404, R"({"error": {"message": "no model"}})",
            ChatErrorKind::NotFound},
           {400, R"({"error": {"code": "model_not_found"}})",
            ChatErrorKind::NotFound},
           {400, R"({"error": {"code": "context_length_exceeded",
                     "message": "maximum context length is 10"}})",
            ChatErrorKind::ContextTooLong},
           {413, "<html>too big</html>", ChatErrorKind::ContextTooLong},
           {400, R"({"message": "what?", "object": "error"})",
            ChatErrorKind::BadRequest}}) {
    Server server({Server::reply(status, body)});
    ChatError error =
        failure(providerFor(configFor(server))->complete(ask(), {}));
    EXPECT_EQ(error.kind, kind) << status << " " << error.message;
    EXPECT_EQ(server.requests().size(), 1u);
    EXPECT_EQ(error.usage.input, 0);
  }
}
