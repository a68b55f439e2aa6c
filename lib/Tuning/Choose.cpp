//===- Choose.cpp - Which strategy serves which N -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Choose.h"
#include "Replay.h"
#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Tuning/Database.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace sparseditto;

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

Proposal Choice::proposal() const {
  Proposal proposal;
  proposal.useLibrary = useLibrary;
  proposal.strategy = strategy;
  proposal.rewrite = rewrite;
  proposal.reason = reason;
  proposal.predictedMicroseconds = predictedMicroseconds;
  return proposal;
}

std::string Choice::text() const {
  if (useLibrary)
    return "dense library";
  return rewrite ? customFamily.str() + " " + rewrite->key() : strategy.str();
}

llvm::json::Object sparseditto::toJSON(const Choice &choice) {
  llvm::json::Object object{
      {"n_min", choice.nMin},
      {"n_max", choice.nMax ? llvm::json::Value(choice.nMax)
                            : llvm::json::Value(nullptr)},
      {"n", choice.tuneN},
      {"choice", choice.useLibrary ? "library"
                 : choice.rewrite  ? customFamily.str()
                                   : choice.strategy.family},
      {"predicted_us", choice.predictedMicroseconds},
      {"dense_us", choice.libraryMicroseconds},
      {"floor_us", choice.floorMicroseconds},
      {"reason", choice.reason}};
  if (!choice.useLibrary)
    object["strategy"] = choice.strategy.str();
  if (choice.rewrite)
    object["rewrite"] = toJSON(*choice.rewrite);
  if (choice.microseconds > 0) {
    object["us"] = choice.microseconds;
    object["measured_dense_us"] = choice.denseMicroseconds;
  }
  if (choice.status == CandidateStatus::Verified)
    object["status"] = name(choice.status);
  if (!choice.stop.empty())
    object["stop"] = choice.stop;
  return object;
}

