//===- Loop.h - Propose, evaluate, propose again ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop on one question: one weight, one chip, one N. choosePlans() asks all
// questions of a weight and settles on packed formats for them together.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_LOOP_H
#define SPARSEDITTO_TUNING_LOOP_H

#include "sparseditto/Tuning/Evaluator.h"
#include "sparseditto/Tuning/SourceChain.h"
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sparseditto {

/// Why no more was proposed.
enum class LoopStop : uint8_t {
  Settled,      ///< Predictions need no search: the best one stands.
  FloorReached, ///< The best is at floorShare of its floor.
  TargetReached,
  NoGain,       ///< In `patience` rounds.
  SourceDone,   ///< The source has no more proposals.
  SourcesEnded, ///< Every source failed or spent its budget.
  Candidates,   ///< The budget of candidates.
  Seconds,      ///< The budget of seconds.
  NothingToWin, ///< The floor leaves less than `worthwhile` over dense.
  RecordStands, ///< A verified record is within 5 % of its floor.
  Interrupted,
};
llvm::StringRef name(LoopStop stop); ///< "floor_reached", ...

struct LoopOptions {
  unsigned batch = 4;    ///< Proposals asked for in a round.
  unsigned patience = 2; ///< Rounds without a gain.
  /// A measured candidate replaces the best, or the dense library, only if it
  /// is this much faster, twice.
  double acceptance = 1.03;
  double floorShare = 0.95;
  double worthwhile = 1.05;
  double targetSpeedup = 0; ///< Over dense; 0: none.
  double seconds = std::numeric_limits<double>::infinity();
  /// Seconds since the run began, as `seconds` counts them.
  std::function<double()> clock;
  const std::atomic<bool> *interrupted = nullptr;
  /// Whether a proposal may change a kernel's text. Whoever allows it has to
  /// keep the rewritten kernel (Choice::rewrite).
  bool allowRewrites = false;
  /// Fail rather than go on with the heuristic's plan if a source ends.
  bool requireAgent = false;
};

/// A clock for LoopOptions that starts now.
std::function<double()> secondsFromNow();

/// What a progress line says.
struct LoopProgress {
  std::string label, chip;
  int64_t n = 1;
  unsigned round = 0;
  int64_t candidates = 0; ///< Evaluated on this question.
  std::string best;       ///< Proposal::key() of the best, or "library".
  double microseconds = 0, denseMicroseconds = 0, floorMicroseconds = 0;
  TimeSource times = TimeSource::Predicted;
  std::string cost; ///< Of paid sources; empty if nothing was spent.
};

/// A verified result of an earlier run that may be relied on here.
struct KnownResult {
  Strategy strategy;
  double microseconds = 0, denseMicroseconds = 0, floorMicroseconds = 0;
  std::string binaryHash; ///< Of the kernel that was measured; may be empty.
  std::string recordId;
};

struct Question {
  const PatternReport &report;
  Problem problem; ///< tuneN is N.
  const Chip &chip;
  int64_t n = 1;
  std::vector<const KernelFamily *> families;
  bool libraryCompetes = true;
  std::vector<int64_t> ns; ///< All N of the plan.
  std::string label;       ///< Of the weight, for progress.
  std::optional<KnownResult> known;
};

/// What the questions of one weight share.
struct LoopShared {
  LoopOptions options;
  SourceChain &sources;
  Evaluator &evaluator;
  EventSink *events = nullptr;                        ///< May be null.
  std::function<void(const LoopProgress &)> progress; ///< May be empty.
  int64_t budget = 64; ///< Candidates for a chip.
  std::map<const Chip *, int64_t> spent;
  std::vector<Candidate> history;   ///< Of all questions, as evaluated.
  std::vector<std::string> lessons; ///< For sources, a sentence each.

  double seconds() const { return options.clock ? options.clock() : 0; }
  bool isInterrupted() const {
    return options.interrupted && *options.interrupted;
  }
};

/// The search on one question. What was evaluated is never evaluated again, the
/// best verified candidate is only ever replaced by a better one.
class Search : private AgentTools {
public:
  Search(Question question, LoopShared &shared);
  ~Search() override;

  /// Asks for what can be predicted: the heuristic's proposals and those of a
  /// source that does not learn. Evaluates nothing.
  llvm::Error survey();
  /// The rounds, on up to `candidates` candidates. Nothing to do where times
  /// are predicted and the source does not learn: settle() finds the best.
  llvm::Error explore(int64_t candidates);

  /// Packed format of the best; empty where the library stands.
  std::string bestFormat() const;
  /// Where times are measured: measures the most promising proposal of each of
  /// these formats that has no time yet, so that formats that won elsewhere can
  /// be compared here.
  void probe(const std::set<std::string> &formats);

  /// The best that stands in one of the packed formats (packingKey()).
  struct Settled {
    bool isLibrary = true;
    Proposal proposal;
    Candidate candidate; ///< Meaningless for the library.
    std::string reason;
    double denseMicroseconds = 0; ///< Of the question, or beside the candidate.
  };
  /// Evaluates what that needs. Adds to `built` the formats that a standing
  /// candidate reads, to `failed` those of which a candidate was refused.
  Settled settle(const std::set<std::string> &formats,
                 std::set<std::string> &built, std::set<std::string> &failed);

  /// Calls back with the packed format and time of everything that may be
  /// chosen. Where times are measured, or a record's time stands, only of what
  /// was evaluated: a measured time would always lose to a hopeful prediction.
  void forEachFormat(
      llvm::function_ref<void(llvm::StringRef format, double)> visit) const;

  const Question &asked() const { return question; }
  double denseMicroseconds() const;
  bool isMeasured() const { return times == TimeSource::Measured; }
  bool isInterrupted() const { return shared.isInterrupted(); }
  LoopStop stop() const { return stopReason; }
  const std::string &stopText() const { return stopDetail; }
  /// Of N, in candidates.
  int64_t evaluated() const { return evaluations; }

private:
  struct Entry {
    Proposal proposal;
    std::optional<Candidate> candidate;
    bool isTaken = false; ///< It was the best once.

    /// Compiled or verified. A rewritten kernel also has to have won by a
    /// measurement: its prediction is its base's.
    bool mayBeChosen() const;
  };

  // AgentTools.
  llvm::Expected<std::string> describeFamily(llvm::StringRef family) override;
  llvm::Expected<std::string> showKernel(const Strategy &strategy, Text what,
                                         unsigned line,
                                         unsigned context) override;
  std::vector<Candidate> evaluate(llvm::ArrayRef<Proposal> proposals) override;

  void add(Proposal proposal);
  Entry *find(const std::string &key);
  llvm::Error checkLegal(const Proposal &proposal) const;
  void complete(Proposal &proposal) const;
  bool hasBudget() const;
  std::vector<Candidate> evaluateBatch(llvm::ArrayRef<Proposal> proposals,
                                       llvm::StringRef source);
  const Candidate *evaluateEntry(size_t index);
  void keep(Candidate candidate);
  bool consider(const Candidate &candidate);
  void replaceBest(const Candidate &candidate, double gain);
  void applyRecord(Candidate &candidate);
  void evaluateIncumbent();
  bool leavesNothingToWin();
  bool shouldStop(unsigned idle);
  void finish(LoopStop reason, std::string detail);
  void note(std::string text);
  void learn(const Candidate &candidate);
  void refreshState();
  void report(unsigned round);
  Settled settlePredicted(const std::set<std::string> &formats,
                          std::set<std::string> &built,
                          std::set<std::string> &failed);
  Settled settleMeasured(const std::set<std::string> &formats,
                         std::set<std::string> &built,
                         std::set<std::string> &failed);
  Settled libraryBecause(bool isSpent) const;
  std::vector<size_t>
  untried(llvm::function_ref<bool(const std::string &)> isWanted) const;

  Question question;
  LoopShared &shared;
  SourceCursor cursor;
  TimeSource times;
  ProposalState state;
  std::vector<Entry> entries;
  std::map<std::string, size_t> byKey;
  std::map<std::string, std::string> byBinary; ///< Hash to key.
  std::string refusal;                         ///< The first, in words.
  double predictedDense;
  std::vector<double> measuredDense;
  int64_t evaluations = 0;
  int64_t limit = std::numeric_limits<int64_t>::max();
  std::string asking; ///< The source inside propose().
  bool gained = false;
  bool hasRecord = false; ///< A record's times stand for predictions.
  LoopStop stopReason = LoopStop::Settled;
  std::string stopDetail;
};

/// Least time of the bytes that a product with this strategy moves at N; of the
/// dense weight for the library.
double floorMicroseconds(const PatternReport &report, const Problem &problem,
                         const Proposal &proposal, int64_t n,
                         llvm::StringRef chip);

/// Why a rewritten kernel that stands and was not measured is not chosen.
std::string unmeasuredRewrite(const Candidate &candidate);

/// "rewritten kernels are not taken here ...".
llvm::Error rewritesNotTaken();

/// The part of a strategy that its packed copy depends on:
/// "block{block_r=64,block_c=64}".
std::string packingKey(const Strategy &strategy);

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_LOOP_H
