//===- FeedbackTest.cpp - What became of a proposal -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Feedback.h"
#include "FakeTools.h"
#include "sparseditto/Agent/PromptText.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {
struct FeedbackTest : testing::Test {
  FeedbackTest() : fixture(patternWeight("nm")), state(fixture.state) {
    candidate = candidateOf(strategyOf("nm", "prefetch", 8),
                            CandidateStatus::Verified, 6);
    candidate.proposal.reason = "because";
  }
  std::string text() { return feedbackText(candidate, state); }

  StateFixture fixture;
  ProposalState &state;
  Candidate candidate;
};
} // namespace

TEST_F(FeedbackTest, Verified) {
  candidate.denseMicroseconds = 9;
  candidate.floorMicroseconds = 4;
  candidate.facts.registers = 96;
  candidate.facts.sharedBytes = 4096;
  candidate.facts.advisories = {"C7510: serialised"};
  candidate.facts.counters = {{"memory_throughput_pct", 41},
                              {"compute_throughput_pct", 20},
                              {"waves_per_sm", 0.5},
                              {"stall_barrier", 1},
                              {"stall_long_scoreboard", 7},
                              {"stall_wait", 3},
                              {"stall_drain", 2}};
  candidate.facts.sass = {"fault: 4 of 4 loads late", "12 LDG"};
  state.best = candidateOf(strategyOf("nm", "prefetch", 4),
                           CandidateStatus::Verified, 5);
  EXPECT_EQ(
      text(),
      "nm(prefetch=8): verified, 6.00 us measured, dense 9.00 us (1.50x "
      "faster), floor 4.00 us (1.50x of it), best 5.00 us (1.20x of it)\n"
      "resources: 96 registers a thread, 0 bytes spilled, 4096 bytes of shared "
      "memory a block; C7510: serialised\n"
      "counters: memory_throughput_pct 41.0, compute_throughput_pct 20.0, "
      "waves_per_sm 0.5, stall_long_scoreboard 7.0, stall_wait 3.0, "
      "stall_drain 2.0\n"
      "machine code: fault: 4 of 4 loads late\n"
      "machine code: 12 LDG\n"
      "bottleneck: latency-bound: memory at 41 % and compute at 20 % of peak, "
      "the grid fills 0.50 of one wave: more blocks (smaller tiles) help; "
      "warps stall most on long_scoreboard (loads from global memory: issue "
      "more of them, and earlier); fault: 4 of 4 loads late\n"
      "its reason was \"because\"\n");
  candidate.sameAs = "nm{x=1}";
  EXPECT_NE(text().find("(the same machine code as \"nm{x=1}\", not measured "
                        "again)"),
            std::string::npos);
}

TEST_F(FeedbackTest, Refusals) {
  candidate.status = CandidateStatus::Illegal;
  candidate.message = "family nm: knob 'stages' got 9, expected one of 1, 2";
  EXPECT_EQ(text(), "nm(prefetch=8): illegal, nothing was built: family nm: "
                    "knob 'stages' got 9, expected one of 1, 2\n"
                    "its reason was \"because\"\n");
  candidate.status = CandidateStatus::LoweringFailed;
  candidate.message = "k.mlir:3:5: error: bad\n  gpu.barrier\n  ^\n";
  EXPECT_EQ(text(), "nm(prefetch=8): lowering_failed, the compiler says\n"
                    "| k.mlir:3:5: error: bad\n|   gpu.barrier\n|   ^\n"
                    "its reason was \"because\"\n");
  candidate.status = CandidateStatus::PtxasFailed;
  candidate.message.clear();
  for (int i = 0; i < 50; ++i)
    candidate.message += "ptxas k, line 7; error : bad\n";
  EXPECT_EQ(llvm::StringRef(text()).count("\n"), 12u) << text();
  EXPECT_NE(text().find("| (41 lines more)"), std::string::npos) << text();
  candidate.status = CandidateStatus::OverResources;
  candidate.message = "spills 64 bytes at 255 registers";
  candidate.facts.registers = 255;
  candidate.facts.spillBytes = 64;
  EXPECT_EQ(text(), "nm(prefetch=8): over_resources: spills 64 bytes at 255 "
                    "registers\nresources: 255 registers a thread, 64 bytes "
                    "spilled, 0 bytes of shared memory a block\n"
                    "its reason was \"because\"\n");
  candidate.facts = KernelFacts();
  candidate.status = CandidateStatus::WrongResult;
  candidate.message = "3 of 64 wrong";
  candidate.mismatch = "Y[3, 5] expected 1.5, got 0 on input one-hot";
  EXPECT_EQ(text(), "nm(prefetch=8): wrong_result: Y[3, 5] expected 1.5, got 0 "
                    "on input one-hot\nremark: 3 of 64 wrong\n"
                    "its reason was \"because\"\n");
  EXPECT_EQ(feedbackLine(candidate),
            "r1 nm(prefetch=8): wrong_result, Y[3, 5] expected 1.5, got 0 on "
            "input one-hot");
  candidate.status = CandidateStatus::TimedOut;
  candidate.message = "killed after 20 s";
  EXPECT_EQ(text(), "nm(prefetch=8): timed_out\n| killed after 20 s\n"
                    "its reason was \"because\"\n");
}

