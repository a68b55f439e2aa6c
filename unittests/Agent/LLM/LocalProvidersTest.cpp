//===- LocalProvidersTest.cpp - Commands and mailboxes --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScriptedServer.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::test;

namespace {
class LocalProviders : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sparseditto-llm", path));
    folder = std::string(path);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void write(const std::string &name, const std::string &text) {
    // Whole or not at all, as everybody should.
    std::ofstream(folder + "/draft") << text;
    ASSERT_EQ(
        rename((folder + "/draft").c_str(), (folder + "/" + name).c_str()), 0);
  }
  std::string read(const std::string &name) {
    std::stringstream text;
    text << std::ifstream(folder + "/" + name).rdbuf();
    return text.str();
  }
  bool exists(const std::string &name) {
    return access((folder + "/" + name).c_str(), F_OK) == 0;
  }
  std::unique_ptr<ChatProvider> command(const std::string &script) {
    write("model.sh", script);
    ProviderConfig config;
    config.endpoint = "command:/bin/sh '" + folder + "/model.sh' 'two words'";
    config.requestSeconds = seconds;
    config.maxReplyBytes = 100000;
    return providerFor(config);
  }
  std::unique_ptr<ChatProvider> mailbox() {
    ProviderConfig config;
    config.endpoint = "mailbox:" + folder + "/box";
    config.stallSeconds = 0.3;
    return providerFor(config);
  }

  std::string folder;
  double seconds = 20;
};
using Command = LocalProviders;
using Mailbox = LocalProviders;
} // namespace

TEST_F(Command, RequestOnStdinReplyOnStdout) {
  auto provider = command("cat > \"$(dirname \"$0\")/seen\"; echo \"$1\"; "
                          "echo chatter >&2");
  ChatRequest request = ask("the question");
  request.tools = {{"look", "looks", R"({"type": "object"})"}};
  request.response = {"answer", R"({"type": "object"})"};
  request.seed = 3;
  ChatReply reply = success(provider->complete(request, {}));
  EXPECT_EQ(reply.message.text, "two words");
  EXPECT_TRUE(reply.usage.estimated);
  EXPECT_EQ(read("seen"), R"({
 "sparseditto_request": 1,
 "messages": [
  {
   "role": "user",
   "text": "the question"
  }
 ],
 "tools": [
  {
   "name": "look",
   "description": "looks",
   "schema": {
    "type": "object"
   }
  }
 ],
 "response": {
  "name": "answer",
  "schema": {
   "type": "object"
  }
 },
 "max_output_tokens": 4096,
 "seed": 3
}
)");
}

TEST_F(Command, AReplyInOurFormat) {
  auto provider = command(R"(echo '{"text": "", "reasoning": "hm",
      "model": "tiny", "usage": {"input": 5, "output": 6},
      "tool_calls": [{"name": "look", "arguments": {"at": 1}}]}')");
  ChatReply reply = success(provider->complete(ask(), {}));
  EXPECT_EQ(reply.reasoning, "hm");
  EXPECT_EQ(reply.model, "tiny");
  EXPECT_EQ(reply.usage.input, 5);
  EXPECT_FALSE(reply.usage.estimated);
  ASSERT_EQ(reply.message.toolCalls.size(), 1u);
  EXPECT_EQ(reply.message.toolCalls[0].arguments, R"({"at":1})");
  EXPECT_EQ(reply.stop, StopReason::ToolUse);
}

TEST_F(Command, Failures) {
  for (auto [script, kind, message] :
       std::vector<std::tuple<std::string, ChatErrorKind, std::string>>{
           {"echo why >&2; echo because >&2; exit 3",
            ChatErrorKind::CommandFailed, "exited with 3: because"},
           {"kill -TERM $$", ChatErrorKind::CommandFailed,
            "was killed by signal 15"},
           {"head -c 200000 /dev/zero", ChatErrorKind::TooLarge,
            "wrote more than 100000 bytes"},
           {"exit 0", ChatErrorKind::Malformed, "the reply is empty"},
           {R"(echo '{"error": ""}')", ChatErrorKind::Server,
            "an error without a text"},
           {R"(echo '{"error": "no more"}')", ChatErrorKind::Server,
            "answered: no more"},
           {R"(echo '{"text": "x", "stop": "length"}')",
            ChatErrorKind::Truncated, "says that its answer was cut"}}) {
    ChatError error = failure(command(script)->complete(ask(), {}));
    EXPECT_EQ(error.kind, kind) << script << ": " << error.message;
    EXPECT_NE(error.message.find(message), std::string::npos) << error.message;
  }
}

TEST_F(Command, TimeoutKillsItAndItsChildren) {
  seconds = 0.3;
  ChatError error =
      failure(command("sleep 60 & echo $! > \"$(dirname \"$0\")/child\"; wait")
                  ->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::Timeout);
  int child = std::atoi(read("child").c_str());
  ASSERT_GT(child, 1);
  // Gone, or a zombie of whoever inherited it.
  for (int i = 0; i < 200; ++i) {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string text;
    if (!std::getline(status, text) || text.find(") Z ") != std::string::npos)
      return;
    usleep(10000);
  }
  FAIL() << "process " << child << " lives";
}

