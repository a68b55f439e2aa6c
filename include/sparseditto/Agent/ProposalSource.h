//===- ProposalSource.h - Who proposes strategies ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of a policy: given everything known about one product, propose
// up to k strategies or stop. The compiler owns legality and measurement.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_PROPOSALSOURCE_H
#define SPARSEDITTO_AGENT_PROPOSALSOURCE_H

#include "sparseditto/Agent/Candidate.h"
#include "sparseditto/Agent/EventSink.h"
#include "sparseditto/Kernels/Family.h"
#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace sparseditto {

/// What a source has spent of its own currencies. The loop reports it and never
/// counts it: the source charges it before the call.
class PaidBudget {
public:
  virtual ~PaidBudget();
  /// "2 calls, 3100 tokens, 0.0041 USD"; empty if nothing was spent.
  virtual std::string spentText() const = 0;
  /// The currency that has run out ("calls", "tokens", "money", "seconds");
  /// empty if none has.
  virtual std::string exhausted() const = 0;
  /// The same for machines, by currency.
  virtual llvm::json::Object toJSON() const = 0;
};

/// Returned by propose() when a budget ends: the loop goes on with the next
/// source and says which budget it was. Any other error is a failure of the
/// source, which the loop says as well before it goes on.
class BudgetError : public llvm::ErrorInfo<BudgetError> {
public:
  static char ID;
  explicit BudgetError(std::string currency, std::string detail = "")
      : currency(std::move(currency)), detail(std::move(detail)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  std::string currency; ///< "calls", "tokens", "money", "seconds", ...
  std::string detail;   ///< May be empty.
};

/// Budget left.
struct Budget {
  int64_t candidates = 1 << 20;
  double seconds = std::numeric_limits<double>::infinity();
  /// Of the source that is asked; null if it spends nothing.
  const PaidBudget *paid = nullptr;
};

/// A kernel is preferred to the dense library only if it is predicted this much
/// faster: the model errs, and "never slower than dense" is a promise.
inline constexpr double requiredGain = 1.10;

/// What a source may look up or have done inside propose().
class AgentTools {
public:
  enum class Text { MLIR, PTX };

  virtual ~AgentTools();
  /// The declaration of a family: what it accepts, its knobs with their legal
  /// values and what the problem makes of them. Fails with the known names.
  virtual llvm::Expected<std::string>
  describeFamily(llvm::StringRef family) = 0;
  /// Lines of the kernel that the strategy gives, numbered: `context` lines
  /// either side of `line`, counted from 1; all of it if `line` is 0, cut at a
  /// limit that the text names.
  virtual llvm::Expected<std::string> showKernel(const Strategy &strategy,
                                                 Text what, unsigned line,
                                                 unsigned context) = 0;
  /// Evaluates now, within the budget of candidates, in the given order. The
  /// results enter the state's history; proposals beyond the budget are left
  /// out.
  virtual std::vector<Candidate>
  evaluate(llvm::ArrayRef<Proposal> proposals) = 0;
};

/// State handed to a source. All references outlive the call. During propose()
/// only AgentTools::evaluate changes it.
struct ProposalState {
  const PatternReport &report;
  Problem problem; ///< problem.tuneN is the N asked about.
  unsigned computeCapability = 90;
  std::string chip;
  llvm::ArrayRef<const KernelFamily *> families;
  std::vector<Candidate> history; ///< In the order of evaluation.
  Budget budget;

  /// All N that the weight is tuned for.
  std::vector<int64_t> ns;
  /// The best verified so far (compiled, where times are predicted). The
  /// incumbent before the first round; none where the dense library stands.
  std::optional<Candidate> best;
  double denseMicroseconds = 0; ///< The dense library, measured if times are.
  double floorMicroseconds = 0; ///< Of the best candidate's bytes.
  /// What candidates' times are. Predicted on a machine without the GPU.
  TimeSource times = TimeSource::Predicted;
  /// Stop as soon as the best is this much faster than dense; 0: no target.
  double targetSpeedup = 0;
  unsigned round = 1;
  /// What happened since the start, a sentence each: improvements, rollbacks,
  /// duplicates, sources that failed.
  std::vector<std::string> notes;
  /// What was learnt on other products and rounds, a sentence each.
  std::vector<std::string> lessons;
  /// Null where nothing can be looked up.
  AgentTools *tools = nullptr;
  /// Null where no transcript is kept.
  EventSink *events = nullptr;
  /// Set by Ctrl-C: a source that waits looks at it. May be null.
  const std::atomic<bool> *cancelled = nullptr;
};

class ProposalSource {
public:
  virtual ~ProposalSource();
  virtual llvm::StringRef name() const = 0;
  /// Up to `k` proposals, best first; empty means stop. Never repeats one that
  /// is in the history.
  virtual llvm::Expected<std::vector<Proposal>>
  propose(const ProposalState &state, unsigned k) = 0;
  /// True if what it proposes depends on what became of earlier proposals, so
  /// that it is asked for a few at a time; else once for many.
  virtual bool learns() const { return false; }
  /// True for exhaustive, random and the like, which are measured by
  /// themselves: the heuristic's plan is not evaluated first.
  virtual bool isBaseline() const { return false; }
  /// What it spends; null if nothing.
  virtual const PaidBudget *paid() const { return nullptr; }
};

/// Byte/FLOP floor times measured efficiencies. Deterministic, no network.
std::unique_ptr<ProposalSource> createHeuristicSource();
/// Every legal strategy of every accepting family, in declaration order.
std::unique_ptr<ProposalSource> createExhaustiveSource();
/// Uniform over the same set, without repetition.
std::unique_ptr<ProposalSource> createRandomSource(uint64_t seed);
/// By name: "heuristic", "exhaustive", "random[:seed]". The error lists the
/// known names.
llvm::Expected<std::unique_ptr<ProposalSource>>
createProposalSource(llvm::StringRef spec);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_PROPOSALSOURCE_H
