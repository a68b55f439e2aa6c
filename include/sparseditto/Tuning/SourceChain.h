//===- SourceChain.h - Sources that stand in for each other -----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_SOURCECHAIN_H
#define SPARSEDITTO_TUNING_SOURCECHAIN_H

#include "sparseditto/Agent/ProposalSource.h"
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace sparseditto {

/// "llm,local,heuristic": the next source takes over when one fails or has
/// spent its budget, for the rest of the run. Thread-safe.
class SourceChain {
public:
  using Factory = std::function<llvm::Expected<std::unique_ptr<ProposalSource>>(
      llvm::StringRef spec)>;

  /// Makes each source once, so that a name or argument that is none is said
  /// before any work is done.
  static llvm::Expected<std::shared_ptr<SourceChain>>
  create(llvm::StringRef specs, Factory factory = createProposalSource);

  const std::string &text() const { return specs; }
  /// Whether a source that still works learns from what became of proposals.
  bool learns() const;
  /// Only exhaustive, random and the like: measured by themselves, without the
  /// heuristic's plan to begin with.
  bool isBaseline() const { return onlyBaselines; }

  /// One line a source that ended: "llm: the budget of tokens is spent".
  std::vector<std::string> ended() const;
  /// The currency that ended a source, of the first one; empty if none did.
  std::string endedBudget() const;
  /// What all paid sources have spent, in words and for machines.
  std::string spentText() const;
  llvm::json::Object spent() const;

private:
  friend class SourceCursor;
  struct Link {
    std::string spec;
    /// One for the run, where it learns: what it spends is one budget. Others
    /// are made for each question.
    std::unique_ptr<ProposalSource> shared;
    std::unique_ptr<std::mutex> asking; ///< Held while `shared` is asked.
    std::string end; ///< Why it no longer works; empty while it does.
    std::string budget;
    std::string spentText;
    llvm::json::Object spent;
  };
  SourceChain() = default;

  std::string specs;
  Factory factory;
  bool onlyBaselines = false;
  mutable std::mutex mutex;
  std::vector<Link> links;
};

/// Asks the chain about one question: a source that does not learn has a state
/// of its own there.
class SourceCursor {
public:
  explicit SourceCursor(SourceChain &chain) : chain(chain) {}

  struct Answer {
    std::vector<Proposal> proposals; ///< None: the source says stop.
    std::string source;              ///< Who answered; empty if all ended.
    std::vector<std::string> notes;  ///< Sources that ended while asked.
  };
  /// Sets the state's paid budget to that of the source it asks.
  Answer ask(ProposalState &state, unsigned k);
  /// Name of the source that is next asked; empty if all ended.
  std::string current();

private:
  ProposalSource *use(std::vector<std::string> &notes);

  SourceChain &chain;
  size_t index = 0;
  std::unique_ptr<ProposalSource> source;
};

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_SOURCECHAIN_H
