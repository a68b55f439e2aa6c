//===- RecordTest.cpp - One JSON line a candidate -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Record.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"
#include <set>

using namespace sparseditto;

namespace {
struct RecordTest : ::testing::Test {
  RecordTest() {
    report.matrixName = "layer \"one\"\n";
    report.fingerprint = "0123456789abcdef";
    problem.m = 64;
    problem.k = 128;
    candidate.proposal.strategy.family = "csr";
    candidate.proposal.strategy.set("tile_n", 4);
    candidate.proposal.reason = "because";
    candidate.proposal.predictedMicroseconds = 2.5;
    candidate.n = 4;
    candidate.status = CandidateStatus::OverResources;
    candidate.message = "spills 16 bytes";
  }
  llvm::json::Object record() {
    std::string line =
        makeRecord(report, problem, *chip, candidate, environment);
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    auto value = llvm::json::parse(line);
    EXPECT_TRUE(bool(value)) << line;
    return *value->getAsObject();
  }
  std::string id() { return record().getString("id")->str(); }

  PatternReport report;
  Problem problem;
  const Chip *chip = llvm::cantFail(findChip("sm_90a"));
  Candidate candidate;
  TuningEnvironment environment;
};
} // namespace

TEST_F(RecordTest, HoldsTheWholeCandidate) {
  candidate.facts.registers = 40;
  candidate.facts.spillBytes = 16;
  candidate.microseconds = 3.25;
  environment = {"NVIDIA H200", "13.0", "12.9"};
  llvm::json::Object object = record();
  EXPECT_EQ(object.getInteger("record"), 1);
  EXPECT_EQ(object.getString("layer"), "layer \"one\"\n");
  EXPECT_EQ(object.getString("op"), "spmm 64x128 f16 token-major bias=false "
                                    "act=none residual=false");
  EXPECT_EQ(object.getString("fingerprint"), "0123456789abcdef");
  EXPECT_EQ(object.getInteger("n"), 4);
  EXPECT_EQ(object.getString("chip"), "sm_90a");
  EXPECT_EQ(object.getString("strategy"), "csr{tile_n=4}");
  EXPECT_EQ(object.getString("status"), "over_resources");
  EXPECT_EQ(object.getString("message"), "spills 16 bytes");
  EXPECT_EQ(object.getString("reason"), "because");
  EXPECT_EQ(object.getNumber("predicted_us"), 2.5);
  EXPECT_EQ(object.getNumber("us"), 3.25);
  EXPECT_EQ(object.getInteger("registers"), 40);
  EXPECT_EQ(object.getInteger("spill_bytes"), 16);
  EXPECT_EQ(object.getString("device"), "NVIDIA H200");
  EXPECT_EQ(object.getString("driver"), "13.0");
  EXPECT_EQ(object.getString("ptxas"), "12.9");
  EXPECT_FALSE(object.get("dense_us"));
  // Nothing that is not measured depends on where it was.
  candidate.microseconds = 0;
  EXPECT_FALSE(record().get("device"));
}

TEST_F(RecordTest, IdIsOfTheKeyAndStrategyAlone) {
  const std::string first = id();
  EXPECT_EQ(first.size(), 16u);
  EXPECT_EQ(first,
            recordId(report, problem, *chip, candidate.proposal, candidate.n));
  // What became of it, or the layer's name, does not change which it is.
  candidate.status = CandidateStatus::Verified;
  candidate.microseconds = 1;
  report.matrixName = "other";
  EXPECT_EQ(id(), first);

  std::set<std::string> ids = {first};
  candidate.n = 8;
  EXPECT_TRUE(ids.insert(id()).second);
  chip = llvm::cantFail(findChip("sm_80"));
  EXPECT_TRUE(ids.insert(id()).second);
  report.fingerprint = "fedcba9876543210";
  EXPECT_TRUE(ids.insert(id()).second);
  problem.layout = Layout::FeatureMajor;
  EXPECT_TRUE(ids.insert(id()).second);
  problem.epilogue.activation = Activation::Relu;
  EXPECT_TRUE(ids.insert(id()).second);
  candidate.proposal.strategy.set("tile_n", 8);
  EXPECT_TRUE(ids.insert(id()).second);
  candidate.proposal.useLibrary = true;
  EXPECT_TRUE(ids.insert(id()).second);
}
