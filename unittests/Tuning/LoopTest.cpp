//===- LoopTest.cpp - The rules of the loop ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeLoop.h"
#include "sparseditto/Agent/MachineModel.h"
#include <cmath>

using namespace sparseditto;
using namespace sparseditto::test;

using Loop = LoopFixture;

TEST_F(Loop, TheHeuristicsPlanIsEvaluatedFirstAndNeverLost) {
  ASSERT_FALSE(heuristic().useLibrary);
  evaluator.time[heuristic().key()] = 5; // Others take 8.
  source(fresh());
  Choice choice = choose();
  ASSERT_FALSE(history.empty());
  EXPECT_EQ(history[0].proposal.key(), heuristic().key());
  EXPECT_EQ(history[0].source, "heuristic");
  EXPECT_EQ(history[0].round, 0u);
  EXPECT_EQ(history[1].source, "fake");
  EXPECT_EQ(history[1].round, 1u);
  EXPECT_EQ(choice.strategy.str(), heuristic().key());
  EXPECT_EQ(choice.microseconds, 5);
  EXPECT_EQ(choice.status, CandidateStatus::Verified);
}

TEST_F(Loop, ABetterCandidateWinsAndIsMeasuredBesideTheBest) {
  evaluator.time[heuristic().key()] = 5;
  evaluator.time[legal()[2].key()] = 4;
  source(fresh());
  Choice choice = choose();
  EXPECT_EQ(choice.strategy.str(), legal()[2].key());
  EXPECT_EQ(choice.microseconds, 4);
  EXPECT_EQ(choice.denseMicroseconds, 20);
  EXPECT_EQ(choice.floorMicroseconds, 1);
  // The first one beside dense, the second beside the first.
  EXPECT_EQ(evaluator.compared, 2);
  auto comparisons = log.of("comparison");
  ASSERT_EQ(comparisons.size(), 2u);
  EXPECT_EQ(comparisons[0]->getString("incumbent"), "library");
  EXPECT_EQ(comparisons[1]->getString("incumbent"), heuristic().key());
  EXPECT_EQ(comparisons[1]->getBoolean("taken"), true);
}

TEST_F(Loop, LessThanTheThresholdIsNoGain) {
  evaluator.time[heuristic().key()] = 5;
  evaluator.time[legal()[0].key()] = 5 / 1.02;
  source(fresh());
  EXPECT_EQ(choose().strategy.str(), heuristic().key());
  EXPECT_EQ(evaluator.compared, 1);
  options.loop.acceptance = 1.01;
  next = 0;
  EXPECT_EQ(choose().strategy.str(), legal()[0].key());
}

TEST_F(Loop, ALuckyFirstTimeIsRolledBack) {
  evaluator.time[heuristic().key()] = 5;
  evaluator.time[legal()[0].key()] = 3;
  evaluator.timeBeside[legal()[0].key()] = 5.5;
  source(fresh());
  EXPECT_EQ(choose().strategy.str(), heuristic().key());
  EXPECT_EQ(evaluator.compared, 2);
  EXPECT_TRUE(log.notes("not taken"));
}

TEST_F(Loop, SlowerThanDenseLeavesTheLibrary) {
  evaluator.defaultTime = 19.8; // Dense takes 20.
  source(fresh());
  Choice choice = choose();
  EXPECT_TRUE(choice.useLibrary);
  EXPECT_NE(choice.reason.find("is not 1.03x faster"), std::string::npos)
      << choice.reason;
}

TEST_F(Loop, OneBinaryIsMeasuredOnce) {
  evaluator.binary[legal()[0].key()] = "same";
  evaluator.binary[legal()[1].key()] = "same";
  evaluator.time[legal()[0].key()] = 4;
  source(fresh(4));
  EXPECT_EQ(choose().strategy.str(), legal()[0].key());
  EXPECT_TRUE(llvm::is_contained(evaluator.prepared, legal()[1].key()));
  EXPECT_FALSE(llvm::is_contained(evaluator.judged, legal()[1].key()));
  const Candidate &twin = history[2];
  EXPECT_EQ(twin.proposal.key(), legal()[1].key());
  EXPECT_EQ(twin.sameAs, legal()[0].key());
  EXPECT_EQ(twin.microseconds, 4);
  EXPECT_EQ(twin.status, CandidateStatus::Verified);
}

