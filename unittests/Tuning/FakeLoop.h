//===- FakeLoop.h - Scripted sources and evaluators -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_TUNING_FAKELOOP_H
#define SPARSEDITTO_UNITTESTS_TUNING_FAKELOOP_H

#include "TestWeights.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Tuning/Choose.h"
#include "gtest/gtest.h"

namespace sparseditto::test {

/// Answers what a test says.
class FakeSource : public ProposalSource {
public:
  using Reply = std::function<llvm::Expected<std::vector<Proposal>>(
      const ProposalState &, unsigned)>;
  explicit FakeSource(Reply reply, const PaidBudget *budget = nullptr)
      : reply(std::move(reply)), budget(budget) {}
  llvm::StringRef name() const override { return "fake"; }
  bool learns() const override { return true; }
  const PaidBudget *paid() const override { return budget; }
  llvm::Expected<std::vector<Proposal>> propose(const ProposalState &state,
                                                unsigned k) override {
    return reply(state, k);
  }

private:
  Reply reply;
  const PaidBudget *budget;
};

/// Gives kernels the times, statuses and binaries that a test says.
class FakeEvaluator : public Evaluator {
public:
  TimeSource source = TimeSource::Measured;
  double defaultTime = 8, dense = 20, floor = 1;
  /// By Proposal::key(), or stronger by key() + "@N".
  std::map<std::string, double> time;
  std::map<std::string, double> timeBeside; ///< In compare(), else `time`.
  std::map<std::string, CandidateStatus> status;
  std::map<std::string, std::string> binary;
  std::string message;
  bool emulates = false; ///< Verifies where nothing is measured.
  std::function<void()> onJudge;

  std::vector<std::string> prepared, judged;
  int compared = 0;

