//===- ProposalSourceTest.cpp - Heuristic, exhaustive, random -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/ProposalSource.h"
#include "TestWeights.h"
#include "sparseditto/Analysis/Analyze.h"
#include "gtest/gtest.h"
#include <set>

using namespace sparseditto;
using namespace sparseditto::test;

static PatternReport reportOf(int64_t m, int64_t k, double density) {
  return llvm::cantFail(
      analyze(randomWeight(ElementType::F16, m, k, density, 11)));
}

static ProposalState stateFor(const PatternReport &report, int64_t n) {
  ProposalState state{report, Problem()};
  state.problem.m = report.rows;
  state.problem.k = report.cols;
  state.problem.type = state.problem.outputType = report.type;
  state.problem.tuneN = n;
  state.chip = "sm_90a";
  state.families = allFamilies();
  return state;
}

static Proposal bestOf(ProposalSource &source, const ProposalState &state) {
  auto proposals = llvm::cantFail(source.propose(state, 1));
  EXPECT_EQ(proposals.size(), 1u);
  return proposals.front();
}

TEST(Heuristic, SparseDecodeGetsAKernelAndPrefillTheLibrary) {
  PatternReport report = reportOf(4096, 4096, 0.05);
  auto source = createHeuristicSource();
  Proposal decode = bestOf(*source, stateFor(report, 1));
  EXPECT_FALSE(decode.useLibrary);
  EXPECT_EQ(decode.strategy.family, "csr");
  EXPECT_EQ(decode.strategy.get("tile_n"), 1);
  Proposal prefill = bestOf(*source, stateFor(report, 2048));
  EXPECT_TRUE(prefill.useLibrary);
  EXPECT_NE(prefill.reason.find("not 1.10x faster"), std::string::npos)
      << prefill.reason;
}

TEST(Heuristic, SmallLayersWithSeveralTokensStayWithTheLibrary) {
  for (auto [m, k] : {std::pair{64, 16}, {128, 288}, {256, 576}, {1000, 512}}) {
    PatternReport report = reportOf(m, k, 0.3);
    for (Layout layout : {Layout::TokenMajor, Layout::FeatureMajor}) {
      ProposalState state = stateFor(report, 16);
      state.problem.layout = layout;
      const KernelFamily *csr = findFamily("csr");
      state.families = csr; // The one that was measured there.
      auto source = createHeuristicSource();
      Proposal best = bestOf(*source, state);
      EXPECT_TRUE(best.useLibrary)
          << m << "x" << k << " " << best.strategy.str() << ": " << best.reason;
    }
  }
}

TEST(Heuristic, EveryProposalIsLegalAndSorted) {
  PatternReport report = reportOf(512, 2048, 0.2);
  for (int64_t n : {1, 8, 64, 700}) {
    ProposalState state = stateFor(report, n);
    auto source = createHeuristicSource();
    auto proposals = llvm::cantFail(source->propose(state, 1000));
    ASSERT_FALSE(proposals.empty());
    for (const Proposal &proposal : proposals) {
      EXPECT_FALSE(proposal.reason.empty());
      EXPECT_GT(proposal.predictedMicroseconds, 0);
      if (proposal.useLibrary)
        continue;
      llvm::Error error = findFamily(proposal.strategy.family)
                              ->check(proposal.strategy, state.problem, 90);
      EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    }
  }
}

TEST(Heuristic, DoesNotRepeatItsHistory) {
  PatternReport report = reportOf(1024, 1024, 0.05);
  ProposalState state = stateFor(report, 1);
  auto source = createHeuristicSource();
  std::set<std::string> seen;
  while (true) {
    auto proposals = llvm::cantFail(source->propose(state, 1));
    if (proposals.empty())
      break;
    std::string key =
        proposals[0].useLibrary ? "library" : proposals[0].strategy.str();
    ASSERT_TRUE(seen.insert(key).second) << key;
    Candidate candidate;
    candidate.proposal = proposals[0];
    candidate.n = 1;
    state.history.push_back(candidate);
  }
  EXPECT_GT(seen.size(), 2u);
  EXPECT_TRUE(seen.count("library"));
}

TEST(Enumeration, RandomIsAPermutationOfExhaustive) {
  PatternReport report = reportOf(256, 512, 0.1);
  ProposalState state = stateFor(report, 4);
  const KernelFamily *csr = findFamily("csr");
  state.families = csr;
  auto keysOf = [&](ProposalSource &source) {
    std::vector<std::string> keys;
    while (true) {
      auto proposals = llvm::cantFail(source.propose(state, 7));
      for (const Proposal &proposal : proposals)
        keys.push_back(proposal.useLibrary ? "library"
                                           : proposal.strategy.str());
      if (proposals.size() < 7)
        return keys;
    }
  };
  auto exhaustive = keysOf(*createExhaustiveSource());
  auto random = keysOf(*createRandomSource(3));
  auto again = keysOf(*createRandomSource(3));
  auto other = keysOf(*createRandomSource(4));
  EXPECT_EQ(random, again);
  EXPECT_NE(random, other);
  EXPECT_NE(random, exhaustive);
  EXPECT_EQ(std::set<std::string>(random.begin(), random.end()),
            std::set<std::string>(exhaustive.begin(), exhaustive.end()));
  EXPECT_EQ(exhaustive.size(), random.size());
  EXPECT_GT(exhaustive.size(), 100u);
}