TEST_F(Loop, WhatWasEvaluatedIsNotEvaluatedAgain) {
  source([&](const ProposalState &,
             unsigned) -> llvm::Expected<std::vector<Proposal>> {
    ++asked;
    return std::vector<Proposal>{legal()[0], heuristic()};
  });
  choose();
  EXPECT_EQ(evaluator.judged.size(), 2u);
  EXPECT_TRUE(log.notes("was evaluated before"));
  EXPECT_EQ(stopReason(), "no_gain");
}

TEST_F(Loop, StopsAtTheFloor) {
  evaluator.time[heuristic().key()] = 5;
  evaluator.floor = 4.8;
  source(fresh());
  choose();
  EXPECT_EQ(stopReason(), "floor_reached");
  EXPECT_EQ(asked, 0);
}

TEST_F(Loop, StopsWithoutGain) {
  evaluator.time[heuristic().key()] = 5;
  for (unsigned patience : {1u, 3u}) {
    options.loop.patience = patience;
    asked = 0;
    next = 0;
    source(fresh());
    choose();
    EXPECT_EQ(stopReason(), "no_gain");
    EXPECT_EQ(asked, int(patience));
  }
  // A gain starts the count again.
  evaluator.time[legal()[4].key()] = 4; // In the second round.
  options.loop.patience = 2;
  asked = 0;
  next = 0;
  choose();
  EXPECT_EQ(asked, 4);
}

TEST_F(Loop, StopsAtTheTarget) {
  evaluator.time[heuristic().key()] = 5;
  evaluator.time[legal()[1].key()] = 4;
  options.loop.targetSpeedup = 5; // Of 20 us.
  source(fresh());
  EXPECT_EQ(choose().strategy.str(), legal()[1].key());
  EXPECT_EQ(stopReason(), "target_reached");
  EXPECT_EQ(asked, 1);
}

TEST_F(Loop, TheBudgetOfCandidatesHolds) {
  options.budget = 6;
  options.loop.patience = 100;
  source(fresh());
  choose();
  EXPECT_EQ(stopReason(), "budget_candidates");
  EXPECT_EQ(evaluator.prepared.size(), 6u);
  EXPECT_EQ(asked, 2); // Four, then the one that is left.
}

TEST_F(Loop, EachNGetsItsShareOfTheBudget) {
  options.ns = {1, 2, 4};
  options.budget = 12;
  options.loop.patience = 100;
  source(fresh());
  choose();
  std::map<int64_t, int> count;
  for (const Candidate &candidate : history)
    ++count[candidate.n];
  EXPECT_LE(history.size(), 12u);
  for (int64_t n : options.ns)
    EXPECT_GE(count[n], 3) << n;
}

TEST_F(Loop, TheBudgetOfSecondsHolds) {
  options.loop.seconds = 10;
  options.loop.patience = 100;
  evaluator.onJudge = [&] { now += 3; };
  source(fresh());
  Choice choice = choose();
  EXPECT_EQ(stopReason(), "budget_seconds");
  EXPECT_EQ(asked, 1); // 3 s for the first, 15 s with a round of four.
  EXPECT_FALSE(choice.useLibrary);
  // Spent before it began: the heuristic's plan is checked all the same.
  now = 11;
  asked = 0;
  choice = choose();
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(choice.strategy.str(), heuristic().key());
  EXPECT_EQ(choice.status, CandidateStatus::Verified);
}

