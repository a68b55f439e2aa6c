//===- ConnectionTest.cpp - Servers that behave badly ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScriptedServer.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;
using Server = ScriptedServer;

static const std::string fine = completion("\"fine\"");

TEST(Connection, HalfAReplyIsTriedAgainAndStaysCharged) {
  std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"cho";
  Server server({Server::raw(half), Server::raw(""), Server::reply(200, fine)});
  ChatBudget budget({});
  ChatControl control;
  control.budget = &budget;
  ChatReply reply =
      success(providerFor(configFor(server))->complete(ask(), control));
  EXPECT_EQ(reply.message.text, "fine");
  EXPECT_EQ(reply.attempts.size(), 3u);
  // The two lost ones may have been answered in full.
  EXPECT_EQ(reply.usage.output, 2 * 4096 + 5);
  EXPECT_TRUE(reply.usage.estimated);
  EXPECT_EQ(budget.usage().output, reply.usage.output);
  EXPECT_EQ(budget.calls(), 3);
}

TEST(Connection, Unreachable) {
  ProviderConfig config;
  {
    Server server({});
    config = configFor(server);
  }
  // Nobody listens there any more.
  ChatBudget budget({});
  ChatControl control;
  control.budget = &budget;
  ChatError error = failure(providerFor(config)->complete(ask(), control));
  EXPECT_EQ(error.kind, ChatErrorKind::Unreachable);
  EXPECT_EQ(error.attempts.size(), 3u);
  EXPECT_EQ(error.usage.input, 0);
  EXPECT_EQ(budget.calls(), 0);
  EXPECT_NE(error.message.find("127.0.0.1: "), std::string::npos);
}

TEST(Connection, NotHTTP) {
  Server server({Server::raw("SSH-2.0-OpenSSH_9.2\r\n")});
  EXPECT_EQ(failure(providerFor(configFor(server))->complete(ask(), {})).kind,
            ChatErrorKind::Malformed);
}

TEST(Connection, SilentServerMeetsTheRequestsLimit) {
  Server server({Server::hang()});
  ProviderConfig config = configFor(server);
  config.requestSeconds = 0.3;
  ChatError error = failure(providerFor(config)->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::Timeout);
  EXPECT_EQ(error.message, "127.0.0.1: no complete reply within 0.3 s");
  // It may be generating still.
  EXPECT_EQ(error.usage.output, 4096);
}

TEST(Connection, SilentServerMeetsTheDeadlineAndTheBudget) {
  Server server({Server::hang(), Server::hang()});
  auto provider = providerFor(configFor(server));
  ChatError error =
      failure(provider->complete(ask(), ChatControl::within(0.2)));
  EXPECT_EQ(error.kind, ChatErrorKind::Timeout);
  ChatLimits limits;
  limits.seconds = 0.2;
  ChatBudget budget(limits);
  ChatControl control;
  control.budget = &budget;
  EXPECT_EQ(failure(provider->complete(ask(), control)).kind,
            ChatErrorKind::Timeout);
  EXPECT_EQ(budget.exhausted(), "seconds");
  EXPECT_EQ(failure(provider->complete(ask(), control)).kind,
            ChatErrorKind::Budget);
}

TEST(Connection, AStalledReplyIsTriedAgain) {
  std::string start = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"ch";
  Server server({Server::hang(start),
                 Server::dribble(start + std::string(5000, ' '), 30),
                 Server::reply(200, fine)});
  ProviderConfig config = configFor(server);
  config.stallSeconds = 0.3;
  config.requestSeconds = 30;
  ChatReply reply = success(providerFor(config)->complete(ask(), {}));
  EXPECT_EQ(reply.message.text, "fine");
  ASSERT_EQ(reply.attempts.size(), 3u);
  for (int i : {0, 1})
    EXPECT_NE(reply.attempts[i].outcome.find("the reply stalled after"),
              std::string::npos)
        << reply.attempts[i].outcome;
}