TEST(Sources, BudgetCapsAProposal) {
  PatternReport report = reportOf(256, 512, 0.1);
  ProposalState state = stateFor(report, 4);
  state.budget.candidates = 2;
  const KernelFamily *csr = findFamily("csr");
  state.families = csr;
  for (const char *name : {"heuristic", "exhaustive", "random:5"}) {
    auto source = llvm::cantFail(createProposalSource(name));
    EXPECT_LE(llvm::cantFail(source->propose(state, 100)).size(), 2u) << name;
  }
}

TEST(Sources, UnknownNamesListTheKnownOnes) {
  auto messageFor = [](llvm::StringRef spec) {
    auto source = createProposalSource(spec);
    EXPECT_FALSE(bool(source));
    return llvm::toString(source.takeError());
  };
  EXPECT_EQ(messageFor("oracle"), "unknown agent 'oracle', expected heuristic, "
                                  "exhaustive or random[:SEED]");
  EXPECT_EQ(messageFor("random:x"), "agent 'random:x': expected a decimal seed "
                                    "after 'random:', got 'x'");
}

TEST(Candidate, StatusNamesRoundTrip) {
  int known = 0;
  for (int i = 0; i <= int(CandidateStatus::Verified); ++i) {
    CandidateStatus status = CandidateStatus(i);
    EXPECT_EQ(parseCandidateStatus(name(status)), status);
    known += stands(status);
  }
  EXPECT_EQ(known, 3);
  EXPECT_FALSE(parseCandidateStatus("Verified").has_value());
}

TEST(Candidate, KeysTellRewritesApart) {
  Proposal proposal;
  proposal.strategy.family = "csr";
  proposal.strategy.set("warps", 4);
  EXPECT_EQ(proposal.key(), "csr{warps=4}");
  std::string plain = proposal.key();
  proposal.rewrite.emplace();
  proposal.rewrite->base = proposal.strategy;
  proposal.rewrite->edits = {{"ab", "c"}};
  std::string first = proposal.key();
  proposal.rewrite->edits = {{"a", "bc"}};
  std::string second = proposal.key();
  EXPECT_NE(first, plain);
  EXPECT_NE(first, second);
  EXPECT_EQ(second, proposal.key());
  proposal.useLibrary = true;
  EXPECT_EQ(proposal.key(), "library");
}

TEST(Candidate, RewritesAreReadBack) {
  Rewrite rewrite;
  rewrite.base.family = "csr";
  rewrite.base.set("warps", 4);
  rewrite.symbol = "sd_kernel";
  rewrite.edits = {{"a\n", ""}, {"\"b\"", "c"}};
  auto read = rewriteFromJSON(toJSON(rewrite));
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->key(), rewrite.key());
  rewrite.edits.clear();
  rewrite.text = "module {}";
  read = rewriteFromJSON(toJSON(rewrite));
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->text, "module {}");
  EXPECT_EQ(read->key(), rewrite.key());

  auto errorOf = [](const char *text) {
    auto value = llvm::cantFail(llvm::json::parse(text));
    return llvm::toString(rewriteFromJSON(value).takeError());
  };
  EXPECT_EQ(errorOf("3"), "rewrite is not an object");
  EXPECT_EQ(errorOf(R"({"base": "csr{}", "symbol": "s"})"),
            "rewrite has no \"edits\"");
  EXPECT_EQ(errorOf(R"({"base": "csr{}", "symbol": "s", "edits": [3]})"),
            "edit is not an object");
  EXPECT_EQ(errorOf(R"({"base": "csr{", "symbol": "s", "edits": []})"),
            "rewrite: base 'csr{' is no strategy");
  EXPECT_NE(errorOf(R"({"base": "c", "symbol": "s", "edits": [], "text": 3})")
                .find("\"text\""),
            std::string::npos);
}

TEST(BudgetError, NamesTheCurrency) {
  llvm::Error error = llvm::make_error<BudgetError>("tokens", "4096 of 4096");
  ASSERT_TRUE(error.isA<BudgetError>());
  EXPECT_EQ(llvm::toString(std::move(error)),
            "the budget of tokens is spent (4096 of 4096)");
}
