//===- LearnedTest.cpp - Parameters that servers refuse -------------------===//
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

static const std::string fine = completion("\"fine\"");

static Json bodyOf(const Server &server, size_t index) {
  std::vector<ReceivedRequest> requests = server.requests();
  if (index >= requests.size()) {
    ADD_FAILURE() << "only " << requests.size() << " requests";
    return Json();
  }
  return llvm::cantFail(chat::parseJson(requests[index].body));
}

static Server::Step refuse(const std::string &message, int status = 400,
                           const std::string &parameter = "") {
  Json error = {{"message", message}};
  if (!parameter.empty())
    error["param"] = parameter;
  Json body = Json::object();
  body["error"] = error;
  return Server::reply(status, chat::dump(body));
}

static ChatRequest structured() {
  ChatRequest request = ask();
  request.response = {"answer", R"({"type": "object", "properties":
      {"x": {"type": "integer", "minimum": 1}}})"};
  return request;
}

TEST(Learned, UnsupportedParametersAreLeftOutAndRemembered) {
  Server server({refuse("Unsupported parameter: 'temperature'"),
                 refuse("bad value", 422, "seed"), Server::reply(200, fine),
                 Server::reply(200, fine)});
  auto provider = providerFor(configFor(server));
  ChatRequest request = ask();
  request.temperature = 0.5;
  request.seed = 1;
  EXPECT_EQ(success(provider->complete(request, {})).message.text, "fine");
  success(provider->complete(request, {}));
  EXPECT_TRUE(bodyOf(server, 0).contains("temperature"));
  EXPECT_FALSE(bodyOf(server, 1).contains("temperature"));
  EXPECT_TRUE(bodyOf(server, 1).contains("seed"));
  EXPECT_FALSE(bodyOf(server, 3).contains("temperature"));
  EXPECT_FALSE(bodyOf(server, 3).contains("seed"));
  EXPECT_EQ(provider->lessons(),
            (std::vector<std::string>{"temperature is not supported",
                                      "seed is not supported"}));
}

TEST(Learned, FastAPINamesThePlace) {
  Server server({Server::reply(422, R"({"detail": [{"loc": ["body",
                     "reasoning_effort"], "msg": "extra fields"}]})"),
                 Server::reply(200, fine)});
  ProviderConfig config = configFor(server);
  config.extraParameters = R"({"reasoning_effort": "low"})";
  success(providerFor(config)->complete(ask(), {}));
  EXPECT_FALSE(bodyOf(server, 1).contains("reasoning_effort"));
}

// As llama-cpp-python 0.3 does.
TEST(Learned, AServersOwnSchemaRefusesWithA500) {
  Server server(
      {refuse(
           "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', "
           "'response_format', 'type'), 'msg': \"Input should be 'text' or "
           "'json_object'\", 'input': 'json_schema'}",
           500),
       Server::reply(200, fine)});
  success(providerFor(configFor(server))->complete(structured(), {}));
  EXPECT_EQ(bodyOf(server, 0)["response_format"]["type"], "json_schema");
  EXPECT_EQ(bodyOf(server, 1)["response_format"]["type"], "json_object");
  EXPECT_TRUE(bodyOf(server, 1)["response_format"].contains("schema"));
}

TEST(Learned, TheOutputLimitHasTwoNames) {
  Server server({refuse("Unsupported parameter: 'max_tokens' is not supported "
                        "with this model. Use 'max_completion_tokens' instead.",
                        400, "max_tokens"),
                 Server::reply(200, fine)});
  auto provider = providerFor(configFor(server));
  success(provider->complete(ask(), {}));
  EXPECT_FALSE(bodyOf(server, 1).contains("max_tokens"));
  EXPECT_EQ(bodyOf(server, 1)["max_completion_tokens"], 4096);
}

