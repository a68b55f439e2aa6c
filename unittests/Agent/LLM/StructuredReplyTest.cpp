//===- StructuredReplyTest.cpp - JSON out of a model, checked -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/StructuredReply.h"
#include "Json.h"
#include "Schema.h"
#include "ScriptedServer.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;
using sparseditto::chat::Json;
using Server = ScriptedServer;

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

static std::string extracted(const std::string &text) {
  llvm::Expected<std::string> json = extractJSON(text);
  return json ? *json : "error: " + llvm::toString(json.takeError());
}

TEST(ExtractJSON, WhereverItStands) {
  for (const char *text :
       {R"({"a": "}{"})", "  \n{\"a\": \"}{\"}\n",
        "Sure! Here it is:\n```json\n{\"a\": \"}{\"}\n```\nAnything else?",
        "~~~\n{\"a\": \"}{\"}\n~~~", "``` JSON\n{\"a\": \"}{\"}",
        "I take {\"a\": \"}{\"}.", "f(x) { return; } so {\"a\": \"}{\"}",
        "```\nfirst {x}\n```\nthen ```no\n```json\n{\"a\": \"}{\"}\n```"})
    EXPECT_EQ(extracted(text), R"({"a":"}{"})") << text;
}

TEST(ExtractJSON, TheLastOneIsMeant) {
  EXPECT_EQ(extracted("Not {\"a\": 1} but {\"a\": 2}"), R"({"a":2})");
  EXPECT_EQ(extracted("```\n{\"a\": 1}\n```\n```\n{\"a\": 2}\n```"),
            R"({"a":2})");
}

TEST(ExtractJSON, SaysWhyThereIsNone) {
  EXPECT_EQ(extracted(""), "error: the answer is empty");
  EXPECT_EQ(extracted("I cannot"),
            "error: there is no JSON object in the answer");
  EXPECT_EQ(extracted("so {\"a\": [1, 2"),
            "error: the JSON object is not closed");
  std::string missing = extracted("{\"a\" 1}");
  EXPECT_EQ(missing.find("error: parse error at line 1, column 6"), 0u)
      << missing;
}

TEST(ExtractJSON, HostileTextsAreQuick) {
  EXPECT_EQ(extracted(std::string(1 << 20, '{')).find("error: "), 0u);
  EXPECT_EQ(extracted(std::string(1 << 22, '"')).find("error: "), 0u);
  std::string many;
  for (int i = 0; i < 100000; ++i)
    many += "{\"a\":[";
  EXPECT_EQ(extracted(many).find("error: "), 0u);
}

//===----------------------------------------------------------------------===//
// Checking it
//===----------------------------------------------------------------------===//

static std::string checked(const std::string &schema, const std::string &json) {
  return llvm::toString(validateJSON(schema, json));
}

static const std::string proposals = R"({"type": "object", "properties": {
    "proposals": {"type": "array", "minItems": 1, "maxItems": 2, "items": {
      "anyOf": [
        {"type": "object", "properties": {
           "family": {"const": "csr"},
           "knobs": {"type": "object", "properties": {
             "threads": {"enum": [64, 128]}}, "required": ["threads"],
             "additionalProperties": false}},
         "required": ["family", "knobs"], "additionalProperties": false},
        {"type": "object", "properties": {
           "family": {"const": "nm"},
           "knobs": {"type": "object", "properties": {
             "stages": {"type": "integer", "minimum": 2, "maximum": 4}},
             "additionalProperties": false}},
         "required": ["family", "knobs"], "additionalProperties": false}]}},
    "reason": {"type": ["string", "null"], "minLength": 2, "maxLength": 5}},
  "required": ["proposals"], "additionalProperties": false})";

TEST(ValidateJSON, AcceptsWhatFits) {
  for (const char *json :
       {R"({"proposals": [{"family": "csr", "knobs": {"threads": 64}}]})",
        R"({"proposals": [{"family": "nm", "knobs": {"stages": 3.0}},
            {"family": "nm", "knobs": {}}], "reason": "äöü"})",
        R"({"proposals": [{"family": "nm", "knobs": {}}], "reason": null})"})
    EXPECT_EQ(checked(proposals, json), "") << json;
}

