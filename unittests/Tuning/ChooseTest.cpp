//===- ChooseTest.cpp - Ranges, copies, refusals --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Choose.h"
#include "TestWeights.h"
#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Analysis/Analyze.h"
#include "gtest/gtest.h"
#include <set>

using namespace sparseditto;
using namespace sparseditto::test;

namespace {
using Status =
    std::function<CandidateStatus(const Proposal &, int64_t, const Chip &)>;

/// Gives each candidate the status that a test says, Compiled without one.
class StatusEvaluator : public Evaluator {
public:
  explicit StatusEvaluator(Status status = nullptr)
      : status(std::move(status)) {}
  std::vector<Candidate> prepare(llvm::ArrayRef<Proposal> proposals, int64_t n,
                                 const Chip &chip) override {
    std::vector<Candidate> candidates;
    for (const Proposal &proposal : proposals) {
      Candidate &candidate = candidates.emplace_back();
      candidate.proposal = proposal;
      candidate.n = n;
      candidate.status =
          status ? status(proposal, n, chip) : CandidateStatus::Compiled;
      if (candidate.status != CandidateStatus::Compiled)
        candidate.message = "refused by the test";
    }
    return candidates;
  }

private:
  Status status;
};

/// A weight, its report and an evaluation that lets everything stand.
class ChooseTest : public ::testing::Test {
protected:
  void use(const Matrix &weight) {
    report = llvm::cantFail(analyze(weight));
    problem.m = weight.rows;
    problem.k = weight.cols;
    problem.type = problem.outputType = weight.type;
  }
  void useRandom(int64_t m, int64_t k, double density) {
    use(randomWeight(ElementType::F16, m, k, density, 5));
  }

  static std::vector<const Chip *> chips(std::vector<std::string> names) {
    std::vector<const Chip *> result;
    for (const std::string &name : names)
      result.push_back(llvm::cantFail(findChip(name)));
    return result;
  }
  static std::vector<const Chip *> sixChips() {
    return chips({"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"});
  }

  std::vector<std::vector<Choice>> plans(llvm::ArrayRef<const Chip *> chips,
                                         Status status = nullptr) {
    history.clear();
    StatusEvaluator evaluator(std::move(status));
    return llvm::cantFail(
        choosePlans(report, problem, chips, options, evaluator, &history));
  }
  std::vector<Choice> plan(Status status = nullptr) {
    return plans(chips({"sm_90a"}), std::move(status)).front();
  }

  static std::set<std::string>
  formats(llvm::ArrayRef<std::vector<Choice>> plans) {
    std::set<std::string> result;
    for (const std::vector<Choice> &plan : plans)
      for (const Choice &choice : plan)
        if (!choice.useLibrary)
          result.insert(packingKey(choice.strategy));
    return result;
  }

  /// Every N from 1 on is served exactly once.
  static void expectCoverage(llvm::ArrayRef<Choice> plan) {
    ASSERT_FALSE(plan.empty());
    EXPECT_EQ(plan.front().nMin, 1);
    EXPECT_EQ(plan.back().nMax, 0);
    for (size_t i = 0; i + 1 < plan.size(); ++i) {
      EXPECT_GE(plan[i].nMax, plan[i].nMin);
      EXPECT_EQ(plan[i + 1].nMin, plan[i].nMax + 1);
    }
  }

  PatternReport report;
  Problem problem;
  ChooseOptions options;
  std::vector<Candidate> history;
};
} // namespace

TEST_F(ChooseTest, RangesCoverEveryNOnce) {
  useRandom(1024, 2048, 0.05);
  for (std::vector<int64_t> ns : std::vector<std::vector<int64_t>>{
           {1}, {512, 1, 16, 16}, {7}, {1, 2, 3, 4, 5, 2147483647}}) {
    options.ns = ns;
    std::vector<Choice> chosen = plan();
    expectCoverage(chosen);
    for (const Choice &choice : chosen)
      EXPECT_TRUE(llvm::is_contained(ns, choice.tuneN));
  }
}

