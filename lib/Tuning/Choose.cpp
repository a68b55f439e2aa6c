//===- Choose.cpp - Which strategy serves which N -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Choose.h"
#include "sparseditto/Agent/MachineModel.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace sparseditto;

/// Proposals asked of a source for one N: enough that each format a family
/// offers is among them.
static constexpr unsigned proposalsPerN = 64;

std::string sparseditto::packingKey(const Strategy &strategy) {
  Strategy packing;
  packing.family = strategy.family;
  if (const KernelFamily *family = findFamily(strategy.family))
    for (const KnobDeclaration &knob : family->declaration().knobs)
      if (knob.affectsPacking)
        if (std::optional<int64_t> value = strategy.get(knob.name))
          packing.set(knob.name, *value);
  return packing.str();
}

std::string Choice::rangeText() const {
  if (nMax == 0)
    return nMin == 1 ? "any" : ">= " + std::to_string(nMin);
  if (nMin == nMax)
    return std::to_string(nMin);
  return std::to_string(nMin) + ".." + std::to_string(nMax);
}

llvm::json::Object sparseditto::toJSON(const Choice &choice) {
  llvm::json::Object object{
      {"n_min", choice.nMin},
      {"n_max", choice.nMax ? llvm::json::Value(choice.nMax)
                            : llvm::json::Value(nullptr)},
      {"n", choice.tuneN},
      {"choice", choice.useLibrary ? "library" : choice.strategy.family},
      {"predicted_us", choice.predictedMicroseconds},
      {"dense_us", choice.libraryMicroseconds},
      {"floor_us", choice.floorMicroseconds},
      {"reason", choice.reason}};
  if (!choice.useLibrary)
    object["strategy"] = choice.strategy.str();
  return object;
}

static bool stands(CandidateStatus status) {
  return status == CandidateStatus::Predicted ||
         status == CandidateStatus::Compiled ||
         status == CandidateStatus::Verified;
}

namespace {
/// One N with what the source said about it, best first.
struct Question {
  int64_t n = 1;
  double library = 0;
  std::vector<Proposal> proposals;
};
} // namespace

/// Adds formats greedily, each time the one that lowers the predicted time
/// most (by the sum over N of the log of the speed-up, so that no N dominates).
static llvm::StringSet<> chooseFormats(llvm::ArrayRef<Question> questions,
                                       unsigned maxCopies) {
  llvm::StringSet<> chosen;
  std::vector<double> best;
  for (const Question &question : questions)
    best.push_back(question.library);
  for (unsigned copy = 0; copy < maxCopies; ++copy) {
    // Ordered, so that ties are settled the same way every time.
    std::map<std::string, std::vector<double>> times;
    for (auto [i, question] : llvm::enumerate(questions))
      for (const Proposal &proposal : question.proposals) {
        if (proposal.useLibrary)
          continue;
        auto [it, isNew] =
            times.try_emplace(packingKey(proposal.strategy), best);
        it->second[i] = std::min(it->second[i], proposal.predictedMicroseconds);
      }
    double bestGain = 0;
    const std::string *bestFormat = nullptr;
    for (const auto &[format, time] : times) {
      if (chosen.contains(format))
        continue;
      double gain = 0;
      for (auto [before, after] : llvm::zip_equal(best, time))
        gain += std::log(before / after);
      if (gain > bestGain + 1e-9) {
        bestGain = gain;
        bestFormat = &format;
      }
    }
    if (!bestFormat)
      break;
    chosen.insert(*bestFormat);
    best = times[*bestFormat];
  }
  return chosen;
}

llvm::Expected<std::vector<Choice>>
sparseditto::choosePlan(const PatternReport &report, const Problem &problem,
                        const Chip &chip, const ChooseOptions &options,
                        EvaluateFn evaluate, std::vector<Candidate> *history) {
  if (options.ns.empty())
    return llvm::createStringError("expected at least one n to choose for");
  std::vector<int64_t> ns = options.ns;
  llvm::sort(ns);
  ns.erase(std::unique(ns.begin(), ns.end()), ns.end());
  if (ns.front() < 1)
    return llvm::createStringError("expected n of at least 1, got %lld",
                                   static_cast<long long>(ns.front()));

  std::vector<const KernelFamily *> families;
  for (const KernelFamily *family : allFamilies())
    if (options.family.empty() || family->name() == options.family)
      families.push_back(family);

  const MachineModel &model = MachineModel::forChip(chip.name);
  std::vector<Question> questions;
  for (int64_t n : ns) {
    Question question;
    question.n = n;
    ProposalState state{report, problem};
    state.problem.tuneN = n;
    state.computeCapability = chip.computeCapability;
    state.chip = chip.name.str();
    state.families = families;
    state.budget.candidates = options.budget;
    question.library = model.predictDenseLibrary(state.problem, n);
    auto source = createProposalSource(options.agent);
    if (!source)
      return source.takeError();
    auto proposals = (*source)->propose(state, proposalsPerN);
    if (!proposals)
      return proposals.takeError();
    question.proposals = std::move(*proposals);
    if (!options.family.empty()) {
      // The library neither competes nor limits what may be gained.
      llvm::erase_if(question.proposals,
                     [](const Proposal &p) { return p.useLibrary; });
      question.library = std::numeric_limits<double>::max();
    }
    questions.push_back(std::move(question));
  }

  llvm::StringSet<> formats = chooseFormats(questions, options.maxCopies);
  int64_t left = options.budget;
  std::vector<Choice> plan;
  int64_t nMin = 1;
  for (const Question &question : questions) {
    Choice choice;
    choice.nMin = nMin;
    choice.nMax = question.n;
    choice.tuneN = question.n;
    Problem tuned = problem;
    tuned.tuneN = question.n;
    choice.libraryMicroseconds = model.predictDenseLibrary(tuned, question.n);
    choice.useLibrary = true;
    choice.predictedMicroseconds = choice.libraryMicroseconds;
    choice.reason = "dense library: no candidate could be built";
    for (const Proposal &proposal : question.proposals) {
      if (!proposal.useLibrary) {
        if (!formats.contains(packingKey(proposal.strategy)))
          continue;
        if (left-- <= 0)
          break;
        Candidate candidate = evaluate(proposal, question.n);
        if (history)
          history->push_back(candidate);
        if (!stands(candidate.status))
          continue;
        choice.useLibrary = false;
        choice.strategy = proposal.strategy;
      }
      choice.predictedMicroseconds = proposal.predictedMicroseconds;
      choice.reason = proposal.reason;
      break;
    }
    double bytes = byteSize(problem.type) * double(problem.m) * problem.k;
    if (!choice.useLibrary)
      bytes = findFamily(choice.strategy.family)
                  ->cost(report, tuned, choice.strategy, question.n)
                  .weightBytes;
    bytes +=
        double(question.n) * (double(problem.k) * byteSize(problem.type) +
                              double(problem.m) * byteSize(problem.outputType));
    choice.floorMicroseconds = model.floorMicroseconds(bytes);
    nMin = question.n + 1;
    if (!plan.empty() && plan.back().useLibrary == choice.useLibrary &&
        (choice.useLibrary || plan.back().strategy == choice.strategy)) {
      // The same kernel: one range, described at its largest N.
      choice.nMin = plan.back().nMin;
      plan.back() = std::move(choice);
      continue;
    }
    plan.push_back(std::move(choice));
  }
  plan.back().nMax = 0;
  return plan;
}
