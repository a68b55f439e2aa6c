//===- ProviderConfigTest.cpp - File, environment and options -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HttpStatus.h"
#include "ScriptedServer.h"
#include "Url.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "gtest/gtest.h"
#include <fstream>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::test;

static llvm::Expected<ProviderConfig>
load(const std::string &text, const ProviderOptions &options = {},
     std::map<std::string, std::string> environment = {},
     const std::string &name = "llm") {
  char path[] = "/tmp/sparseditto-config-XXXXXX";
  int fd = mkstemp(path);
  std::ofstream(path) << text;
  close(fd);
  llvm::scope_exit remove([&] { unlink(path); });
  auto get = [&](const char *variable) -> const char * {
    auto it = environment.find(variable);
    return it == environment.end() ? nullptr : it->second.c_str();
  };
  return loadProviderConfig(name, text.empty() ? "" : path, options, get);
}

static std::string problem(llvm::Expected<ProviderConfig> config) {
  if (config)
    return "";
  ChatError error = typedError(config.takeError());
  EXPECT_EQ(error.kind, ChatErrorKind::Config);
  // The file's name changes.
  size_t at = error.message.find("-config-");
  return at == std::string::npos ? error.message
                                 : error.message.substr(at + 14);
}

static const std::string file = R"({"version": 1,
  "providers": {
    "llm": {"endpoint": "https://a.example/v1", "model": "big",
            "api_key_file": "keys/a", "max_calls": 30, "max_money": 1.5,
            "parameters": {"reasoning_effort": "low"},
            "headers": {"X-Team": "k"}, "structured": "json_object",
            "tools": "actions", "request_seconds": 90.5},
    "local": {"endpoint": "http://localhost:8080", "model": "tiny",
              "dialect": "anthropic", "api_key_env": "LOCAL_KEY"}},
  "prices": {"big": {"input": 1, "output": 8, "cached_input": 0.1}}})";

TEST(ProviderConfig, File) {
  auto config = load(file);
  ASSERT_TRUE(bool(config)) << llvm::toString(config.takeError());
  EXPECT_EQ(config->endpoint, "https://a.example/v1");
  EXPECT_EQ(config->model, "big");
  // Beside the configuration.
  EXPECT_EQ(config->keyFile, "/tmp/keys/a");
  EXPECT_EQ(config->limits.calls, 30);
  EXPECT_DOUBLE_EQ(config->limits.money, 1.5);
  EXPECT_EQ(config->extraParameters, R"({"reasoning_effort":"low"})");
  ASSERT_EQ(config->headers.size(), 1u);
  EXPECT_EQ(config->structured, StructuredMode::JSONObject);
  EXPECT_EQ(config->tools, ToolMode::JSONActions);
  EXPECT_DOUBLE_EQ(config->requestSeconds, 90.5);
  ASSERT_NE(config->price(), nullptr);
  EXPECT_DOUBLE_EQ(*config->price()->cachedInput, 0.1);
  auto local = load(file, {}, {{"SPARSEDITTO_LLM_MODEL", "other"}}, "local");
  ASSERT_TRUE(bool(local));
  // The environment speaks of "llm" alone.
  EXPECT_EQ(local->model, "tiny");
  EXPECT_EQ(local->dialect, ChatDialect::Anthropic);
  EXPECT_EQ(local->keyVariable, "LOCAL_KEY");
  EXPECT_EQ(local->price(), nullptr);
}

TEST(ProviderConfig, EnvironmentOverFileAndOptionsOverBoth) {
  std::map<std::string, std::string> environment = {
      {"SPARSEDITTO_LLM_ENDPOINT", "https://b.example"},
      {"SPARSEDITTO_LLM_MODEL", "middle"},
      {"SPARSEDITTO_LLM_API_KEY", "secret"},
      {"SSL_CERT_FILE", "/etc/ca.pem"}};
  auto config = load(file, {}, environment);
  ASSERT_TRUE(bool(config));
  EXPECT_EQ(config->endpoint, "https://b.example");
  EXPECT_EQ(config->model, "middle");
  EXPECT_EQ(config->keyVariable, "SPARSEDITTO_LLM_API_KEY");
  EXPECT_EQ(config->keyFile, "");
  EXPECT_EQ(config->caFile, "/etc/ca.pem");
  config = load(file,
                {{"model", "4"},
                 {"api_key_file", "k"},
                 {"max_calls", "7"},
                 {"allow_plain_http", "true"},
                 {"parameters", "{\"a\": 1}"}},
                environment);
  ASSERT_TRUE(bool(config)) << llvm::toString(config.takeError());
  EXPECT_EQ(config->model, "4");
  EXPECT_EQ(config->keyFile, "k");
  EXPECT_EQ(config->keyVariable, "");
  EXPECT_EQ(config->limits.calls, 7);
  EXPECT_TRUE(config->allowPlainHTTP);
  EXPECT_EQ(config->extraParameters, R"({"a":1})");
}