namespace {
struct Spent : PaidBudget {
  std::string spentText() const override { return "2 calls, 0.01 USD"; }
  std::string exhausted() const override { return "money"; }
  llvm::json::Object toJSON() const override {
    return llvm::json::Object{{"calls", 2}, {"money", 0.01}};
  }
};
} // namespace

TEST_F(Loop, ASpentPaidBudgetHandsOverAndIsNamed) {
  Spent spent;
  source(
      [&](const ProposalState &state,
          unsigned) -> llvm::Expected<std::vector<Proposal>> {
        EXPECT_EQ(state.budget.paid, &spent);
        if (++asked == 1)
          return std::vector<Proposal>{legal()[0]};
        return llvm::make_error<BudgetError>("money", "0.01 of 0.01 USD");
      },
      "fake,heuristic", &spent);
  evaluator.time[legal()[0].key()] = 4;
  Choice choice = choose();
  EXPECT_EQ(choice.strategy.str(), legal()[0].key());
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(log.notes("fake: the budget of money is spent"));
  auto stops = log.of("stop");
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0]->getString("ended_budget"), "money");
  EXPECT_EQ(options.sources->spentText(), "fake 2 calls, 0.01 USD");
  // The heuristic went on.
  EXPECT_TRUE(llvm::any_of(history, [](const Candidate &candidate) {
    return candidate.source == "heuristic" && candidate.round > 0;
  }));
  // And is asked at once by the next question of the run.
  choose();
  EXPECT_EQ(asked, 2);
}

TEST_F(Loop, AFailingSourceHandsOverAndSaysSo) {
  source(fresh(), "broken,fake");
  choose();
  EXPECT_GT(asked, 0);
  EXPECT_TRUE(log.notes("broken: the host cannot be reached"));
  ASSERT_EQ(options.sources->ended().size(), 1u);
  // Nobody left: the heuristic's plan stands.
  source(fresh(), "broken");
  evaluator.time[heuristic().key()] = 5;
  EXPECT_EQ(choose().strategy.str(), heuristic().key());
  EXPECT_EQ(stopReason(), "sources_ended");
  // Unless the agent is required.
  source(fresh(), "broken");
  options.loop.requireAgent = true;
  auto plans = choosePlans(report, problem, chip(), options, evaluator);
  ASSERT_FALSE(bool(plans));
  EXPECT_EQ(llvm::toString(plans.takeError()),
            "the agent is required, and it ended: broken: the host cannot be "
            "reached");
}

TEST_F(Loop, AsksNobodyWhereNothingCanBeWon) {
  // What the least bytes of any proposal take, and a little more.
  double floor = floorMicroseconds(report, problem, heuristic(), 1, "sm_90a");
  evaluator.dense = floor * 1.04;
  evaluator.defaultTime = floor * 1.02;
  evaluator.floor = floor * 0.5;
  source(fresh());
  EXPECT_TRUE(choose().useLibrary);
  EXPECT_EQ(stopReason(), "nothing_to_win");
  EXPECT_EQ(asked, 0);
  evaluator.dense = floor * 1.5;
  choose();
  EXPECT_GT(asked, 0);
}

TEST_F(Loop, CtrlCEndsWithTheBestSoFar) {
  std::atomic<bool> interrupted = false;
  options.loop.interrupted = &interrupted;
  evaluator.time[heuristic().key()] = 5;
  evaluator.time[legal()[0].key()] = 4;
  source([&](const ProposalState &state,
             unsigned k) -> llvm::Expected<std::vector<Proposal>> {
    EXPECT_EQ(state.cancelled, &interrupted);
    if (asked == 1)
      interrupted = true;
    return fresh()(state, k);
  });
  Choice choice = choose();
  EXPECT_EQ(stopReason(), "interrupted");
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(choice.strategy.str(), legal()[0].key());
  // Nothing was run after it.
  EXPECT_EQ(evaluator.judged.size(), 5u);
}

