//===- SourceChain.cpp - Sources that stand in for each other ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/SourceChain.h"
#include "sparseditto/Support/Error.h"

using namespace sparseditto;

llvm::Expected<std::shared_ptr<SourceChain>>
SourceChain::create(llvm::StringRef specs, Factory factory) {
  std::shared_ptr<SourceChain> chain(new SourceChain());
  chain->specs = specs.str();
  chain->factory = std::move(factory);
  chain->onlyBaselines = true;
  llvm::SmallVector<llvm::StringRef> parts;
  specs.split(parts, ',');
  for (llvm::StringRef part : parts) {
    part = part.trim();
    auto source = chain->factory(part);
    if (!source)
      return source.takeError();
    Link link;
    link.spec = part.str();
    chain->onlyBaselines &= (*source)->isBaseline();
    if ((*source)->learns()) {
      link.shared = std::move(*source);
      link.asking = std::make_unique<std::mutex>();
    }
    chain->links.push_back(std::move(link));
  }
  return chain;
}

bool SourceChain::learns() const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Link &link : links)
    if (link.end.empty())
      return link.shared != nullptr;
  return false;
}

std::vector<std::string> SourceChain::ended() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> result;
  for (const Link &link : links)
    if (!link.end.empty())
      result.push_back(link.spec + ": " + link.end);
  return result;
}

std::string SourceChain::endedBudget() const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Link &link : links)
    if (!link.budget.empty())
      return link.budget;
  return "";
}

std::string SourceChain::spentText() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::string result;
  for (const Link &link : links)
    if (!link.spentText.empty())
      result += (result.empty() ? "" : "; ") + link.spec + " " + link.spentText;
  return result;
}

llvm::json::Object SourceChain::spent() const {
  std::lock_guard<std::mutex> lock(mutex);
  llvm::json::Object result;
  for (const Link &link : links)
    if (!link.spent.empty())
      result[link.spec] = llvm::json::Object(link.spent);
  return result;
}

/// Finds the first source that works; null if none does.
ProposalSource *SourceCursor::use(std::vector<std::string> &notes) {
  for (; index < chain.links.size(); ++index, source.reset()) {
    SourceChain::Link &link = chain.links[index];
    {
      std::lock_guard<std::mutex> lock(chain.mutex);
      if (!link.end.empty())
        continue;
    }
    if (link.shared)
      return link.shared.get();
    if (source)
      return source.get();
    auto made = chain.factory(link.spec);
    if (made) {
      source = std::move(*made);
      return source.get();
    }
    std::string why = llvm::toString(made.takeError());
    notes.push_back(link.spec + ": " + why);
    std::lock_guard<std::mutex> lock(chain.mutex);
    link.end = std::move(why);
  }
  return nullptr;
}

std::string SourceCursor::current() {
  std::lock_guard<std::mutex> lock(chain.mutex);
  for (size_t i = index; i < chain.links.size(); ++i)
    if (chain.links[i].end.empty())
      return chain.links[i].spec;
  return "";
}

SourceCursor::Answer SourceCursor::ask(ProposalState &state, unsigned k) {
  Answer answer;
  while (ProposalSource *asked = use(answer.notes)) {
    SourceChain::Link &link = chain.links[index];
    std::unique_lock<std::mutex> asking;
    if (link.asking)
      asking = std::unique_lock<std::mutex>(*link.asking);
    state.budget.paid = asked->paid();
    auto proposals = asked->propose(state, k);
    std::string why, budget;
    if (!proposals) {
      llvm::handleAllErrors(
          proposals.takeError(),
          [&](const BudgetError &error) {
            budget = error.currency;
            why = error.message();
          },
          [&](const llvm::ErrorInfoBase &error) { why = error.message(); });
      answer.notes.push_back(link.spec + ": " + why);
    }
    std::lock_guard<std::mutex> lock(chain.mutex);
    if (const PaidBudget *paid = asked->paid()) {
      link.spentText = paid->spentText();
      link.spent = paid->toJSON();
    }
    if (proposals) {
      answer.proposals = std::move(*proposals);
      answer.source = link.spec;
      return answer;
    }
    link.end = std::move(why);
    link.budget = std::move(budget);
  }
  return answer;
}
