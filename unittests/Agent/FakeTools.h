//===- FakeTools.h - States and tools for tests of the agent ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_AGENT_FAKETOOLS_H
#define SPARSEDITTO_UNITTESTS_AGENT_FAKETOOLS_H

#include "TestWeights.h"
#include "sparseditto/Agent/Prompt.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace sparseditto::test {

/// A weight's report with a state around it: 1024 x 1024 f16, sm_90a.
struct StateFixture {
  explicit StateFixture(const Matrix &weight, int64_t n = 16)
      : report(llvm::cantFail(analyze(weight))), state{report, Problem()} {
    state.problem.m = report.rows;
    state.problem.k = report.cols;
    state.problem.type = state.problem.outputType = report.type;
    state.problem.tuneN = n;
    state.chip = "sm_90a";
    state.families = allFamilies();
    state.ns = {1, n, 512};
    state.times = TimeSource::Measured;
    state.denseMicroseconds = 9;
  }
  StateFixture(const StateFixture &) = delete;

  PatternReport report;
  ProposalState state;
};

inline Matrix patternWeight(llvm::StringRef pattern) {
  return pattern == "unstructured"
             ? randomWeight(ElementType::F16, 1024, 1024, 0.1, 3)
             : structuredWeight(pattern, ElementType::F16, 1024, 1024, 3);
}

/// A strategy of the family with one knob set.
inline Strategy strategyOf(llvm::StringRef family, llvm::StringRef knob = "",
                           int64_t value = 0) {
  Strategy strategy = findFamily(family)->declaration().defaults();
  if (!knob.empty())
    strategy.set(knob, value);
  return strategy;
}

inline Candidate candidateOf(const Strategy &strategy, CandidateStatus status,
                             double microseconds = 0, unsigned round = 1) {
  Candidate candidate;
  candidate.proposal.strategy = strategy;
  candidate.n = 16;
  candidate.status = status;
  candidate.microseconds = microseconds;
  candidate.round = round;
  return candidate;
}

/// Shows a made-up kernel; measures by a rule; keeps the history as the loop
/// does.
class FakeTools : public AgentTools {
public:
  explicit FakeTools(ProposalState &state) : state(state) {}

  llvm::Expected<std::string> describeFamily(llvm::StringRef family) override {
    const KernelFamily *found = findFamily(family);
    if (!found)
      return makeError("unknown family '{0}'", family);
    return sparseditto::describeFamily(*found);
  }
  llvm::Expected<std::string> showKernel(const Strategy &strategy, Text what,
                                         unsigned line,
                                         unsigned context) override {
    shown.push_back(llvm::formatv("{0} {1} {2} {3}", strategy.str(),
                                  what == Text::MLIR ? "mlir" : "ptx", line,
                                  context));
    std::string text = "1: module {\n2: gpu.func @sd_kernel(%arg0: "
                       "!llvm.ptr<1>) kernel {\n";
    for (unsigned i = 3; i < 2000; ++i)
      text += llvm::formatv("{0}:   {1}\n", i,
                            i % 9 == 0   ? "%1 = llvm.load %0 : !llvm.ptr<1>"
                            : i % 7 == 0 ? "gpu.barrier"
                                         : "%2 = arith.addi %0, %0 : i32");
    return text;
  }
  std::vector<Candidate> evaluate(llvm::ArrayRef<Proposal> proposals) override {
    std::vector<Candidate> results;
    for (const Proposal &proposal : proposals) {
      if (state.budget.candidates-- <= 0)
        break;
      Candidate candidate;
      candidate.proposal = proposal;
      candidate.n = state.problem.tuneN;
      candidate.status = CandidateStatus::Verified;
      candidate.microseconds = 5;
      candidate.round = state.round;
      state.history.push_back(candidate);
      results.push_back(candidate);
    }
    return results;
  }

  std::vector<std::string> shown;

private:
  ProposalState &state;
};

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_AGENT_FAKETOOLS_H