TEST_F(Loop, IllegalProposalsAreTypedAndFree) {
  source([&](const ProposalState &,
             unsigned) -> llvm::Expected<std::vector<Proposal>> {
    if (asked++)
      return std::vector<Proposal>();
    Proposal unknown, knob = legal()[0];
    unknown.strategy.family = "magic";
    unknown.predictedMicroseconds = 1e-9;
    knob.strategy.set(knob.strategy.knobs.front().first, 12345);
    return std::vector<Proposal>{unknown, knob};
  });
  Choice choice = choose();
  EXPECT_EQ(choice.strategy.str(), heuristic().key());
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[1].status, CandidateStatus::Illegal);
  EXPECT_NE(history[1].message.find("unknown family 'magic', expected "),
            std::string::npos);
  EXPECT_NE(history[1].message.find("csr"), std::string::npos);
  EXPECT_EQ(history[2].status, CandidateStatus::Illegal);
  EXPECT_NE(history[2].message.find("12345"), std::string::npos);
  EXPECT_EQ(evaluator.prepared.size(), 1u);
}

TEST_F(Loop, RewritesAreTakenOnlyWhereTheyAreKept) {
  source([&](const ProposalState &,
             unsigned) -> llvm::Expected<std::vector<Proposal>> {
    Proposal rewrite = legal()[0];
    rewrite.rewrite.emplace();
    rewrite.rewrite->base = rewrite.strategy;
    rewrite.rewrite->text = "module {}";
    ++asked;
    return std::vector<Proposal>{rewrite};
  });
  Choice choice = choose();
  EXPECT_EQ(choice.strategy.str(), heuristic().key());
  EXPECT_EQ(history[1].status, CandidateStatus::Illegal);
  EXPECT_EQ(history[1].message, "rewritten kernels are not taken here "
                                "(sd-tune tune --rewrite takes them)");
  EXPECT_EQ(evaluator.prepared.size(), 1u);
  options.loop.allowRewrites = true;
  choose();
  EXPECT_EQ(evaluator.prepared.size(), 3u);
}

TEST_F(Loop, FeedbackIsBounded) {
  evaluator.message = std::string(10000, 'x');
  evaluator.status[legal()[0].key()] = CandidateStatus::PtxasFailed;
  size_t seen = 0;
  source([&](const ProposalState &state,
             unsigned k) -> llvm::Expected<std::vector<Proposal>> {
    for (const Candidate &candidate : state.history)
      seen = std::max(seen, candidate.message.size());
    return fresh()(state, k);
  });
  choose();
  EXPECT_EQ(seen, 1503u);
}

TEST_F(Loop, TheStateTellsWhatHappened) {
  evaluator.time[heuristic().key()] = 5;
  evaluator.time[legal()[0].key()] = 4;
  evaluator.status[legal()[1].key()] = CandidateStatus::OverResources;
  evaluator.message = "spills";
  source([&](const ProposalState &state,
             unsigned k) -> llvm::Expected<std::vector<Proposal>> {
    EXPECT_EQ(state.times, TimeSource::Measured);
    EXPECT_EQ(state.denseMicroseconds, 20);
    EXPECT_EQ(state.round, unsigned(asked + 1));
    if (asked == 0) {
      EXPECT_EQ(state.history.size(), 1u);
      EXPECT_EQ(state.best->proposal.key(), heuristic().key());
      EXPECT_EQ(state.budget.candidates, options.budget - 1);
    } else if (asked == 1) {
      EXPECT_EQ(state.history.size(), 5u);
      EXPECT_EQ(state.best->microseconds, 4);
      EXPECT_EQ(state.floorMicroseconds, 1);
      EXPECT_FALSE(state.notes.empty());
      EXPECT_EQ(state.lessons.size(), 1u);
      EXPECT_NE(state.lessons.front().find("spills"), std::string::npos);
    }
    return fresh()(state, k);
  });
  choose();
  EXPECT_GT(asked, 1);
}

