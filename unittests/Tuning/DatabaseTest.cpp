//===- DatabaseTest.cpp - Records of earlier runs ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Database.h"
#include "Record.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <fstream>
#include <thread>

using namespace sparseditto;

namespace {
struct DatabaseTest : ::testing::Test {
  DatabaseTest() {
    llvm::SmallString<128> unique;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("sd-database", unique));
    folder = std::string(unique);
    path = folder + "/records.jsonl";
    report.matrixName = "w";
    report.fingerprint = "0123456789abcdef";
    problem.m = 64;
    problem.k = 128;
    candidate.proposal.strategy.family = "csr";
    candidate.proposal.strategy.set("tile_n", 4);
    candidate.n = 4;
    candidate.status = CandidateStatus::Verified;
    candidate.microseconds = 2;
    candidate.denseMicroseconds = 6;
    candidate.floorMicroseconds = 1.5;
    candidate.facts.binaryHash = "fedcba9876543210";
  }
  ~DatabaseTest() override { llvm::sys::fs::remove_directories(folder); }

  std::string line() {
    return makeRecord(report, problem, *chip, candidate, environment);
  }
  std::unique_ptr<TuningDatabase> open() {
    return llvm::cantFail(TuningDatabase::open(path, environment));
  }
  std::optional<KnownResult> find(const TuningDatabase &database) {
    return database.find(report, problem, *chip, 4);
  }
  void write(const std::string &text) { std::ofstream(path) << text; }
  std::string text() {
    return llvm::MemoryBuffer::getFile(path)->get()->getBuffer().str();
  }

  std::string folder, path;
  PatternReport report;
  Problem problem;
  const Chip *chip = llvm::cantFail(findChip("sm_90a"));
  Candidate candidate;
  TuningEnvironment environment = {"NVIDIA H200", "13.0", "12.9"};
};
} // namespace

TEST_F(DatabaseTest, ARewrittenKernelIsKeptAndNotApplied) {
  // As its base, which is slower, it would be a lie.
  candidate.proposal.rewrite.emplace();
  candidate.proposal.rewrite->base = candidate.proposal.strategy;
  candidate.proposal.rewrite->edits = {{"a", "b"}};
  const std::string rewritten = line();
  write(rewritten + "\n");
  EXPECT_FALSE(find(*open()).has_value());
  candidate.proposal.rewrite.reset();
  EXPECT_NE(rewritten, line());
  write(line() + "\n");
  EXPECT_TRUE(find(*open()).has_value());
}

TEST_F(DatabaseTest, AppliesTheFastestVerifiedRecord) {
  EXPECT_FALSE(find(*open()).has_value()); // No file yet.
  llvm::cantFail(open()->append({line()}));
  candidate.microseconds = 1.8;
  candidate.proposal.strategy.set("tile_n", 8);
  std::string best = line();
  candidate.microseconds = 1.1;
  candidate.status = CandidateStatus::WrongResult;
  llvm::cantFail(open()->append({best, line()}));
  auto known = find(*open());
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->strategy.str(), "csr{tile_n=8}");
  EXPECT_EQ(known->microseconds, 1.8);
  EXPECT_EQ(known->denseMicroseconds, 6);
  EXPECT_EQ(known->floorMicroseconds, 1.5);
  EXPECT_EQ(known->binaryHash, "fedcba9876543210");
  // The key is all of the product, N and chip.
  auto database = open();
  EXPECT_FALSE(database->find(report, problem, *chip, 5).has_value());
  EXPECT_FALSE(
      database->find(report, problem, *llvm::cantFail(findChip("sm_80")), 4)
          .has_value());
  report.fingerprint = "f123456789abcdef";
  EXPECT_FALSE(find(*database).has_value());
  report.fingerprint = "0123456789abcdef";
  problem.layout = Layout::FeatureMajor;
  EXPECT_FALSE(find(*database).has_value());
  EXPECT_TRUE(database->messages().empty());
}

TEST_F(DatabaseTest, PredictionsAreNoRecords) {
  candidate.microseconds = 0;
  llvm::cantFail(open()->append({line()}));
  EXPECT_FALSE(find(*open()).has_value());
}

TEST_F(DatabaseTest, AnotherEnvironmentIsSaidAndNotApplied) {
  llvm::cantFail(open()->append({line()}));
  environment.ptxas = "13.1";
  auto database = open();
  EXPECT_FALSE(find(*database).has_value());
  ASSERT_EQ(database->messages().size(), 1u);
  EXPECT_NE(database->messages()[0].find(
                "(csr{tile_n=4} at N = 4, sm_90a) is not applied: it was "
                "measured with ptxas 12.9, here it is 13.1"),
            std::string::npos)
      << database->messages()[0];
  // Once, however often it is asked.
  EXPECT_FALSE(find(*database).has_value());
  EXPECT_EQ(database->messages().size(), 1u);
  // What is not known here cannot differ: no GPU, no ptxas.
  environment = {};
  EXPECT_TRUE(find(*open()).has_value());
  // Another version of ours.
  std::string old = text();
  size_t at = old.find(SPARSEDITTO_VERSION);
  ASSERT_NE(at, std::string::npos);
  old.replace(at, std::string(SPARSEDITTO_VERSION).size(), "0.0.0");
  write(old);
  database = open();
  EXPECT_FALSE(find(*database).has_value());
  EXPECT_EQ(database->messages().size(), 1u);
}

TEST_F(DatabaseTest, ATornLineLosesNothingElse) {
  std::string whole = line();
  write(whole + "\n" + whole.substr(0, whole.size() / 2));
  auto database = open();
  EXPECT_EQ(database->size(), 1u);
  ASSERT_EQ(database->messages().size(), 1u);
  EXPECT_NE(database->messages()[0].find("1 line passed over"),
            std::string::npos);
  llvm::cantFail(database->append({whole}));
  database = open();
  EXPECT_EQ(database->size(), 2u);
}

TEST_F(DatabaseTest, NonsenseIsPassedOver) {
  std::string deep(100000, '[');
  write("\n[]\n{}\n{\"record\":1}\nnull\n" + deep + "\n" + line() +
        "\n{\"record\":1,\"n\":1,\"status\":\"verified\",\"us\":-3,"
        "\"strategy\":\"csr{\"}\n\xff\xfe\n");
  auto database = open();
  EXPECT_EQ(database->size(), 1u);
  EXPECT_TRUE(find(*database).has_value());
}

TEST_F(DatabaseTest, SeveralWritersKeepLinesWhole) {
  std::string record = line();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      auto database = open();
      for (int k = 0; k < 20; ++k)
        llvm::cantFail(database->append({record, record}));
    });
  for (std::thread &thread : threads)
    thread.join();
  auto database = open();
  EXPECT_EQ(database->size(), 8u * 20 * 2);
  EXPECT_TRUE(database->messages().empty());
}

TEST_F(DatabaseTest, AFolderIsNoDatabase) {
  path = folder;
  auto opened = TuningDatabase::open(path, environment);
  ASSERT_FALSE(bool(opened));
  EXPECT_EQ(llvm::toString(opened.takeError()),
            "database '" + folder + "': not a regular file");
}
