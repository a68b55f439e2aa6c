//===- LLMSource.cpp - A language model that proposes ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/LLMSource.h"
#include "Conversation.h"
#include "sparseditto/Agent/ChatBudget.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace sparseditto;
namespace json = llvm::json;

namespace {
class SpentBudget : public PaidBudget {
public:
  explicit SpentBudget(const ChatBudget &budget) : budget(budget) {}

  std::string spentText() const override {
    if (budget.calls() == 0)
      return "";
    const ChatUsage &usage = budget.usage();
    std::string text = llvm::formatv(
        "{0} call{1}, {2}{3} tokens", budget.calls(),
        budget.calls() == 1 ? "" : "s", usage.estimated ? "about " : "",
        usage.input + usage.output);
    if (budget.money() > 0)
      text += llvm::formatv(", {0:F4} money", budget.money()).str();
    return text;
  }
  std::string exhausted() const override { return budget.exhausted().str(); }
  json::Object toJSON() const override {
    const ChatUsage &usage = budget.usage();
    return json::Object{
        {"calls", budget.calls()},       {"input_tokens", usage.input},
        {"output_tokens", usage.output}, {"tokens_estimated", usage.estimated},
        {"money", budget.money()},       {"seconds", budget.seconds()}};
  }

private:
  const ChatBudget &budget;
};

class LLMSource : public ProposalSource {
public:
  LLMSource(std::unique_ptr<ChatProvider> provider, const ChatLimits &limits,
            const LLMSourceOptions &options)
      : provider(std::move(provider)), options(options), budget(limits) {}

  llvm::StringRef name() const override { return "llm"; }
  bool learns() const override { return true; }
  const PaidBudget *paid() const override { return &spent; }
  llvm::Expected<std::vector<Proposal>> propose(const ProposalState &state,
                                                unsigned k) override;

private:
  ChatControl control(const ProposalState &state);
  llvm::Error typed(llvm::Error error);

  std::unique_ptr<ChatProvider> provider;
  LLMSourceOptions options;
  ChatBudget budget;
  SpentBudget spent{budget};
};
} // namespace

ChatControl LLMSource::control(const ProposalState &state) {
  ChatControl control;
  // Beyond a year there is no limit, and the sum would overflow.
  if (state.budget.seconds < 365.0 * 24 * 3600)
    control = ChatControl::within(std::max(0.0, state.budget.seconds));
  control.deadline = std::min(control.deadline, budget.deadline());
  control.cancelled = options.cancelled;
  control.budget = &budget;
  return control;
}

/// The end of a budget is no failure.
llvm::Error LLMSource::typed(llvm::Error error) {
  return llvm::handleErrors(
      std::move(error), [&](std::unique_ptr<ChatError> failed) -> llvm::Error {
        llvm::StringRef currency = budget.exhausted();
        // A deadline that the budget set shows as a timeout.
        if (failed->kind == ChatErrorKind::Budget ||
            (failed->kind == ChatErrorKind::Timeout && !currency.empty()))
          return llvm::make_error<BudgetError>(
              currency.empty() ? "calls" : currency.str(), failed->message);
        return llvm::Error(std::move(failed));
      });
}

/// Errors that a shorter conversation may cure.
static bool isTooLong(const llvm::Error &error) {
  bool result = false;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
    if (info.isA<ChatError>()) {
      ChatErrorKind kind = static_cast<const ChatError &>(info).kind;
      result |= kind == ChatErrorKind::ContextTooLong ||
                kind == ChatErrorKind::Truncated;
    }
  });
  return result;
}

llvm::Expected<std::vector<Proposal>>
LLMSource::propose(const ProposalState &state, unsigned k) {
  if (llvm::StringRef currency = budget.exhausted(); !currency.empty())
    return llvm::make_error<BudgetError>(currency.str());
  const int64_t most =
      std::min({int64_t(k), int64_t(options.prompt.proposals),
                std::max<int64_t>(state.budget.candidates, 0)});
  if (most <= 0)
    return std::vector<Proposal>();
  LLMSourceOptions current = options;
  current.prompt.proposals = unsigned(most);
  auto run = [&] {
    Conversation conversation(*provider, control(state), state, current);
    return conversation.run();
  };
  llvm::Expected<std::vector<Proposal>> result = run();
  if (!result) {
    llvm::Error error = result.takeError();
    if (!isTooLong(error)) {
      result = typed(std::move(error));
    } else {
      // Once more with half of the prompt, no tools and one proposal: the same
      // question again would fail in the same way.
      llvm::consumeError(std::move(error));
      current.prompt.tokenLimit = 2500;
      current.prompt.toolCalls = 0;
      current.prompt.proposals = 1;
      result = run();
      if (!result)
        result = typed(result.takeError());
    }
  }
  if (state.events) {
    json::Object cost = spent.toJSON();
    cost["source"] = "llm";
    cost["round"] = state.round;
    state.events->event("cost", std::move(cost));
  }
  return result;
}

std::unique_ptr<ProposalSource>
sparseditto::createLLMSource(std::unique_ptr<ChatProvider> provider,
                             const ChatLimits &limits,
                             const LLMSourceOptions &options) {
  return std::make_unique<LLMSource>(std::move(provider), limits, options);
}

llvm::Expected<std::unique_ptr<ProposalSource>>
sparseditto::createLLMSource(const ProviderConfig &config,
                             const LLMSourceOptions &options,
                             std::vector<std::string> &warnings) {
  llvm::Expected<std::unique_ptr<ChatProvider>> provider =
      createChatProvider(config, warnings);
  if (!provider)
    return provider.takeError();
  return createLLMSource(std::move(*provider), config.limits, options);
}