TEST_F(Loop, ASourceMayEvaluateInsideATurn) {
  source([&](const ProposalState &state,
             unsigned) -> llvm::Expected<std::vector<Proposal>> {
    if (asked++)
      return std::vector<Proposal>();
    std::vector<Candidate> results =
        state.tools->evaluate({legal()[0], legal()[1]});
    EXPECT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].microseconds, 4);
    EXPECT_EQ(state.history.size(), 3u);
    EXPECT_EQ(state.best->proposal.key(), legal()[0].key());
    std::string text = llvm::cantFail(state.tools->describeFamily("csr"));
    EXPECT_NE(text.find("one of "), std::string::npos);
    EXPECT_EQ(llvm::toString(state.tools->describeFamily("magic").takeError())
                  .find("unknown family 'magic'"),
              0u);
    EXPECT_EQ(llvm::toString(state.tools
                                 ->showKernel(legal()[0].strategy,
                                              AgentTools::Text::PTX, 0, 0)
                                 .takeError()),
              "no kernel is built here");
    return std::vector<Proposal>();
  });
  evaluator.time[legal()[0].key()] = 4;
  EXPECT_EQ(choose().strategy.str(), legal()[0].key());
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(history[1].source, "fake");
}

TEST_F(Loop, WithoutAGpuPredictionsDecide) {
  evaluator.source = TimeSource::Predicted;
  // The best of all by the model may be one that the heuristic leaves out.
  source([&](const ProposalState &,
             unsigned) -> llvm::Expected<std::vector<Proposal>> {
    if (asked++)
      return std::vector<Proposal>();
    Proposal lie = legal()[0];
    lie.predictedMicroseconds = 0.001;
    return std::vector<Proposal>{lie};
  });
  Choice choice = choose();
  EXPECT_EQ(choice.microseconds, 0);
  EXPECT_EQ(choice.status, CandidateStatus::Compiled);
  // What the source says of its own time counts for nothing.
  EXPECT_LE(choice.predictedMicroseconds,
            heuristic().predictedMicroseconds * 1.0001);
  EXPECT_GT(choice.predictedMicroseconds, 1);
  EXPECT_TRUE(evaluator.judged.empty());
}

TEST_F(Loop, AVerifiedRecordIsTakenFirst) {
  KnownResult known;
  known.strategy = legal()[7].strategy;
  known.microseconds = 3;
  known.denseMicroseconds = 12;
  known.floorMicroseconds = 2.9;
  known.recordId = "0123456789abcdef";
  auto sources = llvm::cantFail(SourceChain::create("heuristic"));
  for (bool isMeasured : {false, true}) {
    FakeEvaluator fake;
    fake.source = isMeasured ? TimeSource::Measured : TimeSource::Predicted;
    fake.time[legal()[7].key()] = 3.1;
    fake.floor = 2.99;
    LoopShared shared{options.loop, *sources, fake};
    shared.events = &log;
    Question question{report, problem, *chip()[0], 1};
    question.families.assign(allFamilies().begin(), allFamilies().end());
    question.known = known;
    Search search(question, shared);
    llvm::cantFail(search.survey());
    llvm::cantFail(search.explore(64));
    std::set<std::string> built, failed;
    auto settled = search.settle({packingKey(known.strategy)}, built, failed);
    EXPECT_FALSE(settled.isLibrary);
    EXPECT_EQ(settled.proposal.key(), legal()[7].key());
    EXPECT_EQ(settled.candidate.microseconds, isMeasured ? 3.1 : 3);
    if (isMeasured) {
      EXPECT_EQ(search.stop(), LoopStop::RecordStands);
    }
    // Here it is measured again, beside the heuristic's; there it is believed.
    EXPECT_EQ(fake.judged.size(), isMeasured ? 2u : 0u);
  }
}

