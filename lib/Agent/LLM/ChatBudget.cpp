//===- ChatBudget.cpp - What a run may spend on a model -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/ChatBudget.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace sparseditto;

/// The limits are on input and output together.
static int64_t total(const ChatUsage &usage) {
  return usage.input + usage.output;
}

double ChatBudget::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ChatBudget::Clock::time_point ChatBudget::deadline() const {
  // A year, so that no sum of durations overflows.
  constexpr double forever = 365.0 * 24 * 3600;
  if (limits.seconds <= 0 || limits.seconds > forever)
    return Clock::time_point::max();
  return start + std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>(limits.seconds));
}

llvm::StringRef ChatBudget::exhausted() const {
  if (refusedBy.empty() && limits.seconds > 0 && seconds() >= limits.seconds)
    return "seconds";
  return refusedBy;
}

llvm::Expected<ChatBudget::Charge> ChatBudget::charge(const ChatUsage &most,
                                                      const ChatPrice *price) {
  auto refuse = [&](llvm::StringRef limit, std::string message) {
    refusedBy = limit;
    return llvm::make_error<ChatError>(ChatErrorKind::Budget,
                                       std::move(message));
  };
  if (limits.calls > 0 && spentCalls + 1 > limits.calls)
    return refuse(
        "calls",
        llvm::formatv("budget of {0} calls is used up", limits.calls).str());
  if (limits.seconds > 0 && seconds() >= limits.seconds)
    return refuse(
        "seconds",
        llvm::formatv("budget of {0:f1} seconds is used up", limits.seconds)
            .str());
  int64_t tokensLeft = limits.tokens - total(spent) - total(held);
  if (limits.tokens > 0 && total(most) > tokensLeft)
    return refuse("tokens",
                  llvm::formatv("budget of {0} tokens: {1} are left, the next "
                                "call can take {2}",
                                limits.tokens, std::max<int64_t>(0, tokensLeft),
                                total(most))
                      .str());
  Charge charge = {most, std::nullopt};
  if (price)
    charge.money = price->cost(most);
  if (limits.money > 0) {
    if (!charge.money)
      return refuse("money", "budget of money needs the model's price, and the "
                             "price table has none");
    double moneyLeft = limits.money - spentMoney - heldMoney;
    if (*charge.money > moneyLeft)
      return refuse("money",
                    llvm::formatv("budget of {0:f4} money: {1:f4} is left, the "
                                  "next call can take {2:f4}",
                                  limits.money, std::max(0.0, moneyLeft),
                                  *charge.money)
                        .str());
  }
  ++spentCalls;
  held += charge.most;
  heldMoney += charge.money.value_or(0);
  return charge;
}

void ChatBudget::release(const Charge &charge) {
  held.input -= charge.most.input;
  held.output -= charge.most.output;
  heldMoney -= charge.money.value_or(0);
}

void ChatBudget::settle(const Charge &charge, const ChatUsage &usage,
                        const ChatPrice *price) {
  release(charge);
  spent += usage;
  if (price)
    spentMoney += price->cost(usage);
}

void ChatBudget::refund(const Charge &charge) {
  release(charge);
  --spentCalls;
}

void ChatBudget::keep(const Charge &charge) {
  release(charge);
  ChatUsage usage = charge.most;
  usage.estimated = true;
  spent += usage;
  spentMoney += charge.money.value_or(0);
}

int64_t sparseditto::estimateTokens(llvm::StringRef text) {
  return int64_t(text.size() / 2 + 1);
}
