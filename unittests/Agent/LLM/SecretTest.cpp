//===- SecretTest.cpp - Keys are sent and never shown ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Secret.h"
#include "Json.h"
#include "ScriptedServer.h"
#include "gtest/gtest.h"
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::test;
using Server = ScriptedServer;

static const std::string key = "sk-proj-AbCdEf0123456789";

namespace {
/// A key file that goes away with the object.
struct KeyFile {
  std::string path;

  KeyFile(const std::string &contents, mode_t mode) {
    char name[] = "/tmp/sparseditto-key-XXXXXX";
    int fd = mkstemp(name);
    path = name;
    EXPECT_EQ(write(fd, contents.data(), contents.size()),
              ssize_t(contents.size()));
    EXPECT_EQ(fchmod(fd, mode), 0);
    close(fd);
  }
  ~KeyFile() { unlink(path.c_str()); }
};
} // namespace

TEST(Secret, Redaction) {
  chat::Secret secret(key);
  EXPECT_EQ(secret.redact("a " + key + " b " + key), "a [redacted] b "
                                                     "[redacted]");
  EXPECT_EQ(secret.redact("Incorrect API key provided: sk-proj-AbC*****6789."),
            "Incorrect API key provided: [redacted]");
  EXPECT_EQ(secret.redact("sk-lite is no key of ours"),
            "sk-lite is no key of ours");
  EXPECT_EQ(chat::Secret("a\"b\\cdef").redact(R"("k": "a\"b\\cdef")"),
            R"("k": "[redacted]")");
  EXPECT_EQ(chat::Secret().redact("text"), "text");
}

TEST(Secret, AnEchoedKeyIsShownNowhere) {
  // In an error, in a page of a proxy, in the reply itself, and in a redirect.
  Server server(
      {Server::reply(401, R"({"error": {"message": "bad key )" + key + "\"}}"),
       Server::reply(503, "<pre>Authorization: Bearer " + key + "</pre>"),
       Server::reply(200, completion(quoted("your key is " + key))),
       Server::reply(307, "", {"Location: http://127.0.0.2/" + key}),
       Server::raw(key + "\r\n\r\n")});
  KeyFile file(key + "\n", 0600);
  ProviderConfig config = configFor(server);
  config.keyFile = file.path;
  std::vector<std::string> warnings;
  auto created = createChatProvider(config, warnings);
  ASSERT_TRUE(bool(created));
  EXPECT_TRUE(warnings.empty());
  ChatProvider &provider = **created;
  EXPECT_EQ(provider.name().find(key), std::string::npos);
  auto clean = [](const std::string &text) {
    EXPECT_EQ(text.find("AbCdEf"), std::string::npos) << text;
  };
  ChatError error = failure(provider.complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::Auth);
  EXPECT_NE(error.message.find("bad key [redacted]"), std::string::npos);
  clean(error.message);
  clean(error.attempts[0].outcome);
  ChatReply reply = success(provider.complete(ask(), {}));
  EXPECT_EQ(reply.message.text, "your key is [redacted]");
  ASSERT_EQ(reply.attempts.size(), 2u);
  clean(reply.attempts[0].outcome);
  clean(failure(provider.complete(ask(), {})).message);
  error = failure(provider.complete(ask(), {}));
  clean(error.message);
  for (const ChatAttempt &attempt : error.attempts)
    clean(attempt.outcome);
  // And yet it was sent.
  for (const ReceivedRequest &request : server.requests())
    EXPECT_EQ(request.headers.at("authorization"), "Bearer " + key);
}

TEST(Secret, KeyHeader) {
  Server server({Server::reply(200, completion("\"fine\""))});
  ScopedVariable variable("SPARSEDITTO_TEST_KEY", key);
  ProviderConfig config = configFor(server);
  config.keyVariable = "SPARSEDITTO_TEST_KEY";
  config.keyHeader = "api-key";
  success(providerFor(config)->complete(ask(), {}));
  EXPECT_EQ(server.requests()[0].headers.at("api-key"), key);
  EXPECT_EQ(server.requests()[0].headers.count("authorization"), 0u);
}

TEST(Secret, AKeyFileThatOthersCanReadIsWarnedOf) {
  KeyFile file(key, 0644);
  ProviderConfig config;
  config.endpoint = "https://model.invalid/v1";
  config.model = "m";
  config.keyFile = file.path;
  std::vector<std::string> warnings;
  ASSERT_TRUE(bool(createChatProvider(config, warnings)));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "key file '" + file.path +
                             "' is open to others (mode 644); chmod 600 closes "
                             "it");
}

TEST(Secret, UnusableKeys) {
  auto messageFor = [](const ProviderConfig &config) {
    std::vector<std::string> warnings;
    auto provider = createChatProvider(config, warnings);
    EXPECT_FALSE(bool(provider));
    if (provider)
      return std::string();
    ChatError error = typedError(provider.takeError());
    EXPECT_EQ(error.kind, ChatErrorKind::Config);
    EXPECT_EQ(error.message.find(key), std::string::npos);
    return error.message;
  };
  ProviderConfig config;
  config.endpoint = "https://model.invalid/v1";
  config.model = "m";
  config.keyVariable = "SPARSEDITTO_NO_SUCH_KEY";
  EXPECT_EQ(messageFor(config),
            "key variable 'SPARSEDITTO_NO_SUCH_KEY' is not set");
  ScopedVariable variable("SPARSEDITTO_TEST_KEY", "  ");
  config.keyVariable = "SPARSEDITTO_TEST_KEY";
  EXPECT_EQ(messageFor(config), "key variable 'SPARSEDITTO_TEST_KEY' is empty");
  config.keyVariable.clear();
  config.keyFile = "/nonexistent/key";
  EXPECT_EQ(messageFor(config),
            "key file '/nonexistent/key': No such file or directory");
  config.keyFile = "/dev/zero";
  EXPECT_EQ(messageFor(config),
            "key file '/dev/zero': it is not a regular file");
  // A second line could become a header of its own.
  KeyFile two(key + "\r\nX-Evil: 1", 0600);
  config.keyFile = two.path;
  EXPECT_NE(messageFor(config).find("more than one line"), std::string::npos);
  config.keyFile.clear();
  config.endpoint = "https://api.openai.com/v1";
  EXPECT_EQ(messageFor(config),
            "api.openai.com needs a key; set SPARSEDITTO_LLM_API_KEY_FILE or "
            "SPARSEDITTO_LLM_API_KEY");
  config.endpoint = "https://user:" + key + "@model.invalid/";
  EXPECT_NE(messageFor(config).find("a user name or a password"),
            std::string::npos);
  config.endpoint = "https://model.invalid/";
  config.headers = {{"Authorization", "Bearer " + key}};
  EXPECT_NE(messageFor(config).find("header 'Authorization' carries a key"),
            std::string::npos);
  config.headers = {{"X-A", "1\r\nX-B: 2"}};
  EXPECT_EQ(messageFor(config), "header 'X-A' is not valid");
}