TEST_F(Loop, ARecordOfAnotherBinaryIsNotApplied) {
  KnownResult known;
  known.strategy = legal()[7].strategy;
  known.microseconds = 3;
  known.denseMicroseconds = 12;
  known.binaryHash = "of an older compiler";
  known.recordId = "0123456789abcdef";
  auto sources = llvm::cantFail(SourceChain::create("heuristic"));
  evaluator.source = TimeSource::Predicted;
  LoopShared shared{options.loop, *sources, evaluator};
  shared.events = &log;
  Question question{report, problem, *chip()[0], 1};
  question.families.assign(allFamilies().begin(), allFamilies().end());
  question.known = known;
  Search search(question, shared);
  llvm::cantFail(search.survey());
  llvm::cantFail(search.explore(64));
  std::set<std::string> built, failed;
  auto settled = search.settle({packingKey(known.strategy)}, built, failed);
  EXPECT_EQ(settled.candidate.microseconds, 0);
  EXPECT_TRUE(log.notes("0123456789abcdef is not applied"));
}

TEST_F(Loop, BaselinesAreMeasuredByThemselves) {
  options.agent = "random:3";
  options.budget = 9;
  choose();
  EXPECT_EQ(evaluator.judged.size(), 9u);
  for (const Candidate &candidate : history)
    EXPECT_EQ(candidate.source, "random:3");
}

TEST_F(Loop, TheHeuristicSearchesWhereItIsMeasured) {
  options.agent = "heuristic";
  evaluator.time[heuristic().key()] = 9;
  Choice choice = choose();
  EXPECT_GT(evaluator.judged.size(), 4u);
  EXPECT_EQ(choice.microseconds, 8);
}

TEST_F(Loop, FormatsAreChosenTogetherByWhatWasMeasured) {
  // Two families accept the weight, one copy may be kept. By the clock the one
  // that the model likes less is far better at one N and a little worse at the
  // other.
  use(structuredWeight("nm", ElementType::F16, 2048, 2048, 3));
  options.ns = {1, 16};
  options.budget = 200;
  options.loop.patience = 100;
  options.agent = "exhaustive";
  source([&](const ProposalState &state,
             unsigned) -> llvm::Expected<std::vector<Proposal>> {
    // One of each family, once.
    std::vector<Proposal> proposals;
    if (state.round > 1)
      return proposals;
    for (const KernelFamily *family : state.families) {
      auto strategies = family->candidates(state.report, state.problem, 90);
      if (llvm::Error error = family->accepts(state.report, state.problem)) {
        llvm::consumeError(std::move(error));
        continue;
      }
      for (const Strategy &strategy : strategies) {
        Proposal proposal;
        proposal.strategy = strategy;
        double csr = state.problem.tuneN == 1 ? 2 : 6;
        evaluator.time[proposal.key()] = strategy.family == "csr" ? csr : 5;
        proposals.push_back(std::move(proposal));
      }
    }
    return proposals;
  });
  auto plans = llvm::cantFail(
      choosePlans(report, problem, chip(), options, evaluator, &history));
  std::set<std::string> formats;
  for (const Choice &choice : plans.front())
    if (!choice.useLibrary)
      formats.insert(packingKey(choice.strategy));
  ASSERT_EQ(formats.size(), 1u);
  EXPECT_EQ(formats.begin()->find("csr"), 0u) << *formats.begin();
}

TEST_F(Loop, ProgressIsReported) {
  std::vector<LoopProgress> lines;
  options.label = "fc1";
  options.progress = [&](const LoopProgress &line) { lines.push_back(line); };
  evaluator.time[heuristic().key()] = 5;
  source(fresh());
  choose();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0].label, "fc1");
  EXPECT_EQ(lines[0].round, 0u);
  EXPECT_EQ(lines[0].candidates, 1);
  EXPECT_EQ(lines[0].microseconds, 5);
  EXPECT_EQ(lines[0].denseMicroseconds, 20);
  EXPECT_EQ(lines[1].round, 1u);
  EXPECT_EQ(lines[1].candidates, 5);
}
