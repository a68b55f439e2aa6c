//===- Turn.h - Accounts of one turn ----------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_TURN_H
#define SPARSEDITTO_LIB_AGENT_LLM_TURN_H

#include "Secret.h"
#include "sparseditto/Agent/ChatBudget.h"
#include "sparseditto/Agent/ProviderConfig.h"

namespace sparseditto::chat {

/// What one turn has used so far: charged to the budget before each attempt,
/// told in the reply or in the error.
class Turn {
public:
  Turn(const ProviderConfig &config, const Secret &secret,
       const ChatControl &control)
      : config(config), secret(secret), control(control) {}

  /// Before an attempt: holds back the tokens of `input` (text that is sent)
  /// and `cap`.
  llvm::Error charge(llvm::StringRef input, int64_t cap);
  /// After it: it used this. Zeros become an estimate from `output`'s text.
  void settle(ChatUsage usage, llvm::StringRef output);
  /// It was refused without work.
  void refund();
  /// Nobody knows.
  void keep();

  void record(int status, std::string outcome, double seconds);
  /// Waits; false if that is beyond the deadline or was cancelled.
  bool wait(double seconds);

  /// A ChatError with the accounts, its message redacted.
  llvm::Error fail(ChatErrorKind kind, std::string message);
  /// The same from another error; one that is no ChatError becomes `kind`.
  llvm::Error fail(llvm::Error error,
                   ChatErrorKind kind = ChatErrorKind::Malformed);
  ChatReply finish(ChatReply reply);

  bool cancelled() const { return control.cancelled && *control.cancelled; }
  /// Earliest of the caller's deadline and the budget's.
  ChatControl::Clock::time_point deadline() const;
  double secondsLeft() const;

private:
  using Clock = ChatControl::Clock;

  const ProviderConfig &config;
  const Secret &secret;
  ChatControl control;
  Clock::time_point start = Clock::now();
  ChatUsage used;
  ChatUsage pending; ///< Upper bound of the attempt under way.
  std::optional<ChatBudget::Charge> charged;
  std::vector<ChatAttempt> attempts;
};

/// Messages, tools and schema are fit to be sent; the error is of kind Config.
llvm::Error checkRequest(const ChatRequest &request);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_TURN_H