/// Adds formats greedily, each time the one that lowers the times most: by the
/// sum over chips and N of the log of the speed-up, so that no slow chip or
/// large N dominates.
static std::set<std::string>
chooseFormats(llvm::ArrayRef<std::unique_ptr<Search>> searches,
              unsigned maxCopies, const std::set<std::string> &refused) {
  std::set<std::string> chosen;
  std::vector<double> best;
  for (const auto &search : searches)
    // Where it does not compete, the library does not limit what may be gained.
    best.push_back(search->asked().libraryCompetes ? search->denseMicroseconds()
                                                   : 1e9);
  for (unsigned copy = 0; copy < maxCopies; ++copy) {
    // Ordered, so that ties are settled the same way every time.
    std::map<std::string, std::vector<double>> times;
    for (auto [i, search] : llvm::enumerate(searches))
      search->forEachFormat([&, i = i](llvm::StringRef format, double time) {
        std::string key = format.str();
        if (chosen.count(key) || refused.count(key))
          return;
        auto [it, isNew] = times.try_emplace(std::move(key), best);
        it->second[i] = std::min(it->second[i], time);
      });
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

/// Appends a range; adjacent ranges of one kernel become one, described at its
/// largest N.
static void append(std::vector<Choice> &plan, Choice choice) {
  if (!plan.empty()) {
    choice.nMin = plan.back().nMax + 1;
    if (plan.back().proposal().key() == choice.proposal().key()) {
      choice.nMin = plan.back().nMin;
      plan.pop_back();
    }
  }
  plan.push_back(std::move(choice));
}

static Choice toChoice(const Search &search, const Search::Settled &settled) {
  const Question &question = search.asked();
  Choice choice;
  choice.tuneN = choice.nMax = question.n;
  choice.useLibrary = settled.isLibrary;
  choice.reason = settled.reason;
  choice.predictedMicroseconds = settled.proposal.predictedMicroseconds;
  choice.libraryMicroseconds =
      MachineModel::forChip(question.chip.name)
          .predictDenseLibrary(question.problem, question.n);
  choice.floorMicroseconds =
      floorMicroseconds(question.report, question.problem, settled.proposal,
                        question.n, question.chip.name);
  choice.stop = search.stopText();
  if (settled.isLibrary)
    return choice;
  choice.strategy = settled.proposal.strategy;
  choice.rewrite = settled.proposal.rewrite;
  choice.status = settled.candidate.status;
  if (settled.candidate.microseconds > 0) {
    choice.microseconds = settled.candidate.microseconds;
    choice.denseMicroseconds = settled.denseMicroseconds;
    if (settled.candidate.floorMicroseconds > 0)
      choice.floorMicroseconds = settled.candidate.floorMicroseconds;
  }
  return choice;
}

/// Ascending, each once.
static llvm::Expected<std::vector<int64_t>>
checkedNs(const ChooseOptions &options) {
  if (options.ns.empty())
    return makeError("expected at least one n to choose for");
  std::vector<int64_t> ns = options.ns;
  llvm::sort(ns);
  ns.erase(std::unique(ns.begin(), ns.end()), ns.end());
  if (ns.front() < 1)
    return makeError("expected n of at least 1, got {0}", ns.front());
  return ns;
}

static llvm::Expected<std::vector<std::vector<Choice>>>
search(const PatternReport &report, const Problem &problem,
       llvm::ArrayRef<const Chip *> chips, llvm::ArrayRef<int64_t> ns,
       const ChooseOptions &options, Evaluator &evaluator,
       std::vector<Candidate> *history) {
  std::shared_ptr<SourceChain> sources = options.sources;
  if (!sources) {
    auto made = SourceChain::create(options.agent);
    if (!made)
      return made.takeError();
    sources = std::move(*made);
  }
  LoopShared shared{options.loop, *sources, evaluator};
  shared.events = options.events;
  shared.progress = options.progress;
  shared.budget = options.budget;

  std::vector<const KernelFamily *> families;
  for (const KernelFamily *family : allFamilies())
    if (options.families.empty() ||
        llvm::is_contained(options.families, family->name()))
      families.push_back(family);
  std::vector<std::unique_ptr<Search>> searches;
  for (const Chip *chip : chips)
    for (int64_t n : ns) {
      Question question{report, problem, *chip, n};
      question.problem.tuneN = n;
      question.families = families;
      // Asked for families, the library does not compete.
      question.libraryCompetes = options.families.empty();
      question.ns.assign(ns.begin(), ns.end());
      question.label = options.label;
      if (options.database)
        question.known =
            options.database->find(report, question.problem, *chip, n);
      searches.push_back(std::make_unique<Search>(std::move(question), shared));
      if (llvm::Error error = searches.back()->survey())
        return error;
    }
  for (auto [i, one] : llvm::enumerate(searches)) {
    // Each N gets its share of what the chip has left.
    int64_t left = options.budget - shared.spent[chips[i / ns.size()]];
    int64_t sharing = int64_t(ns.size() - i % ns.size());
    if (llvm::Error error = one->explore((left + sharing - 1) / sharing))
      return error;
  }

  std::set<std::string> winners;
  for (const auto &one : searches)
    if (std::string format = one->bestFormat(); !format.empty())
      winners.insert(std::move(format));
  if (searches.size() > 1)
    for (const auto &one : searches)
      one->probe(winners);

  std::set<std::string> refused;
  std::vector<std::vector<Choice>> plans;
  while (true) {
    std::set<std::string> formats =
        chooseFormats(searches, options.maxCopies, refused);
    std::set<std::string> built, failed;
    const size_t evaluated = shared.history.size();
    plans.assign(chips.size(), {});
    for (auto [i, one] : llvm::enumerate(searches))
      append(plans[i / ns.size()],
             toChoice(*one, one->settle(formats, built, failed)));
    const size_t before = refused.size();
    for (const std::string &format : failed)
      if (!built.count(format))
        refused.insert(format);
    // A time that was measured only now may speak for another format.
    const bool isNews = shared.history.size() > evaluated &&
                        llvm::any_of(searches, [](const auto &one) {
                          return one->isMeasured();
                        });
    if (refused.size() == before && !isNews)
      break;
  }
  if (history)
    *history = std::move(shared.history);
  return plans;
}

llvm::Expected<std::vector<std::vector<Choice>>>
sparseditto::choosePlans(const PatternReport &report, const Problem &problem,
                         llvm::ArrayRef<const Chip *> chips,
                         const ChooseOptions &options, Evaluator &evaluator,
                         std::vector<Candidate> *history) {
  auto ns = checkedNs(options);
  if (!ns)
    return ns.takeError();
  // Every event says which product it is about.
  std::optional<TaggedSink> tagged;
  ChooseOptions own = options;
  if (options.events) {
    tagged.emplace(
        *options.events,
        llvm::json::Object{{"product", productId(report, problem, *ns)}});
    own.events = &*tagged;
    own.events->event("product",
                      describeProduct(report, problem, *ns, options));
  }
  auto plans =
      options.replay
          ? replayPlans(*options.replay, report, problem, chips, *ns, options,
                        evaluator, history)
          : search(report, problem, chips, *ns, own, evaluator, history);
  if (!plans)
    return plans.takeError();
  for (auto [chip, plan] : llvm::zip_equal(chips, *plans)) {
    plan.back().nMax = 0;
    if (own.events)
      for (const Choice &choice : plan) {
        llvm::json::Object decision = toJSON(choice);
        decision["chip"] = chip->name;
        own.events->event("decision", std::move(decision));
      }
  }
  return plans;
}