TEST(ProviderConfig, Errors) {
  EXPECT_NE(problem(loadProviderConfig("llm", "/nonexistent.json", {}))
                .find("/nonexistent.json: No such file"),
            std::string::npos);
  EXPECT_EQ(problem(load("{")).find(": parse error at line 1"), 0u);
  EXPECT_EQ(problem(load("{}")), ": \"version\" is not 1");
  EXPECT_EQ(problem(load(R"({"version": 1, "provider": {}})")),
            ": unknown field 'provider', expected version, providers, prices");
  EXPECT_EQ(problem(load(file, {}, {}, "remote")),
            ": no provider 'remote', it has 'llm', 'local'");
  EXPECT_EQ(problem(load(R"({"version": 1})")),
            ": no provider 'llm', it has none");
  auto provider = [](const std::string &fields) {
    return problem(
        load(R"({"version": 1, "providers": {"llm": {)" + fields + "}}}"));
  };
  EXPECT_EQ(provider(R"("max_calls": -1)"),
            ": provider 'llm': 'max_calls' is not a count");
  EXPECT_EQ(provider(R"("max_calls": 1.5)"),
            ": provider 'llm': 'max_calls' is not a count");
  EXPECT_EQ(provider(R"("dialect": "google")"),
            ": provider 'llm': 'dialect' is not auto, openai or anthropic");
  EXPECT_EQ(provider(R"("temprature": 1)")
                .find(": provider 'llm': unknown field 'temprature', expected "
                      "endpoint, dialect, "),
            0u);
  std::string key = provider(R"("api_key": "sk-0123456789")");
  EXPECT_NE(key.find("a key has no place in a configuration"),
            std::string::npos);
  EXPECT_EQ(key.find("0123"), std::string::npos);
  EXPECT_EQ(provider(R"("api_key_env": "A", "api_key_file": "b")"),
            ": provider 'llm': give one of api_key_env and api_key_file");
  EXPECT_NE(problem(load(R"({"version": 1, "prices": {"m": {"input": 1}}})"))
                .find("the price of 'm' is not an object of"),
            std::string::npos);
  EXPECT_NE(problem(load(R"({"version": 1, "prices": {"m": 3}})"))
                .find("the price of 'm' is not an object of"),
            std::string::npos);
  EXPECT_EQ(problem(load("", {{"max_calls", "many"}})),
            "option: 'max_calls' is not a count");
  EXPECT_NE(problem(load("", {{"speed", "9"}})).find("unknown field 'speed'"),
            std::string::npos);
  EXPECT_NE(problem(load("", {},
                         {{"SPARSEDITTO_LLM_API_KEY", "a"},
                          {"SPARSEDITTO_LLM_API_KEY_FILE", "b"}}))
                .find("are both set; unset one"),
            std::string::npos);
}

TEST(ProviderConfig, EndpointsThatAreRefused) {
  auto messageFor = [](const std::string &endpoint, const char *model = "m") {
    ProviderConfig config;
    config.endpoint = endpoint;
    config.model = model;
    std::vector<std::string> warnings;
    auto provider = createChatProvider(config, warnings);
    if (provider)
      return std::string("accepted");
    return typedError(provider.takeError()).message;
  };
  EXPECT_EQ(messageFor(""), "no endpoint is set; set SPARSEDITTO_LLM_ENDPOINT "
                            "or the option endpoint");
  EXPECT_EQ(messageFor("ftp://host/"),
            "an endpoint begins with https://, http://, command: or mailbox:");
  EXPECT_EQ(messageFor("http://model.example/v1?key=1"),
            "http://model.example/v1 is neither https nor this machine; "
            "allow_plain_http permits it");
  EXPECT_NE(messageFor("http://127.0.0.1.evil.example/").find("neither https"),
            std::string::npos);
  EXPECT_EQ(messageFor("https://h:99999/"), "'99999' is not a port");
  EXPECT_EQ(messageFor("https:///v1"), "'' is not a host");
  EXPECT_NE(messageFor("https://h/\r\nX: 1").find("has a blank"),
            std::string::npos);
  EXPECT_NE(messageFor("http://127.0.0.1\\@evil.example/").find("a backslash"),
            std::string::npos);
  EXPECT_EQ(messageFor("https://h/", ""),
            "no model is named for https://h/; set SPARSEDITTO_LLM_MODEL or "
            "the option model");
  EXPECT_EQ(messageFor("command:"), "endpoint 'command:' names no program");
  EXPECT_EQ(messageFor("mailbox:"), "endpoint 'mailbox:' names no folder");
  for (const char *local : {"http://localhost:1/", "http://127.8.9.1/",
                            "http://[::1]:8080/v1", "HTTP://LOCALHOST"})
    EXPECT_EQ(messageFor(local), "accepted") << local;
}