TEST(ValidateJSON, SaysWhatIsWrongAndWhere) {
  for (auto [json, message] :
       std::vector<std::pair<const char *, const char *>>{
           {"{}", "at /: got an object without \"proposals\", wanted all of "
                  "\"proposals\""},
           {"[]", "at /: got an array of 0, wanted object"},
           {R"({"proposals": []})",
            "at /proposals: got an array of 0, wanted at least 1 items"},
           {R"({"proposals": [1, 2, 3]})",
            "at /proposals: got an array of 3, wanted at most 2 items"},
           {R"({"proposals": [{"family": "csr", "knobs": {"threads": 65}}]})",
            "at /proposals/0/knobs/threads: got 65, wanted one of 64, 128"},
           {R"({"proposals": [{"family": "nm", "knobs": {"stages": 9}}]})",
            "at /proposals/0/knobs/stages: got 9, wanted a number in [2, 4]"},
           {R"({"proposals": [{"family": "nm", "knobs": {"stages": 2.5}}]})",
            "at /proposals/0/knobs/stages: got 2.5, wanted integer"},
           {R"({"proposals": [{"family": "nm", "knobs": {"x": 1}}]})",
            "at /proposals/0/knobs: got \"x\", wanted only \"stages\""},
           {R"({"proposals": [{"family": "nm", "knobs": {}}], "reason": "a"})",
            "at /reason: got 1 characters, wanted at least 2"},
           {R"({"proposals": [{"family": "nm", "knobs": {}}],
               "reason": "abcdef"})",
            "at /reason: got 6 characters, wanted at most 5"},
           {R"({"proposals": [{"family": "nm", "knobs": {}}], "reason": 4})",
            "at /reason: got 4, wanted string or null"}})
    EXPECT_EQ(checked(proposals, json), message);
}

TEST(ValidateJSON, AWrongSchemaIsNoPass) {
  for (auto [schema, message] :
       std::vector<std::pair<const char *, const char *>>{
           {R"({"type": "object", "patternProperties": {}})",
            "schema at /: unknown keyword \"patternProperties\""},
           {R"({"type": "tuple"})",
            "schema at /: \"type\" is not a type or a list of types"},
           {R"({"properties": {"a": {"minimum": "1"}}})",
            "schema at //a: \"minimum\" is not a number"},
           {R"({"enum": []})", "schema at /: \"enum\" is not a list of values"},
           {"[]", "schema at /: not an object"}})
    EXPECT_EQ(checked(schema, "{}"), message);
}

TEST(Schema, NullsForOptionalPropertiesAreDropped) {
  Json schema = llvm::cantFail(chat::parseJson(proposals));
  Json value = llvm::cantFail(chat::parseJson(
      R"({"proposals": [{"family": "nm", "knobs": {"stages": null}}],
          "reason": null})"));
  EXPECT_NE(chat::validate(schema, value), "");
  chat::dropNulls(schema, value);
  EXPECT_EQ(chat::validate(schema, value), "");
  EXPECT_EQ(chat::dump(value), R"({"proposals":[{"family":"nm","knobs":{}}],)"
                               R"("reason":null})");
}

TEST(Schema, StrictSubset) {
  auto strict =
      chat::strictSchema(llvm::cantFail(chat::parseOrderedJson(proposals)));
  ASSERT_TRUE(strict.has_value());
  std::string text = chat::dump(*strict);
  for (const char *keyword :
       {"minItems", "maxItems", "minimum", "maximum", "minLength"})
    EXPECT_EQ(text.find(keyword), std::string::npos) << keyword;
  EXPECT_EQ(chat::dump((*strict)["required"]), R"(["proposals","reason"])");
  // What was required stays as it is.
  EXPECT_EQ(chat::dump((*strict)["properties"]["proposals"]["items"]["anyOf"][1]
                                ["properties"]["family"]),
            R"({"const":"nm"})");
  EXPECT_EQ(
      chat::dump((*strict)["properties"]["proposals"]["items"]["anyOf"][1]
                          ["properties"]["knobs"]["properties"]["stages"]),
      R"({"type":["integer","null"]})");
}

//===----------------------------------------------------------------------===//
// Asking for it
//===----------------------------------------------------------------------===//

static ChatRequest question() {
  ChatRequest request = ask("which?");
  request.response = {"answer", R"({"type": "object", "properties":
      {"x": {"type": "integer"}}, "required": ["x"]})"};
  return request;
}

static llvm::Expected<StructuredReply> answer(const Server &server) {
  auto provider = providerFor(configFor(server));
  return completeStructured(*provider, question(), {});
}

TEST(StructuredReply, FirstAnswer) {
  Server server({Server::reply(200, completion(quoted("So:\n{\"x\": 4}")))});
  auto reply = answer(server);
  ASSERT_TRUE(bool(reply)) << llvm::toString(reply.takeError());
  EXPECT_EQ(reply->json, R"({"x":4})");
  EXPECT_FALSE(reply->repaired);
}

