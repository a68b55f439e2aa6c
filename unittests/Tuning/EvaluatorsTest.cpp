//===- EvaluatorsTest.cpp - Compiling and running candidates -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Evaluators.h"
#include "TestWeights.h"
#include "sparseditto/Runtime/Package.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {
/// Kernels of a small csr weight, with a worker that a test scripts.
struct EvaluatorsTest : ::testing::Test {
  EvaluatorsTest() {
    problem.m = weight.rows;
    problem.k = weight.cols;
    for (int64_t warps : {8, 16}) {
      Proposal proposal;
      proposal.strategy = findFamily("csr")->declaration().defaults();
      proposal.strategy.set("warps", warps);
      proposals.push_back(std::move(proposal));
    }
    settings.run = [this](const Job &job) {
      jobs.push_back(job);
      // What a worker would do first.
      auto package = readPackage(job.package, job.layer);
      EXPECT_TRUE(bool(package)) << llvm::toString(package.takeError());
      packages.push_back(job.package);
      JobResult result;
      result.status = status;
      result.message = message;
      if (status == RunStatus::Verified && isTimed && !job.timeN.empty()) {
        Measurement measurement;
        measurement.n = job.timeN.front();
        measurement.kernel.median = 4;
        measurement.denseBefore = 9;
        measurement.denseAfter = 11;
        measurement.floorMicroseconds = 3;
        result.measurements.push_back(measurement);
        if (!job.rival.empty()) {
          measurement.kernel.median = 5;
          measurement.denseAfter = 15;
          result.rivals.push_back(measurement);
        }
      }
      return result;
    };
    settings.runs = [this](const Chip &) { return hasDevice; };
  }
  std::vector<Candidate> judged(JobEvaluator &evaluator) {
    auto candidates = evaluator.prepare(proposals, 3, chip);
    for (const Candidate &candidate : candidates)
      EXPECT_EQ(candidate.status, CandidateStatus::Compiled)
          << candidate.message;
    evaluator.judge(candidates, chip);
    return candidates;
  }

  Matrix weight = randomWeight(ElementType::F16, 64, 128, 0.1, 3);
  Problem problem;
  const Chip &chip = *llvm::cantFail(findChip("sm_80"));
  KernelCache cache{PtxasOptions{}};
  CandidateBuilder builder{weight, cache};
  JobSettings settings;
  std::vector<Proposal> proposals;
  std::vector<Job> jobs;
  std::vector<std::string> packages;
  RunStatus status = RunStatus::Verified;
  std::string message;
  bool hasDevice = true, isTimed = true;
};
} // namespace

TEST_F(EvaluatorsTest, MeasuresInAPackageOfItsOwn) {
  std::string package;
  {
    JobEvaluator evaluator(weight, problem, builder, settings, 2);
    EXPECT_EQ(evaluator.times(chip), TimeSource::Measured);
    auto candidates = judged(evaluator);
    ASSERT_EQ(jobs.size(), 2u);
    EXPECT_NE(jobs[0].symbol, jobs[1].symbol);
    EXPECT_EQ(jobs[0].timeN, std::vector<int64_t>{3});
    EXPECT_FALSE(jobs[0].emulate);
    EXPECT_FALSE(jobs[0].onlyGivenN);
    EXPECT_EQ(candidates[0].status, CandidateStatus::Verified);
    EXPECT_EQ(candidates[0].microseconds, 4);
    EXPECT_EQ(candidates[0].denseMicroseconds, 10);
    EXPECT_EQ(candidates[0].floorMicroseconds, 3);
    EXPECT_FALSE(candidates[0].facts.binaryHash.empty());
    EXPECT_NE(candidates[0].facts.binaryHash, candidates[1].facts.binaryHash);
    package = packages.front();
    EXPECT_TRUE(llvm::sys::fs::exists(package));

    auto pair = evaluator.compare(candidates[0], &candidates[1], chip);
    ASSERT_TRUE(bool(pair)) << llvm::toString(pair.takeError());
    EXPECT_EQ(jobs.back().symbol, jobs[0].symbol);
    EXPECT_EQ(jobs.back().rival, jobs[1].symbol);
    EXPECT_EQ(pair->challenger, 4);
    EXPECT_EQ(pair->incumbent, 5);
    EXPECT_EQ(pair->dense, 11); // Of 10 and 12.
    pair = evaluator.compare(candidates[0], nullptr, chip);
    ASSERT_TRUE(bool(pair));
    EXPECT_EQ(jobs.back().rival, "");
    EXPECT_EQ(pair->dense, 10);
  }
  // Nothing is left behind.
  EXPECT_FALSE(llvm::sys::fs::exists(package));
}

