//===- ChatBudgetTest.cpp - No limit is passed ----------------------------===//
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

static ChatUsage tokens(int64_t input, int64_t output) {
  ChatUsage usage;
  usage.input = input;
  usage.output = output;
  return usage;
}

static std::string refusal(llvm::Expected<ChatBudget::Charge> charge) {
  if (charge)
    return "";
  ChatError error = typedError(charge.takeError());
  EXPECT_EQ(error.kind, ChatErrorKind::Budget);
  return error.message;
}

TEST(ChatBudget, ChargesTheMostAndSettlesWithTheTruth) {
  ChatLimits limits;
  limits.tokens = 1000;
  ChatBudget budget(limits);
  auto first = budget.charge(tokens(100, 500), nullptr);
  ASSERT_TRUE(bool(first));
  // Held back, not yet spent.
  EXPECT_EQ(budget.usage().output, 0);
  EXPECT_EQ(refusal(budget.charge(tokens(100, 500), nullptr)),
            "budget of 1000 tokens: 400 are left, the next call can take 600");
  EXPECT_EQ(budget.exhausted(), "tokens");
  budget.settle(*first, tokens(90, 10), nullptr);
  EXPECT_EQ(budget.usage().input, 90);
  EXPECT_EQ(budget.usage().output, 10);
  auto second = budget.charge(tokens(400, 500), nullptr);
  ASSERT_TRUE(bool(second));
  budget.keep(*second);
  EXPECT_EQ(budget.usage().output, 510);
  EXPECT_TRUE(budget.usage().estimated);
  EXPECT_EQ(refusal(budget.charge(tokens(1, 0), nullptr)),
            "budget of 1000 tokens: 0 are left, the next call can take 1");
}

TEST(ChatBudget, RefundGivesBackEverything) {
  ChatLimits limits;
  limits.calls = 1;
  limits.money = 1.0;
  ChatBudget budget(limits);
  ChatPrice price = {1e6, 1e6, std::nullopt, std::nullopt};
  auto charge = budget.charge(tokens(0, 1), &price);
  ASSERT_TRUE(bool(charge));
  budget.refund(*charge);
  EXPECT_EQ(budget.calls(), 0);
  charge = budget.charge(tokens(0, 1), &price);
  ASSERT_TRUE(bool(charge));
  budget.settle(*charge, tokens(0, 1), &price);
  EXPECT_DOUBLE_EQ(budget.money(), 1.0);
  EXPECT_EQ(refusal(budget.charge(tokens(0, 0), &price)),
            "budget of 1 calls is used up");
}

TEST(ChatBudget, MoneyNeedsAPrice) {
  ChatLimits limits;
  limits.money = 0.01;
  ChatBudget budget(limits);
  EXPECT_NE(refusal(budget.charge(tokens(1, 1), nullptr)).find("price"),
            std::string::npos);
  ChatPrice price = {10, 100, std::nullopt, std::nullopt};
  EXPECT_EQ(refusal(budget.charge(tokens(1000, 1000), &price)),
            "budget of 0.0100 money: 0.0100 is left, the next call can take "
            "0.1100");
  EXPECT_TRUE(bool(budget.charge(tokens(0, 100), &price)));
}

TEST(ChatBudget, SecondsEndTheRun) {
  ChatLimits limits;
  limits.seconds = 5;
  ChatBudget budget(limits,
                    ChatBudget::Clock::now() - std::chrono::seconds(10));
  EXPECT_EQ(budget.exhausted(), "seconds");
  EXPECT_EQ(refusal(budget.charge(tokens(1, 1), nullptr)),
            "budget of 5.0 seconds is used up");
  EXPECT_LT(budget.deadline(), ChatBudget::Clock::now());
  EXPECT_EQ(ChatBudget({}).deadline(), ChatBudget::Clock::time_point::max());
  EXPECT_EQ(ChatControl::within(1e30).deadline,
            ChatBudget::Clock::time_point::max());
}

TEST(ChatBudget, AProviderAsksBeforeItSends) {
  Server server({Server::reply(200, completion("\"fine\""))});
  ProviderConfig config = configFor(server);
  ChatLimits limits;
  limits.tokens = 5000;
  ChatBudget budget(limits);
  ChatControl control;
  control.budget = &budget;
  auto provider = providerFor(config);
  ChatRequest request = ask();
  request.maxOutputTokens = 6000;
  EXPECT_EQ(failure(provider->complete(request, control)).kind,
            ChatErrorKind::Budget);
  EXPECT_TRUE(server.requests().empty());
  request.maxOutputTokens = 4000;
  success(provider->complete(request, control));
  EXPECT_EQ(budget.usage().input + budget.usage().output, 15);
  EXPECT_EQ(budget.calls(), 1);
}

TEST(ChatBudget, RefusedRequestsCostNothing) {
  Server::Step busy = Server::reply(503, "{}");
  Server server({busy, busy, Server::reply(200, completion("\"fine\""))});
  ChatLimits limits;
  limits.calls = 1;
  ChatBudget budget(limits);
  ChatControl control;
  control.budget = &budget;
  success(providerFor(configFor(server))->complete(ask(), control));
  EXPECT_EQ(budget.calls(), 1);
}

TEST(ChatBudget, MoneyWithoutAPriceIsRefusedAtTheStart) {
  ProviderConfig config;
  config.endpoint = "https://model.invalid/";
  config.model = "m";
  config.limits.money = 1;
  config.prices["other"] = {1, 1, std::nullopt, std::nullopt};
  std::vector<std::string> warnings;
  auto provider = createChatProvider(config, warnings);
  ASSERT_FALSE(bool(provider));
  EXPECT_EQ(typedError(provider.takeError()).message,
            "max_money needs the price of model 'm' in the table of prices");
  config.prices["*"] = {1, 1, std::nullopt, std::nullopt};
  EXPECT_TRUE(bool(createChatProvider(config, warnings)));
}
