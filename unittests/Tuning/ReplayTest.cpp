//===- ReplayTest.cpp - Transcripts and what they replay -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeLoop.h"
#include "sparseditto/Agent/Transcript.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <random>

using namespace sparseditto;
using namespace sparseditto::test;

namespace {
struct Replay : LoopFixture {
  Replay() {
    llvm::SmallString<128> unique;
    EXPECT_FALSE(
        llvm::sys::fs::createTemporaryFile("sd-replay", "jsonl", unique));
    path = std::string(unique);
    options.ns = {1, 16, 512};
  }
  ~Replay() override { llvm::sys::fs::remove(path); }

  std::vector<Choice> record() {
    auto writer = llvm::cantFail(TranscriptWriter::create(
        path, "test", llvm::json::Object{{"agent", "fake"}}));
    options.events = writer.get();
    auto plans = llvm::cantFail(
        choosePlans(report, problem, chip(), options, evaluator, &history));
    llvm::cantFail(writer->finish());
    options.events = nullptr;
    return plans.front();
  }
  std::string text() const {
    return llvm::MemoryBuffer::getFile(path)->get()->getBuffer().str();
  }
  llvm::Expected<std::vector<Choice>> replay(llvm::StringRef text) {
    auto read = Transcript::parse(text, "t.jsonl");
    if (!read)
      return read.takeError();
    options.replay = &*read;
    FakeEvaluator offline;
    offline.source = TimeSource::Predicted;
    auto plans = choosePlans(report, problem, chip(), options, offline);
    options.replay = nullptr;
    if (!plans)
      return plans.takeError();
    return plans->front();
  }
  std::string errorOf(llvm::StringRef text) {
    auto plan = replay(text);
    EXPECT_FALSE(bool(plan));
    return plan ? "" : llvm::toString(plan.takeError());
  }
  static std::string replaced(std::string text, llvm::StringRef from,
                              llvm::StringRef to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from.str();
    if (at != std::string::npos)
      text.replace(at, from.size(), to);
    return text;
  }

  std::string path;
};
} // namespace

TEST_F(Replay, DecidesTheSameWithoutMeasuring) {
  // A winner that neither the model nor the heuristic would choose.
  evaluator.time[legal()[2].key()] = 2;
  source(fresh());
  std::vector<Choice> recorded = record();
  auto replayed = replay(text());
  ASSERT_TRUE(bool(replayed)) << llvm::toString(replayed.takeError());
  ASSERT_EQ(replayed->size(), recorded.size());
  for (auto [a, b] : llvm::zip_equal(recorded, *replayed))
    EXPECT_EQ(llvm::formatv("{0}", llvm::json::Value(toJSON(a))).str(),
              llvm::formatv("{0}", llvm::json::Value(toJSON(b))).str());
  EXPECT_EQ(recorded.front().strategy.str(), legal()[2].key());
}

TEST_F(Replay, AMismatchIsNamed) {
  options.agent = "heuristic";
  record();
  const std::string whole = text();
  EXPECT_EQ(errorOf(replaced(whole, "\"schema\":1", "\"schema\":2")),
            "transcript 't.jsonl': schema version 2, this is version 1");
  EXPECT_EQ(errorOf(replaced(whole, "\"version\":\"" SPARSEDITTO_VERSION,
                             "\"version\":\"0.0.0")),
            "transcript 't.jsonl' was written by SparseDitto 0.0.0, this "
            "is " SPARSEDITTO_VERSION);
  options.ns = {1, 2};
  EXPECT_EQ(errorOf(whole), "transcript 't.jsonl' planned this weight for N = "
                            "1,16,512, asked for is N = 1,2");
  options.ns = {1, 16, 512};
  report.fingerprint = "0000000000000000";
  EXPECT_NE(errorOf(whole).find("is of another weight"), std::string::npos);
  problem.k += 16;
  EXPECT_NE(errorOf(whole).find("has no decision on spmm 2048x4112"),
            std::string::npos);
}

TEST_F(Replay, AnotherChipIsNamed) {
  options.agent = "heuristic";
  record();
  std::string other = text();
  for (size_t at; (at = other.find("sm_90a")) != std::string::npos;)
    other.replace(at, 6, "sm_80");
  EXPECT_EQ(errorOf(other),
            "transcript 't.jsonl' is for sm_80, asked for is sm_90a");
}

TEST_F(Replay, WhatItSaysIsChecked) {
  options.agent = "heuristic";
  record();
  const std::string whole = text();
  size_t decisions = whole.find("\"event\":\"decision\"");
  ASSERT_NE(decisions, std::string::npos);
  size_t line = whole.rfind('\n', decisions) + 1;
  const std::string before = whole.substr(0, line), after = whole.substr(line);
  EXPECT_NE(errorOf(before + replaced(after, "\"strategy\":\"csr{",
                                      "\"strategy\":\"magic{"))
                .find("is no strategy of a known family"),
            std::string::npos);
  EXPECT_NE(errorOf(before + replaced(after, "\"n_min\":1", "\"n_min\":3"))
                .find("does not continue at 1"),
            std::string::npos);
  EXPECT_NE(errorOf(before + replaced(after, "\"n_min\":1", "\"n_min\":[]"))
                .find("\"n_min\" is not an integer"),
            std::string::npos);
  EXPECT_NE(errorOf(before).find("ends before a decision on spmm"),
            std::string::npos);
}