TEST_F(Command, Cancel) {
  std::atomic<bool> cancelled = false;
  ChatControl control;
  control.cancelled = &cancelled;
  std::thread canceller([&] {
    usleep(100000);
    cancelled = true;
  });
  EXPECT_EQ(failure(command("sleep 60")->complete(ask(), control)).kind,
            ChatErrorKind::Cancelled);
  canceller.join();
}

TEST_F(Command, MissingProgram) {
  ProviderConfig config;
  config.endpoint = "command:no-such-program-of-ours --flag";
  std::vector<std::string> warnings;
  auto provider = createChatProvider(config, warnings);
  ASSERT_FALSE(bool(provider));
  EXPECT_EQ(typedError(provider.takeError()).message,
            "endpoint 'command:': 'no-such-program-of-ours' is not a program: "
            "No such file or directory");
}

TEST_F(Mailbox, WritesARequestAndWaits) {
  auto provider = mailbox();
  std::thread other([&] {
    while (!exists("box/request-1.json"))
      usleep(1000);
    write("box/reply-1.json", R"({"text": "fine"})");
  });
  ChatReply reply = success(provider->complete(ask("first"), {}));
  other.join();
  EXPECT_EQ(reply.message.text, "fine");
  EXPECT_NE(read("box/request-1.json").find("\"first\""), std::string::npos);
  // Nothing else lies around.
  std::error_code code;
  int files = 0;
  for (llvm::sys::fs::directory_iterator it(folder + "/box", code), end;
       it != end && !code; it.increment(code))
    ++files;
  EXPECT_EQ(files, 2);
}

TEST_F(Mailbox, ARestartedRunTakesUpWhereItWas) {
  {
    auto provider = mailbox();
    write("box/reply-1.json", R"({"text": "one"})");
    EXPECT_EQ(success(provider->complete(ask("first"), {})).message.text,
              "one");
    ChatError error =
        failure(provider->complete(ask("second"), ChatControl::within(0.1)));
    EXPECT_EQ(error.kind, ChatErrorKind::Timeout);
    EXPECT_NE(error.message.find("reply-2.json' after"), std::string::npos);
    EXPECT_EQ(error.usage.output, 0);
  }
  struct stat before, after;
  ASSERT_EQ(stat((folder + "/box/request-2.json").c_str(), &before), 0);
  write("box/reply-2.json", R"({"text": "two"})");
  auto provider = mailbox();
  EXPECT_EQ(success(provider->complete(ask("first"), {})).message.text, "one");
  EXPECT_EQ(success(provider->complete(ask("second"), {})).message.text, "two");
  ASSERT_EQ(stat((folder + "/box/request-2.json").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_FALSE(exists("box/request-3.json"));
}

TEST_F(Mailbox, AnotherRunsReplyIsNotTaken) {
  auto provider = mailbox();
  write("box/request-1.json", "another conversation");
  write("box/reply-1.json", R"({"text": "to somebody else"})");
  write("box/reply-2.json", R"({"text": "to us"})");
  EXPECT_EQ(success(provider->complete(ask(), {})).message.text, "to us");
  EXPECT_EQ(read("box/request-1.json"), "another conversation");
}

TEST_F(Mailbox, ATornReplyIsWaitedFor) {
  auto provider = mailbox();
  std::thread other([&] {
    while (!exists("box/request-1.json"))
      usleep(1000);
    // In place, in pieces, longer in all than a reply may be wrong.
    std::ofstream reply(folder + "/box/reply-1.json");
    for (char c : std::string(R"({"text": "torn"})")) {
      reply << c << std::flush;
      usleep(30000);
    }
  });
  EXPECT_EQ(success(provider->complete(ask(), {})).message.text, "torn");
  other.join();
}

TEST_F(Mailbox, AReplyThatStaysWrongIsAnError) {
  auto provider = mailbox();
  write("box/reply-1.json", R"({"text": "to)");
  ChatError error = failure(provider->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::Malformed);
  EXPECT_NE(error.message.find("box/reply-1.json': parse error at line 1"),
            std::string::npos)
      << error.message;
  ASSERT_EQ(mkdir((folder + "/box/reply-2.json").c_str(), 0755), 0);
  EXPECT_NE(failure(provider->complete(ask("again"), {}))
                .message.find("it is not a regular file"),
            std::string::npos);
}

TEST_F(Mailbox, TheAnswerAloneIsAReply) {
  auto provider = mailbox();
  write("box/reply-1.json", R"({"family": "csr", "error": 0.5})");
  EXPECT_EQ(success(provider->complete(ask(), {})).message.text,
            R"({"family": "csr", "error": 0.5})");
}

TEST_F(Mailbox, CannotBeMade) {
  write("file", "");
  ProviderConfig config;
  config.endpoint = "mailbox:" + folder + "/file/box";
  std::vector<std::string> warnings;
  auto provider = createChatProvider(config, warnings);
  ASSERT_FALSE(bool(provider));
  ChatError error = typedError(provider.takeError());
  EXPECT_EQ(error.kind, ChatErrorKind::Config);
  EXPECT_NE(error.message.find("cannot make"), std::string::npos);
}