TEST_F(ChooseTest, AdjacentRangesOfOneKernelMerge) {
  useRandom(4096, 4096, 0.9);
  options.ns = {64, 128, 256, 512};
  std::vector<Choice> chosen = plan();
  // Dense enough that the library serves all.
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_TRUE(chosen[0].useLibrary);
  EXPECT_EQ(chosen[0].nMin, 1);
  EXPECT_EQ(chosen[0].nMax, 0);
  EXPECT_EQ(chosen[0].tuneN, 512);

  useRandom(4096, 4096, 0.05);
  options.ns = {1, 2, 3, 4, 5, 6, 7, 8, 2048};
  chosen = plan();
  expectCoverage(chosen);
  for (size_t i = 0; i + 1 < chosen.size(); ++i)
    EXPECT_FALSE(
        chosen[i].useLibrary == chosen[i + 1].useLibrary &&
        (chosen[i].useLibrary || chosen[i].strategy == chosen[i + 1].strategy));
  EXPECT_FALSE(chosen.front().useLibrary);
  EXPECT_TRUE(chosen.back().useLibrary);
}

TEST_F(ChooseTest, OneCopyServesAllNAndChipsByDefault) {
  std::vector<Matrix> weights = {
      randomWeight(ElementType::F16, 1024, 4096, 0.05, 1),
      randomWeight(ElementType::F16, 4096, 4096, 0.15, 2),
      structuredWeight("nm", ElementType::F16, 2048, 2048, 3)};
  for (const Matrix &weight : weights) {
    use(weight);
    options = {};
    options.ns = {1, 4, 8, 16, 64, 512};
    options.maxCopies = 1;
    auto one = plans(sixChips());
    ASSERT_EQ(one.size(), 6u);
    for (const std::vector<Choice> &plan : one)
      expectCoverage(plan);
    EXPECT_EQ(formats(one).size(), 1u);
    options.maxCopies = 3;
    auto more = plans(sixChips());
    EXPECT_LE(formats(more).size(), 3u);
    // More copies never make a prediction worse. Ranges may merge differently,
    // so the first ones are compared where they were chosen for the same N.
    for (auto [few, many] : llvm::zip_equal(one, more)) {
      if (few.front().tuneN != many.front().tuneN)
        continue;
      EXPECT_LE(many.front().predictedMicroseconds,
                few.front().predictedMicroseconds * 1.0001);
    }
  }
}

TEST_F(ChooseTest, ARefusedCandidateFallsToTheNext) {
  useRandom(2048, 4096, 0.05);
  options.ns = {1};
  std::vector<Choice> first = plan();
  ASSERT_FALSE(first[0].useLibrary);
  std::vector<Choice> second =
      plan([&](const Proposal &proposal, int64_t, const Chip &) {
        return proposal.strategy == first[0].strategy
                   ? CandidateStatus::OverResources
                   : CandidateStatus::Compiled;
      });
  ASSERT_EQ(second.size(), 1u);
  ASSERT_FALSE(second[0].useLibrary);
  EXPECT_FALSE(second[0].strategy == first[0].strategy);
  EXPECT_EQ(packingKey(second[0].strategy), packingKey(first[0].strategy));
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].status, CandidateStatus::OverResources);
  EXPECT_EQ(history[1].status, CandidateStatus::Compiled);
}

TEST_F(ChooseTest, AnotherFormatReplacesOneThatCannotBeBuilt) {
  useRandom(2048, 4096, 0.05);
  options.ns = {1};
  std::string refused = packingKey(plan()[0].strategy);
  std::vector<Choice> chosen =
      plan([&](const Proposal &proposal, int64_t, const Chip &) {
        return packingKey(proposal.strategy) == refused
                   ? CandidateStatus::Illegal
                   : CandidateStatus::Compiled;
      });
  ASSERT_EQ(chosen.size(), 1u);
  ASSERT_FALSE(chosen[0].useLibrary);
  EXPECT_NE(packingKey(chosen[0].strategy), refused);
}

TEST_F(ChooseTest, NothingStandsLeavesTheLibraryAndSaysWhy) {
  useRandom(2048, 4096, 0.05);
  // Forced to a family, no proposal of the library is there to fall back to.
  for (const char *family : {"", "csr"}) {
    options.families.clear();
    if (*family)
      options.families = {family};
    std::vector<Choice> chosen =
        plan([](const Proposal &, int64_t, const Chip &) {
          return CandidateStatus::PtxasFailed;
        });
    ASSERT_EQ(chosen.size(), 1u);
    EXPECT_TRUE(chosen[0].useLibrary);
    EXPECT_GT(chosen[0].predictedMicroseconds, 0);
    EXPECT_NE(chosen[0].reason.find("dense library"), std::string::npos);
  }
  EXPECT_NE(plan([](const Proposal &, int64_t, const Chip &) {
              return CandidateStatus::PtxasFailed;
            })[0]
                .reason.find("no candidate stands (csr{"),
            std::string::npos);
}