TEST_F(EvaluatorsTest, WhatTheWorkerSaysIsTyped) {
  JobEvaluator evaluator(weight, problem, builder, settings);
  message = "element 3 of token 0: expected 1, got 2";
  status = RunStatus::WrongResult;
  Candidate candidate = judged(evaluator).front();
  EXPECT_EQ(candidate.status, CandidateStatus::WrongResult);
  EXPECT_EQ(candidate.mismatch, message);
  EXPECT_EQ(candidate.message, "wrong_result: " + message);
  status = RunStatus::TimedOut;
  EXPECT_EQ(judged(evaluator).front().status, CandidateStatus::TimedOut);
  status = RunStatus::FasterThanFloor;
  EXPECT_EQ(judged(evaluator).front().status, CandidateStatus::WrongResult);
  auto pair = evaluator.compare(candidate, nullptr, chip);
  ASSERT_FALSE(bool(pair));
  EXPECT_EQ(llvm::toString(pair.takeError()), "faster_than_floor: " + message);
  // Right, and without a time: not a success.
  status = RunStatus::Verified;
  isTimed = false;
  EXPECT_EQ(judged(evaluator).front().status, CandidateStatus::Crashed);
}

TEST_F(EvaluatorsTest, CountersOfWhatWasMeasured) {
  unsigned profiled = 0;
  settings.profile = [&](const Job &job) -> llvm::Expected<NcuKernel> {
    ++profiled;
    NcuKernel kernel;
    kernel.name = job.symbol;
    kernel.counters["waves_per_sm"] = 2.5;
    return kernel;
  };
  {
    JobEvaluator evaluator(weight, problem, builder, settings);
    auto candidates = judged(evaluator);
    EXPECT_EQ(profiled, 2u);
    for (const Candidate &candidate : candidates)
      EXPECT_EQ(candidate.facts.counters.at("waves_per_sm"), 2.5);
    // What there is not is named once.
    auto absent = [](const Candidate &candidate) {
      return llvm::count_if(candidate.facts.advisories, [](auto &text) {
        return llvm::StringRef(text).starts_with("counters that are not here:");
      });
    };
    EXPECT_EQ(absent(candidates[0]), 1);
    EXPECT_EQ(absent(candidates[1]), 0);
  }
  // Whoever may not read them is told once, and loses no candidate.
  settings.profile = [&](const Job &) -> llvm::Expected<NcuKernel> {
    ++profiled;
    return llvm::createStringError("ERR_NVGPUCTRPERM");
  };
  JobEvaluator evaluator(weight, problem, builder, settings);
  auto candidates = judged(evaluator);
  EXPECT_EQ(profiled, 3u);
  EXPECT_EQ(candidates[0].status, CandidateStatus::Verified);
  EXPECT_EQ(candidates[0].facts.advisories.back(),
            "no counters: ERR_NVGPUCTRPERM");
  EXPECT_TRUE(candidates[1].facts.counters.empty());
}

TEST_F(EvaluatorsTest, WithoutTheDeviceItCompiles) {
  hasDevice = false;
  JobEvaluator evaluator(weight, problem, builder, settings);
  EXPECT_EQ(evaluator.times(chip), TimeSource::Predicted);
  EXPECT_EQ(judged(evaluator).front().status, CandidateStatus::Compiled);
  EXPECT_TRUE(jobs.empty());
}

TEST_F(EvaluatorsTest, TheEmulatorTellsTruthWithoutTimes) {
  settings.emulate = true;
  isTimed = false;
  JobEvaluator evaluator(weight, problem, builder, settings);
  EXPECT_EQ(evaluator.times(chip), TimeSource::Predicted);
  Candidate candidate = judged(evaluator).front();
  EXPECT_EQ(candidate.status, CandidateStatus::Verified);
  EXPECT_EQ(candidate.microseconds, 0);
  EXPECT_TRUE(jobs[0].emulate);
  EXPECT_TRUE(jobs[0].timeN.empty());
}