TEST(StructuredReply, OfSeveralObjectsTheOneThatMatches) {
  Server server({Server::reply(
      200, completion(quoted("{\"x\": 4}, for example as {\"y\": 5}")))});
  auto reply = answer(server);
  ASSERT_TRUE(bool(reply)) << llvm::toString(reply.takeError());
  EXPECT_EQ(reply->json, R"({"x":4})");
}

TEST(StructuredReply, SomeServersPutItIntoTheReasoning) {
  Server server(
      {Server::reply(200, R"({"choices": [{"message": {"content": null,
               "reasoning_content": "{\"x\": 7}"}}]})")});
  auto reply = answer(server);
  ASSERT_TRUE(bool(reply)) << llvm::toString(reply.takeError());
  EXPECT_EQ(reply->json, R"({"x":7})");
}

TEST(StructuredReply, OneRepair) {
  Server server({Server::reply(200, completion(quoted("{\"x\": \"four\"}"))),
                 Server::reply(200, completion(quoted("{\"x\": 4}")))});
  auto reply = answer(server);
  ASSERT_TRUE(bool(reply)) << llvm::toString(reply.takeError());
  EXPECT_EQ(reply->json, R"({"x":4})");
  EXPECT_TRUE(reply->repaired);
  EXPECT_EQ(reply->firstError, "at /x: got \"four\", wanted integer");
  EXPECT_EQ(reply->reply.usage.input, 20);
  EXPECT_EQ(reply->reply.attempts.size(), 2u);
  Json messages =
      llvm::cantFail(chat::parseJson(server.requests()[1].body))["messages"];
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[1]["content"], "{\"x\": \"four\"}");
  EXPECT_EQ(messages[2]["content"],
            "That answer was not accepted: at /x: got \"four\", wanted "
            "integer\nAnswer again with the corrected JSON object and nothing "
            "else.");
}

TEST(StructuredReply, ASecondWrongAnswerIsAnError) {
  Server server({Server::reply(200, completion(quoted("no"))),
                 Server::reply(200, completion(quoted("still no")))});
  auto reply = answer(server);
  ASSERT_FALSE(bool(reply));
  ChatError error = typedError(reply.takeError());
  EXPECT_EQ(error.kind, ChatErrorKind::InvalidReply);
  EXPECT_EQ(error.message, "the answer does not match, after one repair: there "
                           "is no JSON object in the answer");
  EXPECT_EQ(error.usage.input, 20);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(StructuredReply, AFailedRepairTellsWhatBothUsed) {
  Server server(
      {Server::reply(200, completion(quoted("no"))), Server::reply(401, "{}")});
  auto reply = answer(server);
  ASSERT_FALSE(bool(reply));
  ChatError error = typedError(reply.takeError());
  EXPECT_EQ(error.kind, ChatErrorKind::Auth);
  EXPECT_EQ(error.usage.input, 10);
  EXPECT_EQ(error.attempts.size(), 2u);
}

TEST(StructuredReply, RefusalsAreNotRepaired) {
  Server server({Server::reply(200, R"({"choices": [{"message": {"content":
                     null, "refusal": "no"}}]})")});
  auto reply = answer(server);
  ASSERT_FALSE(bool(reply));
  ChatError error = typedError(reply.takeError());
  EXPECT_EQ(error.kind, ChatErrorKind::Refused);
  EXPECT_EQ(error.message, "the model declined to answer: no");
}

TEST(StructuredReply, ToolCallsEndTheTurn) {
  Server server({Server::reply(200, R"({"choices": [{"message": {"tool_calls":
      [{"id": "c", "function": {"name": "look", "arguments": "{}"}}]}}]})")});
  auto reply = answer(server);
  ASSERT_TRUE(bool(reply)) << llvm::toString(reply.takeError());
  EXPECT_EQ(reply->json, "");
  EXPECT_EQ(reply->reply.message.toolCalls.size(), 1u);
}

TEST(StructuredReply, RequestsAreCheckedBeforeTheyAreSent) {
  Server server({});
  auto provider = providerFor(configFor(server));
  ChatRequest request = question();
  request.response->schema = R"({"type": "object", "not": {}})";
  auto reply = completeStructured(*provider, request, {});
  ASSERT_FALSE(bool(reply));
  EXPECT_EQ(typedError(reply.takeError()).kind, ChatErrorKind::Config);
  ChatRequest tools = ask();
  tools.tools = {{"bad name", "", "{}"}};
  EXPECT_EQ(failure(provider->complete(tools, {})).message,
            "tool 'bad name': a name has 1 to 64 letters, digits, '_' or '-'");
  EXPECT_EQ(failure(provider->complete(ChatRequest(), {})).kind,
            ChatErrorKind::Config);
  EXPECT_TRUE(server.requests().empty());
}
