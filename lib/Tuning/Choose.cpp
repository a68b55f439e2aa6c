//===- Choose.cpp - Which strategy serves which N -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Choose.h"
#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Support/Error.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

using namespace sparseditto;

/// Proposals asked of a source for one N, at least: enough that each format a
/// family offers is among them.
static constexpr int64_t proposalsPerN = 64;

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

llvm::Error sparseditto::checkFamilies(llvm::ArrayRef<std::string> names) {
  for (const std::string &name : names) {
    if (findFamily(name))
      continue;
    std::string known;
    for (const KernelFamily *family : allFamilies())
      known += (known.empty() ? "" : ", ") + family->name().str();
    return makeError("unknown family '{0}', expected {1}", name, known);
  }
  return llvm::Error::success();
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

namespace {
/// One N on one chip with what the source said about it, best first.
struct Question {
  const Chip *chip = nullptr;
  int64_t n = 1;
  double library = 0;
  std::vector<Proposal> proposals;
};

/// What became of candidates, so that none is evaluated twice.
class Evaluations {
public:
  Evaluations(EvaluateFn evaluate, int64_t budget,
              std::vector<Candidate> *history)
      : evaluate(evaluate), budget(budget), history(history) {}

  /// Null once the chip's budget is spent.
  const Candidate *get(const Question &question, const Proposal &proposal) {
    auto key = std::make_tuple(question.chip->name.str(), question.n,
                               proposal.strategy.str());
    auto it = known.find(key);
    if (it == known.end()) {
      if (spent[question.chip]++ >= budget)
        return nullptr;
      it = known
               .emplace(std::move(key),
                        evaluate(proposal, question.n, *question.chip))
               .first;
      if (history)
        history->push_back(it->second);
    }
    return &it->second;
  }

  /// The first refusal of the chip and N, in words; empty if there was none.
  std::string &refusal(const Question &question) {
    return refusals[{question.chip, question.n}];
  }

private:
  EvaluateFn evaluate;
  int64_t budget;
  std::vector<Candidate> *history;
  std::map<const Chip *, int64_t> spent;
  std::map<std::pair<const Chip *, int64_t>, std::string> refusals;
  std::map<std::tuple<std::string, int64_t, std::string>, Candidate> known;
};
} // namespace

/// Adds formats greedily, each time the one that lowers the predicted times
/// most: by the sum over chips and N of the log of the speed-up, so that no
/// slow chip or large N dominates.
static std::set<std::string>
chooseFormats(llvm::ArrayRef<Question> questions, unsigned maxCopies,
              const std::set<std::string> &refused) {
  std::set<std::string> chosen;
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
        std::string format = packingKey(proposal.strategy);
        if (chosen.count(format) || refused.count(format))
          continue;
        auto [it, isNew] = times.try_emplace(std::move(format), best);
        it->second[i] = std::min(it->second[i], proposal.predictedMicroseconds);
      }
    double bestGain = 0;
    const std::string *bestFormat = nullptr;
    for (const auto &[format, time] : times) {
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

/// The best proposal in one of the formats that stands, or the library. A
/// source need not sort its proposals: what is not predicted to be better than
/// the best so far is passed over. Adds to `built` the formats that a standing
/// candidate reads, to `failed` those of which a candidate was refused.
static Choice answer(const Question &question,
                     const std::set<std::string> &formats,
                     Evaluations &evaluations, std::set<std::string> &built,
                     std::set<std::string> &failed) {
  Choice choice;
  choice.tuneN = choice.nMax = question.n;
  choice.useLibrary = true;
  bool isAnswered = false, isSpent = false;
  std::string &refusal = evaluations.refusal(question);
  for (const Proposal &proposal : question.proposals) {
    double time = proposal.predictedMicroseconds;
    if (isAnswered) {
      // A kernel has to beat the library by a margin, whichever came first.
      double margin = choice.useLibrary == proposal.useLibrary ? 1
                      : choice.useLibrary ? requiredGain
                                          : 1 / requiredGain;
      if (time * margin >= choice.predictedMicroseconds)
        continue;
    }
    if (!proposal.useLibrary) {
      std::string format = packingKey(proposal.strategy);
      if (!formats.count(format))
        continue;
      const Candidate *candidate = evaluations.get(question, proposal);
      if (!candidate) {
        isSpent = true;
        break;
      }
      if (!stands(candidate->status)) {
        failed.insert(std::move(format));
        if (refusal.empty())
          refusal =
              proposal.strategy.str() + ": " + name(candidate->status).str() +
              (candidate->message.empty() ? "" : ", ") + candidate->message;
        continue;
      }
      built.insert(std::move(format));
      choice.strategy = proposal.strategy;
    }
    isAnswered = true;
    choice.useLibrary = proposal.useLibrary;
    choice.predictedMicroseconds = time;
    choice.reason = proposal.reason;
  }
  if (!isAnswered) {
    choice.predictedMicroseconds = question.library;
    choice.reason = "dense library: ";
    if (!refusal.empty())
      choice.reason += "no candidate stands (" + refusal + ")";
    else if (isSpent)
      choice.reason += "the budget of candidates is spent";
    else
      choice.reason += "no candidate could be built";
  }
  return choice;
}

/// Appends a range; adjacent ranges of one kernel become one, described at its
/// largest N.
static void append(std::vector<Choice> &plan, Choice choice) {
  if (!plan.empty()) {
    choice.nMin = plan.back().nMax + 1;
    if (plan.back().useLibrary == choice.useLibrary &&
        (choice.useLibrary || plan.back().strategy == choice.strategy)) {
      choice.nMin = plan.back().nMin;
      plan.pop_back();
    }
  }
  plan.push_back(std::move(choice));
}

/// Least time of the bytes that the choice moves.
static double floorOf(const Choice &choice, const PatternReport &report,
                      const Problem &problem, const MachineModel &model) {
  double bytes = byteSize(problem.type) * double(problem.m) * double(problem.k);
  Problem tuned = problem;
  tuned.tuneN = choice.tuneN;
  if (!choice.useLibrary)
    bytes = findFamily(choice.strategy.family)
                ->cost(report, tuned, choice.strategy, choice.tuneN)
                .weightBytes;
  bytes +=
      double(choice.tuneN) * (double(problem.k) * byteSize(problem.type) +
                              double(problem.m) * byteSize(problem.outputType));
  return model.floorMicroseconds(bytes);
}

static llvm::Expected<Question> ask(const PatternReport &report,
                                    const Problem &problem, const Chip &chip,
                                    int64_t n, const ChooseOptions &options) {
  ProposalState state{report, problem};
  state.problem.tuneN = n;
  state.computeCapability = chip.computeCapability;
  state.chip = chip.name.str();
  std::vector<const KernelFamily *> families;
  for (const KernelFamily *family : allFamilies())
    if (options.families.empty() ||
        llvm::is_contained(options.families, family->name()))
      families.push_back(family);
  state.families = families;
  Question question;
  question.chip = &chip;
  question.n = n;
  question.library =
      MachineModel::forChip(chip.name).predictDenseLibrary(state.problem, n);
  auto source = createProposalSource(options.agent);
  if (!source)
    return source.takeError();
  auto proposals = (*source)->propose(
      state, unsigned(std::clamp<int64_t>(options.budget, proposalsPerN,
                                          std::numeric_limits<int>::max())));
  if (!proposals)
    return proposals.takeError();
  question.proposals = std::move(*proposals);
  auto isLibrary = [](const Proposal &p) { return p.useLibrary; };
  if (!options.families.empty()) {
    // Asked for families, the library does not compete.
    llvm::erase_if(question.proposals, isLibrary);
  } else if (llvm::none_of(question.proposals, isLibrary)) {
    // Else it always does, whether or not the source thought of it.
    Proposal library;
    library.useLibrary = true;
    library.strategy.family = "library";
    library.predictedMicroseconds = question.library;
    library.reason = "dense library: no better kernel was proposed";
    question.proposals.push_back(std::move(library));
  }
  return question;
}

llvm::Expected<std::vector<std::vector<Choice>>>
sparseditto::choosePlans(const PatternReport &report, const Problem &problem,
                         llvm::ArrayRef<const Chip *> chips,
                         const ChooseOptions &options, EvaluateFn evaluate,
                         std::vector<Candidate> *history) {
  if (options.ns.empty())
    return llvm::createStringError("expected at least one n to choose for");
  std::vector<int64_t> ns = options.ns;
  llvm::sort(ns);
  ns.erase(std::unique(ns.begin(), ns.end()), ns.end());
  if (ns.front() < 1)
    return llvm::createStringError("expected n of at least 1, got %lld",
                                   static_cast<long long>(ns.front()));

  std::vector<Question> questions;
  for (const Chip *chip : chips)
    for (int64_t n : ns) {
      auto question = ask(report, problem, *chip, n, options);
      if (!question)
        return question.takeError();
      questions.push_back(std::move(*question));
    }
  // Nor does the library limit what may be gained.
  std::vector<Question> weighed = questions;
  if (!options.families.empty())
    for (Question &question : weighed)
      question.library = 1e9;

  Evaluations evaluations(evaluate, options.budget, history);
  std::set<std::string> refused;
  while (true) {
    std::set<std::string> formats =
        chooseFormats(weighed, options.maxCopies, refused);
    std::set<std::string> built, failed;
    std::vector<std::vector<Choice>> plans(chips.size());
    for (auto [i, question] : llvm::enumerate(questions)) {
      Choice choice = answer(question, formats, evaluations, built, failed);
      const MachineModel &model = MachineModel::forChip(question.chip->name);
      choice.libraryMicroseconds = question.library;
      choice.floorMicroseconds = floorOf(choice, report, problem, model);
      append(plans[i / ns.size()], std::move(choice));
    }
    size_t before = refused.size();
    for (const std::string &format : failed)
      if (!built.count(format))
        refused.insert(format);
    if (refused.size() > before)
      continue;
    for (std::vector<Choice> &plan : plans)
      plan.back().nMax = 0;
    return plans;
  }
}

llvm::Expected<std::vector<Choice>> sparseditto::choosePlan(
    const PatternReport &report, const Problem &problem, const Chip &chip,
    const ChooseOptions &options,
    llvm::function_ref<Candidate(const Proposal &, int64_t)> evaluate,
    std::vector<Candidate> *history) {
  auto plans = choosePlans(
      report, problem, &chip, options,
      [&](const Proposal &proposal, int64_t n, const Chip &) {
        return evaluate(proposal, n);
      },
      history);
  if (!plans)
    return plans.takeError();
  return std::move(plans->front());
}
