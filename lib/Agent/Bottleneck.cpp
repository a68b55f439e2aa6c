//===- Bottleneck.cpp - Where a kernel's time goes ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Feedback.h"
#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Agent/PromptText.h"
#include "sparseditto/Support/Counters.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>

using namespace sparseditto;

static std::optional<double> counterOf(const KernelFacts &facts,
                                       llvm::StringRef key) {
  auto it = facts.counters.find(key.str());
  if (it == facts.counters.end())
    return std::nullopt;
  return it->second;
}

/// What a warp that stalls for this reason waits for.
static llvm::StringRef meaningOf(llvm::StringRef stall) {
  return llvm::StringSwitch<llvm::StringRef>(stall)
      .Case("long_scoreboard",
            "loads from global memory: issue more of them, and earlier")
      .Case("short_scoreboard", "shared memory")
      .Case("barrier", "other warps at a barrier")
      .Case("mio_throttle", "the queue to shared memory: fewer, wider accesses")
      .Case("lg_throttle", "the queue to global memory: fewer, wider loads")
      .Case("math_pipe_throttle", "the arithmetic pipes")
      .Case("wait", "the fixed latency of the instruction before")
      .Case("no_instruction", "instruction fetch: the code is long")
      .Case("membar", "a memory fence")
      .Case("drain", "stores before the exit")
      .Default("see the profiler's manual");
}

/// "; warps wait most for barrier (...)" or nothing.
static std::string topStall(const KernelFacts &facts) {
  const std::pair<const std::string, double> *top = nullptr;
  for (const auto &entry : facts.counters)
    if (llvm::StringRef(entry.first).starts_with(counter::stallPrefix) &&
        (!top || entry.second > top->second))
      top = &entry;
  if (!top || top->second <= 0)
    return "";
  llvm::StringRef reason = top->first;
  reason.consume_front(counter::stallPrefix);
  return "; warps stall most on " + escaped(reason, 40) + " (" +
         meaningOf(reason).str() + ")";
}

/// Empty if there are too few counters to tell.
static std::string fromCounters(const KernelFacts &facts) {
  auto memory = counterOf(facts, counter::memoryThroughput);
  auto compute = counterOf(facts, counter::computeThroughput);
  if (!memory && !compute)
    return "";
  const double m = memory.value_or(0), c = compute.value_or(0);
  if (m >= 75 && m >= c)
    return llvm::formatv("memory-bound at {0:F0} % of peak throughput: only "
                         "fewer bytes help",
                         m);
  if (c >= 75) {
    auto tensor = counterOf(facts, counter::tensorPipe);
    return llvm::formatv("compute-bound at {0:F0} % of peak{1}", c,
                         tensor && *tensor >= 60
                             ? ", on the tensor cores"
                             : ", not on the tensor cores: fewer "
                               "instructions a weight help")
               .str() +
           topStall(facts);
  }
  std::string text = llvm::formatv("latency-bound: memory at {0:F0} % and "
                                   "compute at {1:F0} % of peak",
                                   m, c)
                         .str();
  auto waves = counterOf(facts, counter::waves);
  auto occupancy = counterOf(facts, counter::occupancy);
  if (waves && *waves < 1)
    text += llvm::formatv(", the grid fills {0:F2} of one wave: more blocks "
                          "(smaller tiles) help",
                          *waves)
                .str();
  else if (occupancy && *occupancy < 25)
    text += llvm::formatv(", {0:F0} % occupancy: more loads in flight or more "
                          "blocks an SM help",
                          *occupancy)
                .str();
  return text + topStall(facts);
}

static std::string fromModel(const Candidate &candidate,
                             const ProposalState &state) {
  const Strategy &strategy = candidate.proposal.strategy;
  const KernelFamily *family = nullptr;
  for (const KernelFamily *known : state.families)
    if (known->name() == strategy.family)
      family = known;
  if (!family)
    return "";
  if (llvm::Error error =
          family->check(strategy, state.problem, state.computeCapability)) {
    llvm::consumeError(std::move(error));
    return "";
  }
  Problem problem = state.problem;
  problem.tuneN = candidate.n;
  const MachineModel &model = MachineModel::forChip(state.chip);
  const CostModel cost =
      family->cost(state.report, problem, strategy, candidate.n);
  const MachineModel::Phases phases = model.phases(cost, family->name());
  const std::array<std::pair<double, const char *>, 6> parts = {{
      {phases.memory, "reading weights and X from memory"},
      {phases.l2, "re-reading X and W from L2: larger tiles help"},
      {phases.shared, "reading shared memory"},
      {phases.tensor, "the tensor cores"},
      {phases.fma, "the CUDA cores"},
      {phases.fixed + phases.staging,
       "launch, reduction and waits before the product starts"},
  }};
  const auto &longest = *std::max_element(
      parts.begin(), parts.end(),
      [](const auto &a, const auto &b) { return a.first < b.first; });
  std::string text =
      llvm::formatv("by the model {0:F1} of {1:F1} us go into {2}",
                    longest.first, phases.total(), longest.second);
  if (cost.blocks > 0 && cost.blocks < model.sms)
    text += llvm::formatv("; {0} blocks leave SMs idle ({1} of them): smaller "
                          "tiles or a split of K help",
                          int64_t(cost.blocks), model.sms)
                .str();
  return text;
}

std::string sparseditto::bottleneckSentence(const Candidate &candidate,
                                            const ProposalState &state) {
  if (!stands(candidate.status) || candidate.proposal.useLibrary)
    return "";
  const KernelFacts &facts = candidate.facts;
  if (facts.spillBytes > 0)
    return llvm::formatv("spills {0} bytes at {1} registers a thread: less in "
                         "flight (smaller tiles, less prefetch) or fewer "
                         "blocks an SM help",
                         facts.spillBytes, facts.registers);
  std::string text = fromCounters(facts);
  if (text.empty() && candidate.microseconds > 0 &&
      candidate.floorMicroseconds > 0 &&
      candidate.microseconds <= 1.1 * candidate.floorMicroseconds)
    text = llvm::formatv("at {0:F0} % of the floor of its bytes: only fewer "
                         "bytes help",
                         100 * candidate.floorMicroseconds /
                             candidate.microseconds);
  if (text.empty())
    text = fromModel(candidate, state);
  // The machine code's faults come first in its facts.
  for (const std::string &fact : facts.sass)
    if (llvm::StringRef(fact).starts_with("fault: ")) {
      text += (text.empty() ? "" : "; ") + escaped(fact, 160);
      break;
    }
  return text;
}
