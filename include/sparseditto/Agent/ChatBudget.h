//===- ChatBudget.h - What a run may spend on a model -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_CHATBUDGET_H
#define SPARSEDITTO_AGENT_CHATBUDGET_H

#include "sparseditto/Agent/Chat.h"

namespace sparseditto {

/// Hard limits of a run; 0 means none.
struct ChatLimits {
  int64_t calls = 0;
  int64_t tokens = 0; ///< Input and output together.
  double money = 0;   ///< In the currency of the price table.
  double seconds = 0; ///< Wall time since the budget was made.
};

/// Charged with the most that a call can cost before it is made, and settled
/// with what it did cost, so that a limit is never passed. A call whose outcome
/// is unknown (a connection lost after sending) stays charged in full. One
/// budget may serve several providers in turn.
class ChatBudget {
public:
  using Clock = ChatControl::Clock;

  explicit ChatBudget(const ChatLimits &limits,
                      Clock::time_point start = Clock::now())
      : limits(limits), start(start) {}

  /// What one call holds back until it is settled.
  struct Charge {
    ChatUsage most;
    std::optional<double> money;
  };

  /// A ChatError of kind Budget that names the limit if `most` does not fit
  /// into what is left. `price` is null where money is not known; a limit on
  /// money then refuses.
  llvm::Expected<Charge> charge(const ChatUsage &most, const ChatPrice *price);
  /// The call happened and used this.
  void settle(const Charge &charge, const ChatUsage &usage,
              const ChatPrice *price);
  /// The other side refused without doing work.
  void refund(const Charge &charge);
  /// Whether it happened is not known: the full charge stays, as an estimate.
  void keep(const Charge &charge);

  /// When the limit on seconds ends the run.
  Clock::time_point deadline() const;
  /// "calls", "tokens", "money" or "seconds" if that limit has refused a call
  /// or has passed; empty otherwise.
  llvm::StringRef exhausted() const;

  int64_t calls() const { return spentCalls; }
  const ChatUsage &usage() const { return spent; }
  double money() const { return spentMoney; }
  double seconds() const;
  const ChatLimits &limit() const { return limits; }

private:
  void release(const Charge &charge);

  ChatLimits limits;
  Clock::time_point start;
  ChatUsage spent, held;
  double spentMoney = 0, heldMoney = 0;
  int64_t spentCalls = 0;
  llvm::StringRef refusedBy;
};

/// Upper estimate of the tokens of a text: a token is hardly ever shorter than
/// two bytes on average, in English or in code.
int64_t estimateTokens(llvm::StringRef text);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_CHATBUDGET_H