TEST_F(FeedbackTest, IsBoundedForEveryStatus) {
  std::string junk;
  for (int i = 0; i < 1000; ++i)
    junk += std::string(500, char(i)) + "\n";
  candidate.message = candidate.mismatch = candidate.proposal.reason = junk;
  candidate.sameAs = junk;
  candidate.facts.registers = 10;
  candidate.facts.bottleneck = junk;
  candidate.facts.sass.assign(1000, junk);
  candidate.facts.advisories.assign(1000, junk);
  for (int i = 0; i < 1000; ++i)
    candidate.facts.counters["stall_" + std::to_string(i) + junk] = i;
  for (unsigned status = 0; status <= unsigned(CandidateStatus::Verified);
       ++status) {
    candidate.status = CandidateStatus(status);
    EXPECT_LE(text().size(), 4000u) << name(candidate.status).str();
    EXPECT_LE(llvm::StringRef(text()).count("\n"), 25u);
    EXPECT_LE(feedbackLine(candidate).size(), 300u);
    EXPECT_EQ(feedbackLine(candidate).find('\n'), std::string::npos);
  }
}

TEST_F(FeedbackTest, BottleneckFromCounters) {
  auto sentence = [&](std::map<std::string, double> counters) {
    candidate.facts.counters = std::move(counters);
    return bottleneckSentence(candidate, state);
  };
  EXPECT_EQ(
      sentence({{"memory_throughput_pct", 91}, {"compute_throughput_pct", 30}}),
      "memory-bound at 91 % of peak throughput: only fewer bytes help");
  EXPECT_EQ(sentence({{"memory_throughput_pct", 40},
                      {"compute_throughput_pct", 85},
                      {"tensor_pipe_pct", 80}}),
            "compute-bound at 85 % of peak, on the tensor cores");
  EXPECT_EQ(sentence({{"memory_throughput_pct", 40},
                      {"compute_throughput_pct", 85},
                      {"tensor_pipe_pct", 10},
                      {"stall_math_pipe_throttle", 4}}),
            "compute-bound at 85 % of peak, not on the tensor cores: fewer "
            "instructions a weight help; warps stall most on "
            "math_pipe_throttle (the arithmetic pipes)");
  EXPECT_EQ(sentence({{"memory_throughput_pct", 30},
                      {"compute_throughput_pct", 20},
                      {"waves_per_sm", 3},
                      {"achieved_occupancy_pct", 12}}),
            "latency-bound: memory at 30 % and compute at 20 % of peak, 12 % "
            "occupancy: more loads in flight or more blocks an SM help");
}

TEST_F(FeedbackTest, BottleneckWithoutCounters) {
  // From what ptxas says, first of all.
  candidate.facts.spillBytes = 16;
  candidate.facts.registers = 255;
  EXPECT_EQ(bottleneckSentence(candidate, state).find("spills 16 bytes at 255"),
            0u);
  candidate.facts.spillBytes = 0;
  // Near the floor.
  candidate.floorMicroseconds = 5.8;
  EXPECT_EQ(bottleneckSentence(candidate, state),
            "at 97 % of the floor of its bytes: only fewer bytes help");
  // From the model.
  candidate.floorMicroseconds = 2;
  std::string text = bottleneckSentence(candidate, state);
  EXPECT_EQ(text.find("by the model "), 0u) << text;
  candidate.facts.sass = {"12 LDG", "fault: late"};
  EXPECT_EQ(bottleneckSentence(candidate, state), text + "; fault: late");
  Candidate few =
      candidateOf(strategyOf("csr", "tile_n", 16), CandidateStatus::Compiled);
  EXPECT_NE(bottleneckSentence(few, state)
                .find("; 64 blocks leave SMs idle (132 of them)"),
            std::string::npos)
      << bottleneckSentence(few, state);
  // Refused ones and the library have none.
  candidate.status = CandidateStatus::Crashed;
  EXPECT_EQ(bottleneckSentence(candidate, state), "");
  candidate.status = CandidateStatus::Verified;
  candidate.proposal.useLibrary = true;
  EXPECT_EQ(bottleneckSentence(candidate, state), "");
  // Knobs that the cost model must not see.
  candidate.proposal.useLibrary = false;
  candidate.facts.sass.clear();
  candidate.proposal.strategy.set("tile_m", 7);
  EXPECT_EQ(bottleneckSentence(candidate, state), "");
}