TEST(Learned, TheOutputLimitHasALimit) {
  Server server({refuse("max_tokens is too large: 4096. This model supports "
                        "at most 1024 completion tokens."),
                 Server::reply(200, completion("null", "length"))});
  ChatError error =
      failure(providerFor(configFor(server))->complete(ask(), {}));
  EXPECT_EQ(bodyOf(server, 1)["max_tokens"], 1024);
  // And is not raised beyond it.
  EXPECT_EQ(error.kind, ChatErrorKind::Truncated);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(Learned, StructuredOutputStepByStep) {
  Server server({Server::reply(200, fine),
                 refuse("response_format json_schema is unknown", 400),
                 refuse("Extra inputs", 422, "response_format.schema"),
                 refuse("no json_object here", 400, "response_format"),
                 Server::reply(200, fine)});
  auto provider = providerFor(configFor(server));
  success(provider->complete(structured(), {}));
  success(provider->complete(structured(), {}));
  Json first = bodyOf(server, 0)["response_format"];
  EXPECT_EQ(first["type"], "json_schema");
  EXPECT_EQ(first["json_schema"]["name"], "answer");
  EXPECT_EQ(first["json_schema"]["strict"], true);
  // The strict subset: everything required, optional means nullable.
  EXPECT_EQ(first["json_schema"]["schema"],
            llvm::cantFail(chat::parseJson(R"({"type": "object", "properties":
                {"x": {"type": ["integer", "null"]}}, "required": ["x"],
                "additionalProperties": false})")));
  Json second = bodyOf(server, 2)["response_format"];
  EXPECT_EQ(second["type"], "json_object");
  EXPECT_EQ(second["schema"]["properties"]["x"]["minimum"], 1);
  EXPECT_EQ(bodyOf(server, 3)["response_format"],
            llvm::cantFail(chat::parseJson(R"({"type": "json_object"})")));
  // The word JSON and the schema are in the prompt, which this mode needs.
  EXPECT_NE(chat::asText(bodyOf(server, 3)["messages"][0]["content"])
                .find("JSON Schema:\n{\"type\""),
            std::string::npos);
  EXPECT_FALSE(bodyOf(server, 4).contains("response_format"));
  EXPECT_EQ(bodyOf(server, 4)["messages"].size(), 2u);
  EXPECT_EQ(provider->lessons().size(), 3u);
}

TEST(Learned, AFixedModeIsNotChanged) {
  Server server({refuse("response_format is unknown")});
  ProviderConfig config = configFor(server);
  config.structured = StructuredMode::JSONSchema;
  EXPECT_EQ(failure(providerFor(config)->complete(structured(), {})).kind,
            ChatErrorKind::BadRequest);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Learned, ASchemaWithFreeKeysIsNotStrict) {
  Server server({Server::reply(200, fine)});
  ChatRequest request = structured();
  request.response->schema =
      R"({"type": "object", "additionalProperties": {"type": "integer"}})";
  success(providerFor(configFor(server))->complete(request, {}));
  Json sent = bodyOf(server, 0)["response_format"]["json_schema"];
  EXPECT_EQ(sent["strict"], false);
  EXPECT_TRUE(sent["schema"].contains("additionalProperties"));
}

TEST(Learned, ToolsBecomeActions) {
  for (auto [status, message] : std::vector<std::pair<int, const char *>>{
           {400, "scripted does not support tools"},
           {500, "tools param requires --jinja flag"},
           {404, "No endpoints found that support tool use"}}) {
    Server server(
        {refuse(message, status),
         Server::reply(
             200, completion(quoted("I look.\n```json\n{\"action\": \"look\", "
                                    "\"arguments\": {\"at\": 3}}\n```"))),
         Server::reply(200, fine)});
    auto provider = providerFor(configFor(server));
    ChatRequest request = structured();
    request.tools = {{"look", "looks at a line", R"({"type": "object"})"}};
    ChatReply reply = success(provider->complete(request, {}));
    ASSERT_EQ(reply.message.toolCalls.size(), 1u) << message;
    EXPECT_EQ(reply.stop, StopReason::ToolUse);
    EXPECT_EQ(reply.message.toolCalls[0].name, "look");
    EXPECT_EQ(reply.message.toolCalls[0].arguments, R"({"at":3})");
    Json sent = bodyOf(server, 1);
    EXPECT_FALSE(sent.contains("tools"));
    std::string system = chat::asText(sent["messages"][0]["content"]);
    EXPECT_NE(system.find("- look: looks at a line"), std::string::npos);
    // An enforced schema would leave no room for an action.
    EXPECT_EQ(sent["response_format"]["type"], "json_object");
    EXPECT_FALSE(sent["response_format"].contains("schema"));

    request.messages.push_back(reply.message);
    request.messages.push_back(
        ChatMessage::toolResult(reply.message.toolCalls[0].id, "a loop"));
    success(provider->complete(request, {}));
    Json messages = bodyOf(server, 2)["messages"];
    EXPECT_EQ(messages[2]["role"], "assistant");
    EXPECT_FALSE(messages[2].contains("tool_calls"));
    EXPECT_EQ(messages[3], llvm::cantFail(chat::parseJson(
                               R"({"role": "user", "content":
                                   "Result of look:\na loop"})")));
  }
}

TEST(Learned, AnUndeclaredActionIsText) {
  Server server({Server::reply(
      200, completion(quoted(R"({"action": "delete", "arguments": {}})")))});
  ChatRequest request = ask();
  request.tools = {{"look", "looks", R"({"type": "object"})"}};
  ChatReply reply =
      success(providerFor(configFor(server))->complete(request, {}));
  EXPECT_TRUE(reply.message.toolCalls.empty());
}

TEST(Learned, NoSystemRole) {
  Server server(
      {refuse("System role not supported", 500), Server::reply(200, fine)});
  ChatRequest request = ask("the question");
  request.messages.insert(request.messages.begin(),
                          ChatMessage::system("be brief"));
  success(providerFor(configFor(server))->complete(request, {}));
  Json messages = bodyOf(server, 1)["messages"];
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0]["content"], "be brief\n\nthe question");
}

TEST(Learned, AServerCannotObjectForEver) {
  std::vector<Server::Step> steps;
  for (int i = 0; i < 40; ++i)
    steps.push_back(
        refuse("max_tokens is at most " + std::to_string(4000 - i)));
  Server server(steps);
  EXPECT_EQ(failure(providerFor(configFor(server))->complete(ask(), {})).kind,
            ChatErrorKind::BadRequest);
  EXPECT_EQ(server.requests().size(), 17u);
}

TEST(Learned, AnErrorThatNamesNothingIsAnError) {
  Server server({refuse("the moon is full")});
  ChatRequest request = structured();
  request.temperature = 1;
  EXPECT_EQ(failure(providerFor(configFor(server))->complete(request, {})).kind,
            ChatErrorKind::BadRequest);
  EXPECT_EQ(server.requests().size(), 1u);
}