TEST(Connection, BlanksWhileItThinksAreNoStall) {
  std::string start = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
  Server server({[&](int connection) {
    Server::raw(start)(connection);
    Server::dribble(std::string(25, '\n'), 30)(connection);
    Server::raw(fine)(connection);
  }});
  ProviderConfig config = configFor(server);
  config.stallSeconds = 0.2;
  ChatReply reply = success(providerFor(config)->complete(ask(), {}));
  EXPECT_EQ(reply.message.text, "fine");
  EXPECT_EQ(reply.attempts.size(), 1u);
}

TEST(Connection, CancelEndsTheTransferAndTheWait) {
  Server server(
      {Server::hang(), Server::reply(503, "{}", {"retry-after: 100"})});
  auto provider = providerFor(configFor(server));
  for (size_t requests : {1, 2}) {
    std::atomic<bool> cancelled = false;
    ChatControl control;
    control.cancelled = &cancelled;
    std::thread canceller([&] {
      while (server.requests().size() < requests)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      cancelled = true;
    });
    EXPECT_EQ(failure(provider->complete(ask(), control)).kind,
              ChatErrorKind::Cancelled);
    canceller.join();
  }
}

TEST(Connection, ReplySizeLimit) {
  Server server({Server::reply(200, std::string(5000, ' ') + fine),
                 Server::raw("HTTP/1.1 200 OK\r\nX: " +
                             std::string(400000, 'x') + "\r\n\r\n")});
  ProviderConfig config = configFor(server);
  config.maxReplyBytes = 4096;
  auto provider = providerFor(config);
  ChatError error = failure(provider->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::TooLarge);
  EXPECT_EQ(error.message, "127.0.0.1: the reply is larger than 4096 bytes");
  config.maxAttempts = 1;
  ChatErrorKind kind = failure(providerFor(config)->complete(ask(), {})).kind;
  // libcurl has a limit of its own on one line.
  EXPECT_TRUE(kind == ChatErrorKind::TooLarge ||
              kind == ChatErrorKind::Unreachable);
}

TEST(Connection, RedirectsStayOnTheHost) {
  Server elsewhere({Server::reply(200, fine)});
  Server server({Server::reply(307, "", {"Location: " + elsewhere.url("/v1")}),
                 Server::reply(301, "", {"Location: /v2"}),
                 Server::reply(302, "", {"Location: file:///etc/passwd"}),
                 Server::reply(308, "", {"Location: /v2/chat/completions"}),
                 Server::reply(200, fine)});
  auto provider = providerFor(configFor(server));
  ChatError error = failure(provider->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::RefusedRedirect);
  EXPECT_NE(error.message.find("to " + elsewhere.url() + ", which is not"),
            std::string::npos)
      << error.message;
  EXPECT_TRUE(elsewhere.requests().empty());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(failure(provider->complete(ask(), {})).kind,
              ChatErrorKind::RefusedRedirect);
  EXPECT_EQ(success(provider->complete(ask(), {})).message.text, "fine");
  EXPECT_EQ(server.requests()[4].target, "/v2/chat/completions");
  EXPECT_EQ(server.requests()[4].method, "POST");
  EXPECT_EQ(server.requests()[4].body, server.requests()[3].body);
}

TEST(Connection, ARedirectLoopEnds) {
  Server::Step again = Server::reply(307, "", {"Location: /again"});
  Server server({again, again, again, again, again});
  EXPECT_EQ(failure(providerFor(configFor(server))->complete(ask(), {})).kind,
            ChatErrorKind::RefusedRedirect);
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST(Connection, ProxyFromTheEnvironmentButNotForLoopback) {
  Server proxy({Server::reply(200, fine)});
  Server server({Server::reply(200, fine)});
  ScopedVariable variable("http_proxy", proxy.url());
  ScopedVariable exceptions("no_proxy", "");
  success(providerFor(configFor(server))->complete(ask(), {}));
  EXPECT_TRUE(proxy.requests().empty());
  ProviderConfig config = configFor(server);
  config.endpoint = "http://model.invalid/v1";
  config.allowPlainHTTP = true;
  success(providerFor(config)->complete(ask(), {}));
  ASSERT_EQ(proxy.requests().size(), 1u);
  EXPECT_EQ(proxy.requests()[0].target,
            "http://model.invalid/v1/chat/completions");
}
