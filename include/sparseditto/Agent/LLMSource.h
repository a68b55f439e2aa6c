//===- LLMSource.h - A language model that proposes -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of propose() is one conversation: the prompt, then tool calls and
// their results, then an answer that matches the schema and whose proposals are
// legal and new. What is not is sent back with the reason alone; the third
// invalid answer is an error, so that the next source takes over.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_LLMSOURCE_H
#define SPARSEDITTO_AGENT_LLMSOURCE_H

#include "sparseditto/Agent/Prompt.h"
#include "sparseditto/Agent/ProviderConfig.h"

namespace sparseditto {

struct LLMSourceOptions {
  /// prompt.proposals is the most; propose() may ask for fewer.
  PromptOptions prompt;
  int64_t maxOutputTokens = 4096; ///< Of one reply, reasoning included.
  std::optional<double> temperature;
  /// Looked at while waiting for the model.
  const std::atomic<bool> *cancelled = nullptr;
};

/// Named "llm". Writes "request" (the messages that are new), "reply", "tool",
/// "illegal" and "cost" to the state's events. propose() fails with a
/// BudgetError when a limit ends it, and with the provider's ChatError, or one
/// of kind InvalidReply, otherwise.
std::unique_ptr<ProposalSource>
createLLMSource(std::unique_ptr<ChatProvider> provider,
                const ChatLimits &limits, const LLMSourceOptions &options = {});

/// The same with the provider and limits of a configuration. Touches no
/// network.
llvm::Expected<std::unique_ptr<ProposalSource>>
createLLMSource(const ProviderConfig &config, const LLMSourceOptions &options,
                std::vector<std::string> &warnings);

/// Syntax and rules of an operation that kernels may use, for a name or a part
/// of one: up to three, else the names that are known.
std::string lookUpOp(llvm::StringRef name);

/// What lookUpOp knows: a statement that parses with the operands named
/// in OpNotes.cpp, for tests.
struct OpNote {
  llvm::StringLiteral op, example, rules;
};
llvm::ArrayRef<OpNote> opNotes();

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_LLMSOURCE_H
