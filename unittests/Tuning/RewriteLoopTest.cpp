//===- RewriteLoopTest.cpp - Rewritten kernels in the loop ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeLoop.h"
#include "sparseditto/Tuning/Evaluators.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {
struct RewriteLoop : LoopFixture {
  RewriteLoop() {
    options.loop.allowRewrites = true;
    evaluator.time[base.key()] = 5; // Others take 8, dense 20.
    source([this](const ProposalState &,
                  unsigned) -> llvm::Expected<std::vector<Proposal>> {
      return asked++ ? std::vector<Proposal>() : proposals;
    });
  }
  const Candidate &became(const Proposal &proposal) {
    for (const Candidate &candidate : history)
      if (candidate.proposal.key() == proposal.key())
        return candidate;
    ADD_FAILURE() << proposal.key() << " was not evaluated";
    return history.front();
  }

  const Proposal base = heuristic();
  const Proposal rewrite = rewriteOf(base);
  std::vector<Proposal> proposals = {rewrite};
};
} // namespace

TEST_F(RewriteLoop, AFasterOneWinsAndSaysWhatItChanged) {
  evaluator.time[rewrite.key()] = 4;
  Choice choice = choose();
  ASSERT_TRUE(choice.rewrite);
  EXPECT_EQ(choice.rewrite->key(), rewrite.key());
  EXPECT_EQ(choice.strategy, base.strategy);
  EXPECT_EQ(choice.microseconds, 4);
  EXPECT_EQ(choice.status, CandidateStatus::Verified);
  EXPECT_EQ(choice.text(), "custom " + rewrite.key());
  // Measured beside its base.
  auto comparisons = log.of("comparison");
  ASSERT_EQ(comparisons.size(), 2u);
  EXPECT_EQ(comparisons[1]->getString("challenger"), rewrite.key());
  EXPECT_EQ(comparisons[1]->getString("incumbent"), base.key());
  auto decisions = log.of("decision");
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0]->getString("choice"), "custom");
  EXPECT_EQ(decisions[0]->getString("strategy"), base.key());
  auto read = rewriteFromJSON(*decisions[0]->get("rewrite"));
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->key(), rewrite.key());
}

TEST_F(RewriteLoop, ASlowerOneIsRolledBack) {
  evaluator.time[rewrite.key()] = 6;
  EXPECT_EQ(choose().text(), base.key());
  // One that only looks faster, too: first and beside its base.
  for (auto [first, beside] : {std::pair(3.0, 5.5), {4.9, 4.9}, {3.0, 4.9}}) {
    asked = 0;
    evaluator.time[rewrite.key()] = first;
    evaluator.timeBeside[rewrite.key()] = beside;
    EXPECT_EQ(choose().text(), base.key()) << first << ", " << beside;
  }
}

TEST_F(RewriteLoop, OneThatIsRefusedCostsNothingButItself) {
  evaluator.status[rewrite.key()] = CandidateStatus::LoweringFailed;
  evaluator.message = "kernel.mlir:5:12: error: no such operation";
  EXPECT_EQ(choose().text(), base.key());
  EXPECT_EQ(became(rewrite).status, CandidateStatus::LoweringFailed);
  EXPECT_EQ(became(rewrite).message, evaluator.message);
}

TEST_F(RewriteLoop, TheSameBinaryIsNoRewrite) {
  evaluator.binary[rewrite.key()] = evaluator.binary[base.key()] = "same";
  EXPECT_EQ(choose().text(), base.key());
  EXPECT_EQ(became(rewrite).sameAs, base.key());
  EXPECT_FALSE(llvm::is_contained(evaluator.judged, rewrite.key()));
}

TEST_F(RewriteLoop, UnmeasuredItIsReportedAndNeverChosen) {
  evaluator.source = TimeSource::Predicted;
  evaluator.emulates = true;
  EXPECT_EQ(choose().text(), base.key());
  EXPECT_EQ(became(rewrite).status, CandidateStatus::Verified);
  EXPECT_EQ(became(rewrite).time(), base.predictedMicroseconds);
  EXPECT_TRUE(log.notes(rewrite.key() + " is verified and not chosen: it was "
                                        "not measured"));
}

TEST_F(RewriteLoop, ABaseThatNobodyTriedCompetesToo) {
  // Of a kernel that the heuristic does not offer, where what it offers falls.
  evaluator.source = TimeSource::Predicted;
  evaluator.emulates = true;
  options.families = {"csr"};
  options.budget = 4000;
  const Proposal other = legal()[3];
  for (const Proposal &proposal : legal())
    if (proposal.key() != other.key())
      evaluator.status[proposal.key()] = CandidateStatus::OverResources;
  evaluator.status[base.key()] = CandidateStatus::OverResources;
  proposals = {rewriteOf(other)};
  EXPECT_EQ(choose().text(), other.key());
  EXPECT_EQ(became(proposals[0]).status, CandidateStatus::Verified);
}

TEST_F(RewriteLoop, OneThatDidNotWinDoesNotStandInItsFormatEither) {
  // N = 2 wants another format than N = 1, and the only one is for both.
  const Proposal other = *llvm::find_if(legal(), [&](const Proposal &proposal) {
    return packingKey(proposal.strategy) != packingKey(base.strategy);
  });
  proposals = {other, rewriteOf(other)};
  source([this](const ProposalState &state,
                unsigned) -> llvm::Expected<std::vector<Proposal>> {
    if (asked++ == 0)
      return proposals;
    return state.history.size() < 2 ? std::vector<Proposal>{proposals[0]}
                                    : std::vector<Proposal>();
  });
  evaluator.time[other.key() + "@1"] = 5.1;
  evaluator.time[proposals[1].key() + "@1"] = 5.05;
  evaluator.time[other.key() + "@2"] = 2;
  options.ns = {1, 2};
  auto plans = llvm::cantFail(
      choosePlans(report, problem, chip(), options, evaluator, &history));
  ASSERT_EQ(plans.front().size(), 1u);
  EXPECT_EQ(plans.front()[0].text(), other.key());
  EXPECT_EQ(became(proposals[1]).microseconds, 5.05);
}

TEST_F(RewriteLoop, OneForTwoNIsOneKernel) {
  evaluator.time[rewrite.key()] = 2;
  options.ns = {1, 2};
  auto both = [&](int64_t n, const std::vector<Proposal> &ask) {
    return [=, this](const ProposalState &state,
                     unsigned) -> llvm::Expected<std::vector<Proposal>> {
      return state.problem.tuneN == n || asked++ == 0 ? ask
                                                      : std::vector<Proposal>();
    };
  };
  source(both(2, {rewrite}));
  auto plans = llvm::cantFail(
      choosePlans(report, problem, chip(), options, evaluator, &history));
  ASSERT_EQ(plans.front().size(), 1u);
  EXPECT_EQ(plans.front()[0].rangeText(), "any");
  EXPECT_EQ(plans.front()[0].text(), "custom " + rewrite.key());
}

TEST_F(RewriteLoop, NOfOneStrategyAndItsRewriteAreTwoRanges) {
  evaluator.time[rewrite.key()] = 2;
  options.ns = {1, 2};
  auto plans = llvm::cantFail(
      choosePlans(report, problem, chip(), options, evaluator, &history));
  ASSERT_EQ(plans.front().size(), 2u);
  EXPECT_EQ(plans.front()[0].text(), "custom " + rewrite.key());
  EXPECT_EQ(plans.front()[1].text(), base.key());
}