TEST_F(FeedbackTest, Lessons) {
  auto add = [&](int64_t stages, CandidateStatus status) {
    state.history.push_back(
        candidateOf(strategyOf("nm", "stages", stages), status));
  };
  add(6, CandidateStatus::OverResources);
  EXPECT_TRUE(lessonsOf(state, 5).empty());
  add(6, CandidateStatus::OverResources);
  EXPECT_EQ(lessonsOf(state, 5),
            std::vector<std::string>{
                "nm(stages=6) ended as over_resources in all 2 tries"});
  EXPECT_TRUE(lessonsOf(state, 0).empty());
  // One that stands refutes it.
  add(6, CandidateStatus::Verified);
  EXPECT_TRUE(lessonsOf(state, 5).empty());
}

TEST(SourceLines, CaretsBelowColumns) {
  EXPECT_EQ(withSourceLines("k.mlir:2:5: error: unknown op\nnote: other",
                            "module {\n    bad.op\n}"),
            "k.mlir:2:5: error: unknown op\n      bad.op\n      ^\nnote: "
            "other\n");
  EXPECT_EQ(withSourceLines("ptxas in.ptx, line 1; error   : Unknown symbol",
                            "ld.bad %r1;"),
            "ptxas in.ptx, line 1; error   : Unknown symbol\n  ld.bad %r1;\n");
  EXPECT_EQ(withSourceLines("line 1: Arguments mismatch", "add.f16 %r1;"),
            "line 1: Arguments mismatch\n  add.f16 %r1;\n");
  // Far out in a long line, beyond it, beyond the text, absurd numbers.
  std::string lines(500, 'x');
  lines[300] = 'Y';
  std::string text = withSourceLines("k:1:301: e", lines);
  EXPECT_EQ(text.size(), 11u + 123 + 2 + 59 + 2) << text;
  EXPECT_EQ(text[11 + 2 + 59], 'Y');
  EXPECT_EQ(text[11 + 123 + 2 + 59], '^');
  EXPECT_EQ(withSourceLines("k:1:900: e", "short"), "k:1:900: e\n  \n");
  EXPECT_EQ(withSourceLines("k:9:1: e", "short"), "k:9:1: e\n");
  EXPECT_EQ(withSourceLines("k:99999999999:1: e", "s"), "k:99999999999:1: e\n");
  EXPECT_EQ(withSourceLines("a:1:1: x\na:1:1: y\na:1:1: z\n", "s", 2),
            "a:1:1: x\n  s\n  ^\na:1:1: y\n  s\n  ^\n");
}

TEST(PromptText, EscapesAndBounds) {
  EXPECT_EQ(quoted("a\"b\\c\n\x01\xff", 100), "\"a\\\"b\\\\c\\n\\x01\\xff\"");
  EXPECT_EQ(quoted("abcdef", 6), "\"abcdef\"");
  EXPECT_EQ(quoted("abcdefg", 6), "\"abc...\"");
  EXPECT_EQ(escaped("ab\x01\x01", 7), "ab...");
  EXPECT_EQ(dataBlock("a\r\nb\x1b\n\nc\n", 3),
            "| a\n| b\\x1b\n| \n| (1 lines more)\n");
  EXPECT_EQ(dataBlock("", 3), "");
  EXPECT_EQ(shortText(strategyOf("nm")), "nm");
  EXPECT_EQ(shortText(strategyOf("csr", "x_source", 1)),
            "csr(x_source=global)");
  Strategy unknown;
  unknown.family = "a\nb";
  unknown.set("k", 3);
  EXPECT_EQ(shortText(unknown), "a\\nb(k=3)");
}