TEST_F(Replay, AKernelThatNoLongerStandsIsAnError) {
  options.agent = "heuristic";
  std::vector<Choice> recorded = record();
  auto read = llvm::cantFail(Transcript::parse(text(), "t.jsonl"));
  options.replay = &read;
  FakeEvaluator offline;
  offline.source = TimeSource::Predicted;
  offline.message = "spills";
  offline.status[recorded.front().strategy.str()] =
      CandidateStatus::OverResources;
  auto plans = choosePlans(report, problem, chip(), options, offline);
  ASSERT_FALSE(bool(plans));
  EXPECT_NE(llvm::toString(plans.takeError())
                .find("does not stand here: over_resources, spills"),
            std::string::npos);
}

TEST_F(Replay, RewrittenKernelsAreKept) {
  options.ns = {1};
  options.loop.allowRewrites = true;
  const Proposal rewrite = rewriteOf(legal()[2]);
  evaluator.time[rewrite.key()] = 2;
  source([&](const ProposalState &,
             unsigned) -> llvm::Expected<std::vector<Proposal>> {
    return asked++ ? std::vector<Proposal>() : std::vector<Proposal>{rewrite};
  });
  std::vector<Choice> recorded = record();
  ASSERT_EQ(recorded.front().text(), "custom " + rewrite.key());
  auto replayed = replay(text());
  ASSERT_TRUE(bool(replayed)) << llvm::toString(replayed.takeError());
  ASSERT_EQ(replayed->size(), recorded.size());
  for (auto [a, b] : llvm::zip_equal(recorded, *replayed))
    EXPECT_EQ(llvm::formatv("{0}", llvm::json::Value(toJSON(a))).str(),
              llvm::formatv("{0}", llvm::json::Value(toJSON(b))).str());

  const std::string whole = text();
  size_t line = whole.rfind('\n', whole.find("\"event\":\"decision\"")) + 1;
  const std::string before = whole.substr(0, line), after = whole.substr(line);
  EXPECT_NE(errorOf(before + replaced(after, "\"rewrite\"", "\"rewrote\""))
                .find("a rewritten kernel without \"rewrite\""),
            std::string::npos);
  EXPECT_NE(errorOf(before + replaced(after, "\"base\":\"csr{", "\"base\":\"{"))
                .find("is no strategy"),
            std::string::npos);
  EXPECT_NE(
      errorOf(before + replaced(after, "\"base\":\"csr{", "\"base\":\"x{"))
          .find("the base of the rewrite is x{"),
      std::string::npos);
  EXPECT_NE(errorOf(before + replaced(after, "\"edits\":[{", "\"edits\":[3,{"))
                .find("edit is not an object"),
            std::string::npos);
  options.loop.allowRewrites = false;
  EXPECT_NE(errorOf(whole).find("rewritten kernels are not taken here"),
            std::string::npos);
}

TEST_F(Replay, HostileTranscriptsAreErrors) {
  options.agent = "heuristic";
  record();
  const std::string whole = text();
  // Cut anywhere, changed anywhere: an error or a plan, never a crash.
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    std::string hostile = whole.substr(0, random() % (whole.size() + 1));
    for (int k = random() % 4; k > 0 && !hostile.empty(); --k)
      hostile[random() % hostile.size()] = char(random());
    if (auto plan = replay(hostile); !plan) {
      EXPECT_NE(llvm::toString(plan.takeError()), "");
    }
  }
  EXPECT_EQ(errorOf(""), "transcript 't.jsonl': empty");
  EXPECT_NE(errorOf(std::string(1000, '[')).find("nested"), std::string::npos);
  EXPECT_NE(errorOf("{\"event\":3}").find("not an object with \"event\""),
            std::string::npos);
  EXPECT_NE(errorOf("{\"event\":\"note\"}\n").find("expected 'header'"),
            std::string::npos);
}

TEST_F(Replay, AKilledRunLeavesWhatCameBefore) {
  options.agent = "heuristic";
  record();
  std::string torn = text() + "{\"event\":\"no";
  auto read = llvm::cantFail(Transcript::parse(torn, "t.jsonl"));
  EXPECT_TRUE(read.isTorn);
  EXPECT_TRUE(bool(replay(torn)));
}

TEST(TranscriptWriter, RepairsWhatIsNoText) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("sd-writer", "jsonl", path));
  auto writer = llvm::cantFail(TranscriptWriter::create(
      path, "test", llvm::json::Object{{"agent", "a"}}));
  TaggedSink tagged(*writer, llvm::json::Object{{"chip", "sm_80"}, {"n", 1}});
  llvm::json::Array nested{std::string("ok")};
  tagged.event("reply", llvm::json::Object{{"text", "line\nbreak"},
                                           {"n", 2},
                                           {"list", std::move(nested)}});
  llvm::cantFail(writer->finish());
  auto read = llvm::cantFail(Transcript::read(path));
  llvm::sys::fs::remove(path);
  ASSERT_EQ(read.events.size(), 1u);
  EXPECT_EQ(read.events[0].line, 2u);
  EXPECT_EQ(read.events[0].type, "reply");
  EXPECT_EQ(read.events[0].fields.getString("text"), "line\nbreak");
  EXPECT_EQ(read.events[0].fields.getInteger("n"), 2);
  EXPECT_EQ(read.events[0].fields.getString("chip"), "sm_80");
}