TEST_F(EvaluatorsTest, ARewrittenKernelIsEmulatedFirst) {
  CandidateBuilder::Built base = builder.build(proposals[0], problem, 3, chip);
  proposals.resize(1);
  proposals[0].rewrite.emplace();
  proposals[0].rewrite->base = proposals[0].strategy;
  proposals[0].rewrite->symbol = base.kernel->manifest.symbol;
  proposals[0].rewrite->text = "// Another.\n" + base.kernel->mlir;
  {
    JobEvaluator evaluator(weight, problem, builder, settings);
    Candidate candidate = judged(evaluator).front();
    EXPECT_EQ(candidate.status, CandidateStatus::Verified);
    EXPECT_EQ(candidate.microseconds, 4);
    ASSERT_EQ(jobs.size(), 2u);
    EXPECT_TRUE(jobs[0].emulate);
    EXPECT_TRUE(jobs[0].timeN.empty());
    EXPECT_FALSE(jobs[1].emulate);
    EXPECT_EQ(jobs[1].timeN, std::vector<int64_t>{3});
    EXPECT_EQ(jobs[0].symbol, jobs[1].symbol);
    EXPECT_EQ(jobs[0].symbol.find("sd_custom_"), 0u);
    // Beside its base, which reads the same copy.
    Candidate plain = candidate;
    plain.proposal.rewrite.reset();
    auto pair = evaluator.compare(candidate, &plain, chip);
    ASSERT_TRUE(bool(pair)) << llvm::toString(pair.takeError());
    EXPECT_EQ(jobs.back().rival, base.kernel->manifest.symbol);
    EXPECT_FALSE(jobs.back().emulate);
  }
  // What the emulator refuses never sees the device.
  jobs.clear();
  status = RunStatus::LaunchFailed;
  message = "shared-race: store races with a load";
  JobEvaluator evaluator(weight, problem, builder, settings);
  Candidate candidate = judged(evaluator).front();
  EXPECT_EQ(candidate.status, CandidateStatus::Crashed);
  EXPECT_EQ(candidate.message, "emulator: launch_failed: " + message);
  EXPECT_EQ(jobs.size(), 1u);
}

TEST_F(EvaluatorsTest, AfterCtrlCNothingIsJudged) {
  std::atomic<bool> interrupted = false;
  settings.interrupted = &interrupted;
  auto run = settings.run;
  settings.run = [&](const Job &job) {
    JobResult result = run(job);
    interrupted = true; // Which also killed the worker:
    result.status = RunStatus::Crashed;
    return result;
  };
  JobEvaluator evaluator(weight, problem, builder, settings);
  for (const Candidate &candidate : judged(evaluator))
    EXPECT_EQ(candidate.status, CandidateStatus::Compiled);
  EXPECT_EQ(jobs.size(), 1u);
}

TEST_F(EvaluatorsTest, ShowsTheKernel) {
  CompiledEvaluator evaluator(problem, builder);
  std::string ptx = llvm::cantFail(evaluator.kernelText(
      proposals[0].strategy, AgentTools::Text::PTX, 1, chip));
  EXPECT_NE(ptx.find(".visible .entry"), std::string::npos);
  std::string mlir = llvm::cantFail(evaluator.kernelText(
      proposals[0].strategy, AgentTools::Text::MLIR, 1, chip));
  EXPECT_NE(mlir.find("gpu.func"), std::string::npos);
}

TEST(Strategy, TextIsReadBack) {
  for (const KernelFamily *family : allFamilies()) {
    Strategy strategy = family->declaration().defaults();
    EXPECT_EQ(parseStrategy(strategy.str()), strategy);
  }
  for (const char *text :
       {"", "{}", "csr", "csr{", "csr}", "csr{a}", "csr{a=}", "csr{=1}",
        "csr{a=1,}", "csr{a=1,a=2}", "csr{a=+1}", "csr{a=99999999999999999999}",
        "csr{a=1}x", "csr{a=01}"})
    EXPECT_FALSE(parseStrategy(text).has_value()) << text;
}