TEST_F(ChooseTest, AFamilyCanBeForced) {
  useRandom(512, 512, 0.9);
  options.families = {"csr"};
  std::vector<Choice> chosen = plan();
  expectCoverage(chosen);
  for (const Choice &choice : chosen) {
    ASSERT_FALSE(choice.useLibrary);
    EXPECT_EQ(choice.strategy.family, "csr");
  }
  // Not a 2:4 weight: nothing to build.
  options.families = {"nm"};
  chosen = plan();
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_TRUE(chosen[0].useLibrary);
  EXPECT_EQ(chosen[0].reason, "dense library: no candidate could be built");
  // The best of several families.
  options.families = {"nm", "csr", "dense"};
  for (const Choice &choice : plan())
    EXPECT_TRUE(!choice.useLibrary && choice.strategy.family != "nm");
}

TEST_F(ChooseTest, KernelsPromiseAMarginOverTheLibrary) {
  for (double density : {0.02, 0.1, 0.3, 0.6, 1.0})
    for (int64_t size : {64, 576, 2048}) {
      useRandom(size, size, density);
      options.ns = {1, 4, 16, 64, 512};
      // The enumerations take their time: one weight is enough of them.
      for (const char *agent : {"heuristic", "exhaustive", "random:7"}) {
        options.agent = agent;
        if (options.agent != "heuristic" && (size != 576 || density != 0.1))
          continue;
        for (const Choice &choice : plan())
          if (!choice.useLibrary) {
            EXPECT_LE(choice.predictedMicroseconds * requiredGain,
                      choice.libraryMicroseconds * 1.0001)
                << agent << " " << density << " " << size << " n "
                << choice.tuneN;
          }
      }
    }
}

TEST_F(ChooseTest, TheBudgetCountsEvaluationsOfAChip) {
  useRandom(2048, 4096, 0.05);
  options.ns = {1, 2, 4};
  options.budget = 2;
  auto refuseAll = [](const Proposal &, int64_t, const Chip &) {
    return CandidateStatus::OverResources;
  };
  plans(chips({"sm_80", "sm_90a"}), refuseAll);
  EXPECT_EQ(history.size(), 4u);
  options.budget = 0;
  std::vector<Choice> chosen = plan();
  EXPECT_TRUE(history.empty());
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_TRUE(chosen[0].useLibrary);
  EXPECT_EQ(chosen[0].reason,
            "dense library: the budget of candidates is spent");
}

TEST_F(ChooseTest, IsDeterministic) {
  useRandom(1024, 4096, 0.08);
  for (const char *agent : {"heuristic", "exhaustive", "random:3"}) {
    options.agent = agent;
    auto some = options.agent == "heuristic" ? sixChips() : chips({"sm_86"});
    auto first = plans(some), second = plans(some);
    for (auto [a, b] : llvm::zip_equal(first, second)) {
      ASSERT_EQ(a.size(), b.size());
      for (auto [x, y] : llvm::zip_equal(a, b)) {
        EXPECT_EQ(x.useLibrary, y.useLibrary);
        EXPECT_TRUE(x.strategy == y.strategy);
        EXPECT_EQ(x.reason, y.reason);
      }
    }
  }
}

TEST_F(ChooseTest, BadNAreRefused) {
  useRandom(64, 64, 0.5);
  auto messageFor = [&](std::vector<int64_t> ns) {
    options.ns = std::move(ns);
    StatusEvaluator evaluator;
    auto chosen =
        choosePlans(report, problem, chips({"sm_90a"}), options, evaluator);
    EXPECT_FALSE(bool(chosen));
    return llvm::toString(chosen.takeError());
  };
  EXPECT_EQ(messageFor({}), "expected at least one n to choose for");
  EXPECT_EQ(messageFor({4, -3}), "expected n of at least 1, got -3");
}