  TimeSource times(const Chip &) const override { return source; }
  std::vector<Candidate> prepare(llvm::ArrayRef<Proposal> proposals, int64_t n,
                                 const Chip &) override {
    std::vector<Candidate> candidates;
    for (const Proposal &proposal : proposals) {
      Candidate &candidate = candidates.emplace_back();
      candidate.proposal = proposal;
      candidate.n = n;
      candidate.status = CandidateStatus::Compiled;
      prepared.push_back(proposal.key());
      candidate.facts.binaryHash = binary.count(proposal.key())
                                       ? binary[proposal.key()]
                                       : proposal.key();
      if (status.count(proposal.key())) {
        candidate.status = status[proposal.key()];
        candidate.message = message;
      }
    }
    return candidates;
  }
  void judge(llvm::MutableArrayRef<Candidate> candidates,
             const Chip &) override {
    if (source == TimeSource::Predicted && !emulates)
      return;
    for (Candidate &candidate : candidates) {
      if (onJudge)
        onJudge();
      judged.push_back(candidate.proposal.key());
      candidate.status = CandidateStatus::Verified;
      if (source == TimeSource::Predicted)
        continue;
      candidate.microseconds = timeOf(candidate);
      candidate.denseMicroseconds = dense;
      candidate.floorMicroseconds = floor;
    }
  }
  llvm::Expected<Pair> compare(const Candidate &challenger,
                               const Candidate *incumbent,
                               const Chip &) override {
    ++compared;
    auto beside = [&](const Candidate &candidate) {
      auto it = timeBeside.find(candidate.proposal.key());
      return it == timeBeside.end() ? timeOf(candidate) : it->second;
    };
    return Pair{beside(challenger), incumbent ? beside(*incumbent) : 0, dense};
  }

private:
  double timeOf(const Candidate &candidate) const {
    const std::string key = candidate.proposal.key();
    auto it = time.find(key + "@" + std::to_string(candidate.n));
    if (it == time.end())
      it = time.find(key);
    return it == time.end() ? defaultTime : it->second;
  }
};

/// Keeps events by type.
class EventLog : public EventSink {
public:
  void event(llvm::StringRef type, llvm::json::Object fields) override {
    events.emplace_back(type.str(), std::move(fields));
  }
  std::vector<const llvm::json::Object *> of(llvm::StringRef type) const {
    std::vector<const llvm::json::Object *> result;
    for (const auto &[name, fields] : events)
      if (name == type)
        result.push_back(&fields);
    return result;
  }
  bool notes(llvm::StringRef part) const {
    for (const llvm::json::Object *note : of("note"))
      if (note->getString("text")->contains(part))
        return true;
    return false;
  }
  std::vector<std::pair<std::string, llvm::json::Object>> events;
};

/// A csr weight at N = 1 on sm_90a, and a scripted source before the heuristic.
class LoopFixture : public ::testing::Test {
protected:
  LoopFixture() {
    use(randomWeight(ElementType::F16, 2048, 4096, 0.05, 5));
    options.ns = {1};
    options.events = &log;
    options.loop.clock = [this] { return now; };
  }
  void use(const Matrix &weight) {
    report = llvm::cantFail(analyze(weight));
    problem.m = weight.rows;
    problem.k = weight.cols;
    problem.type = problem.outputType = weight.type;
  }
  void source(FakeSource::Reply reply, llvm::StringRef specs = "fake",
              const PaidBudget *budget = nullptr) {
    options.sources = llvm::cantFail(SourceChain::create(
        specs,
        [reply, budget](llvm::StringRef spec)
            -> llvm::Expected<std::unique_ptr<ProposalSource>> {
          if (spec == "fake")
            return std::make_unique<FakeSource>(reply, budget);
          if (spec == "broken")
            return std::make_unique<FakeSource>(
                [](const ProposalState &,
                   unsigned) -> llvm::Expected<std::vector<Proposal>> {
                  return makeError("the host cannot be reached");
                });
          return createProposalSource(spec);
        }));
  }
  /// Never proposes the same; returns at most `count` in all.
  FakeSource::Reply fresh(size_t count = 1000) {
    return [this, count](const ProposalState &,
                         unsigned k) -> llvm::Expected<std::vector<Proposal>> {
      ++asked;
      std::vector<Proposal> proposals;
      while (proposals.size() < k && next < std::min(count, legal().size()))
        proposals.push_back(legal()[next++]);
      return proposals;
    };
  }
  Choice choose() {
    auto plans = llvm::cantFail(
        choosePlans(report, problem, chip(), options, evaluator, &history));
    EXPECT_EQ(plans.size(), 1u);
    return plans.front().front();
  }
  llvm::ArrayRef<const Chip *> chip() {
    static const Chip *sm90 = llvm::cantFail(findChip("sm_90a"));
    return sm90;
  }
  /// Legal csr strategies, none of which the heuristic puts first.
  const std::vector<Proposal> &legal() {
    if (!legalOnes.empty())
      return legalOnes;
    problem.tuneN = 1;
    ProposalState state{report, problem};
    state.chip = "sm_90a";
    std::vector<const KernelFamily *> families = {findFamily("csr")};
    state.families = families;
    auto all = llvm::cantFail(createExhaustiveSource()->propose(state, 4000));
    std::string first = heuristic().key();
    for (Proposal &proposal : all)
      if (!proposal.useLibrary && proposal.key() != first)
        legalOnes.push_back(std::move(proposal));
    EXPECT_GT(legalOnes.size(), 30u);
    return legalOnes;
  }
  Proposal heuristic() {
    problem.tuneN = 1;
    ProposalState state{report, problem};
    state.chip = "sm_90a";
    state.families = allFamilies();
    return llvm::cantFail(createHeuristicSource()->propose(state, 1)).front();
  }
  /// The kernel of `base` with an "a" changed.
  static Proposal rewriteOf(const Proposal &base, const char *after = "b") {
    Proposal proposal;
    proposal.strategy = base.strategy;
    proposal.reason = "loads first";
    proposal.rewrite.emplace();
    proposal.rewrite->base = base.strategy;
    proposal.rewrite->symbol = "sd_kernel";
    proposal.rewrite->edits = {{"a", after}};
    return proposal;
  }
  std::string stopReason() const {
    auto stops = log.of("stop");
    return stops.empty() ? "" : stops.back()->getString("reason")->str();
  }

  PatternReport report;
  Problem problem;
  ChooseOptions options;
  FakeEvaluator evaluator;
  EventLog log;
  std::vector<Candidate> history;
  double now = 0;
  int asked = 0;
  size_t next = 0;

private:
  std::vector<Proposal> legalOnes;
};

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_TUNING_FAKELOOP_H