TEST(ProviderConfig, PlainHTTPWithAKeyIsWarnedOf) {
  ScopedVariable key("SPARSEDITTO_TEST_KEY", "sk-0123456789");
  ProviderConfig config;
  config.endpoint = "http://model.example/v1";
  config.model = "m";
  config.allowPlainHTTP = true;
  config.keyVariable = "SPARSEDITTO_TEST_KEY";
  std::vector<std::string> warnings;
  ASSERT_TRUE(bool(createChatProvider(config, warnings)));
  EXPECT_EQ(warnings,
            std::vector<std::string>{"the key is sent to model.example without "
                                     "encryption"});
}

TEST(ProviderConfig, DialectFromTheEndpoint) {
  ScopedVariable key("SPARSEDITTO_TEST_KEY", "sk-0123456789");
  for (auto [endpoint, name] :
       std::vector<std::pair<const char *, const char *>>{
           {"https://api.anthropic.com",
            "anthropic m at https://api.anthropic.com/v1/messages"},
           {"http://localhost:8080/v1/messages",
            "anthropic m at http://localhost:8080/v1/messages"},
           {"https://api.openai.com/v1?token=secret",
            "openai m at https://api.openai.com/v1/chat/completions"}}) {
    ProviderConfig config;
    config.endpoint = endpoint;
    config.model = "m";
    config.keyVariable = "SPARSEDITTO_TEST_KEY";
    EXPECT_EQ(providerFor(config)->name(), name);
  }
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

static double waitOf(std::initializer_list<const char *> lines) {
  chat::HttpHeaders headers;
  for (const char *line : lines)
    headers.add(line);
  // Sun, 06 Nov 1994 08:49:37 GMT
  return chat::requestedWait(headers, 784111777).value_or(-1);
}

TEST(RequestedWait, EveryForm) {
  EXPECT_DOUBLE_EQ(waitOf({"Retry-After: 7\r\n"}), 7);
  EXPECT_DOUBLE_EQ(waitOf({"retry-after-ms: 1500", "retry-after: 2"}), 1.5);
  EXPECT_DOUBLE_EQ(waitOf({"Retry-After: Sun, 06 Nov 1994 08:50:00 GMT"}), 23);
  EXPECT_DOUBLE_EQ(waitOf({"Retry-After: Sun, 06 Nov 1994 08:00:00 GMT"}), 0);
  EXPECT_DOUBLE_EQ(waitOf({"x-ratelimit-remaining-tokens: 0",
                           "x-ratelimit-reset-tokens: 6m0s",
                           "x-ratelimit-remaining-requests: 12",
                           "x-ratelimit-reset-requests: 8h"}),
                   360);
  EXPECT_DOUBLE_EQ(waitOf({"x-ratelimit-remaining-requests: 0",
                           "x-ratelimit-reset-requests: 1m2.5s20ms"}),
                   62.52);
  for (const char *bad :
       {"retry-after: soon", "retry-after: -1", "retry-after: nan",
        "retry-after-ms: inf", "x-ratelimit-reset-requests: 5s"})
    EXPECT_DOUBLE_EQ(waitOf({bad}), -1) << bad;
}

TEST(Backoff, DoublesUpToEightSeconds) {
  EXPECT_DOUBLE_EQ(chat::backoffSeconds(1, 0.5, 0), 0.5);
  EXPECT_DOUBLE_EQ(chat::backoffSeconds(3, 0.5, 0), 2);
  EXPECT_DOUBLE_EQ(chat::backoffSeconds(9, 0.5, 0), 8);
  EXPECT_DOUBLE_EQ(chat::backoffSeconds(4000000000u, 0.5, 1), 6);
}
