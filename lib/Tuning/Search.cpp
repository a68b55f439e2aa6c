//===- Search.cpp - What was tried on a question, and the best of it ------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Feedback.h"
#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Tuning/Loop.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace sparseditto;
namespace json = llvm::json;

static constexpr size_t maxLessons = 20;

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

double sparseditto::floorMicroseconds(const PatternReport &report,
                                      const Problem &problem,
                                      const Proposal &proposal, int64_t n,
                                      llvm::StringRef chip) {
  double bytes = byteSize(problem.type) * double(problem.m) * double(problem.k);
  Problem tuned = problem;
  tuned.tuneN = n;
  if (!proposal.useLibrary)
    bytes = findFamily(proposal.strategy.family)
                ->cost(report, tuned, proposal.strategy, n)
                .weightBytes;
  bytes += double(n) * (double(problem.k) * byteSize(problem.type) +
                        double(problem.m) * byteSize(problem.outputType));
  return MachineModel::forChip(chip).floorMicroseconds(bytes);
}

Search::Search(Question question, LoopShared &shared)
    : question(std::move(question)), shared(shared), cursor(shared.sources),
      times(shared.evaluator.times(this->question.chip)),
      state{this->question.report, this->question.problem} {
  const Question &asked = this->question;
  state.computeCapability = asked.chip.computeCapability;
  state.chip = asked.chip.name.str();
  state.families = asked.families;
  state.ns = asked.ns;
  state.round = 0;
  state.times = times;
  state.targetSpeedup = shared.options.targetSpeedup;
  state.tools = this;
  state.events = shared.events;
  state.cancelled = shared.options.interrupted;
  predictedDense = MachineModel::forChip(asked.chip.name)
                       .predictDenseLibrary(asked.problem, asked.n);
  refreshState();
}

Search::~Search() = default;

double Search::denseMicroseconds() const {
  if (measuredDense.empty())
    return predictedDense;
  std::vector<double> sorted = measuredDense;
  llvm::sort(sorted);
  return sorted[sorted.size() / 2];
}

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

Search::Entry *Search::find(const std::string &key) {
  auto it = byKey.find(key);
  return it == byKey.end() ? nullptr : &entries[it->second];
}

void Search::add(Proposal proposal) {
  auto [it, isNew] = byKey.try_emplace(proposal.key(), entries.size());
  if (isNew)
    entries.push_back({std::move(proposal), std::nullopt});
}

void Search::note(std::string text) {
  if (shared.events)
    shared.events->event(
        "note",
        json::Object{{"chip", state.chip}, {"n", question.n}, {"text", text}});
  state.notes.push_back(std::move(text));
}

void Search::refreshState() {
  state.denseMicroseconds = denseMicroseconds();
  state.lessons = shared.lessons;
  state.budget.candidates = std::max<int64_t>(
      0, std::min(limit - evaluations,
                  shared.budget - shared.spent[&question.chip]));
  state.budget.seconds =
      std::max(0.0, shared.options.seconds - shared.seconds());
  Proposal library;
  library.useLibrary = true;
  const Proposal &best = state.best ? state.best->proposal : library;
  state.floorMicroseconds =
      state.best && state.best->floorMicroseconds > 0
          ? state.best->floorMicroseconds
          : floorMicroseconds(question.report, question.problem, best,
                              question.n, question.chip.name);
}

bool Search::hasBudget() const {
  auto it = shared.spent.find(&question.chip);
  int64_t spent = it == shared.spent.end() ? 0 : it->second;
  return evaluations < limit && spent < shared.budget;
}

llvm::Error Search::checkLegal(const Proposal &proposal) const {
  if (proposal.rewrite && !shared.options.allowRewrites)
    return rewritesNotTaken();
  const Strategy &strategy = proposal.strategy;
  auto it = llvm::find_if(question.families, [&](const KernelFamily *family) {
    return family->name() == strategy.family;
  });
  if (it == question.families.end()) {
    std::string known;
    for (const KernelFamily *family : question.families)
      known += (known.empty() ? "" : ", ") + family->name().str();
    return makeError("unknown family '{0}', expected {1}", strategy.family,
                     known);
  }
  if (llvm::Error error = (*it)->accepts(question.report, question.problem))
    return error;
  return (*it)->check(strategy, question.problem,
                      question.chip.computeCapability);
}

/// The predicted time is ours, whatever the source says.
void Search::complete(Proposal &proposal) const {
  const MachineModel &model = MachineModel::forChip(question.chip.name);
  if (proposal.useLibrary) {
    proposal.strategy = {};
    proposal.strategy.family = "library";
    proposal.predictedMicroseconds = predictedDense;
    return;
  }
  const KernelFamily *family = findFamily(proposal.strategy.family);
  proposal.predictedMicroseconds =
      model.predict(family->cost(question.report, question.problem,
                                 proposal.strategy, question.n),
                    family->name());
}

void Search::learn(const Candidate &candidate) {
  if (stands(candidate.status) && candidate.sameAs.empty())
    return;
  std::string lesson = "N = " + std::to_string(question.n) + ", " + state.chip +
                       ": " + feedbackLine(candidate);
  if (!llvm::is_contained(shared.lessons, lesson))
    shared.lessons.push_back(std::move(lesson));
  if (shared.lessons.size() > maxLessons)
    shared.lessons.erase(shared.lessons.begin());
}

void Search::keep(Candidate candidate) {
  candidate.chip = state.chip;
  candidate.round = state.round;
  boundFeedback(candidate);
  if (shared.events)
    shared.events->event("candidate", toJSON(candidate));
  if (!stands(candidate.status) && refusal.empty())
    refusal = candidate.proposal.key() + ": " + name(candidate.status).str() +
              (candidate.message.empty() ? "" : ", ") + candidate.message;
  if (candidate.denseMicroseconds > 0)
    measuredDense.push_back(candidate.denseMicroseconds);
  learn(candidate);
  std::string key = candidate.proposal.key();
  add(candidate.proposal);
  find(key)->candidate = candidate;
  state.history.push_back(candidate);
  shared.history.push_back(std::move(candidate));
}

//===----------------------------------------------------------------------===//
// Evaluating
//===----------------------------------------------------------------------===//

std::vector<Candidate> Search::evaluateBatch(llvm::ArrayRef<Proposal> proposals,
                                             llvm::StringRef source) {
  const bool isRecord = source == "record" && times == TimeSource::Predicted;
  std::vector<Proposal> legal;
  std::set<std::string> batch;
  std::vector<std::string> keys; // Of what is answered, in order.
  for (Proposal proposal : proposals) {
    if (proposal.rewrite)
      proposal.strategy = proposal.rewrite->base;
    std::string key = proposal.key();
    if (proposal.useLibrary) {
      complete(proposal);
      add(std::move(proposal));
      continue;
    }
    Entry *known = find(key);
    if ((known && known->candidate) || !batch.insert(key).second) {
      note(key + " was evaluated before");
      keys.push_back(std::move(key));
      continue;
    }
    if (llvm::Error error = checkLegal(proposal)) {
      Candidate refused;
      refused.proposal = std::move(proposal);
      refused.proposal.predictedMicroseconds = 0;
      refused.n = question.n;
      refused.status = CandidateStatus::Illegal;
      refused.message = llvm::toString(std::move(error));
      refused.source = source.str();
      keep(std::move(refused));
      keys.push_back(std::move(key));
      continue;
    }
    if (!hasBudget())
      break;
    ++evaluations;
    ++shared.spent[&question.chip];
    complete(proposal);
    if (proposal.rewrite) {
      // Where the rewrite is not taken, its base still may be.
      Proposal base;
      base.strategy = proposal.strategy;
      base.predictedMicroseconds = proposal.predictedMicroseconds;
      base.reason = "the base of a rewritten kernel";
      add(std::move(base));
    }
    legal.push_back(std::move(proposal));
    keys.push_back(std::move(key));
  }

  std::vector<Candidate> candidates;
  if (!legal.empty())
    candidates = shared.evaluator.prepare(legal, question.n, question.chip);
  std::vector<size_t> running;
  std::vector<Candidate> toRun;
  for (auto [i, candidate] : llvm::enumerate(candidates)) {
    candidate.source = source.str();
    if (candidate.status != CandidateStatus::Compiled)
      continue;
    if (const std::string &hash = candidate.facts.binaryHash; !hash.empty()) {
      auto [it, isNew] = byBinary.try_emplace(hash, candidate.proposal.key());
      if (!isNew) {
        candidate.sameAs = it->second;
        continue;
      }
    }
    running.push_back(i);
    toRun.push_back(candidate);
  }
  // After Ctrl-C nothing is run any more: what is compiled is only predicted.
  if (!toRun.empty() && !shared.isInterrupted())
    shared.evaluator.judge(toRun, question.chip);
  for (auto [i, judged] : llvm::zip_equal(running, toRun))
    candidates[i] = std::move(judged);
  for (Candidate &candidate : candidates) {
    Entry *twin = candidate.sameAs.empty() ? nullptr : find(candidate.sameAs);
    if (twin && twin->candidate) {
      candidate.status = twin->candidate->status;
      candidate.message = twin->candidate->message;
      candidate.mismatch = twin->candidate->mismatch;
      candidate.microseconds = twin->candidate->microseconds;
      candidate.denseMicroseconds = twin->candidate->denseMicroseconds;
      candidate.floorMicroseconds = twin->candidate->floorMicroseconds;
    }
    if (isRecord)
      applyRecord(candidate);
    keep(std::move(candidate));
  }

  std::vector<Candidate> answers;
  for (const std::string &key : keys)
    if (Entry *entry = find(key); entry && entry->candidate)
      answers.push_back(*entry->candidate);
  for (const Candidate &answer : answers)
    gained |= consider(answer);
  refreshState();
  return answers;
}

const Candidate *Search::evaluateEntry(size_t index) {
  if (!entries[index].candidate) {
    if (!hasBudget())
      return nullptr;
    Proposal proposal = entries[index].proposal;
    evaluateBatch(proposal, shared.sources.isBaseline()
                                ? shared.sources.text()
                                : std::string("heuristic"));
  }
  return entries[index].candidate ? &*entries[index].candidate : nullptr;
}

//===----------------------------------------------------------------------===//
// The best so far
//===----------------------------------------------------------------------===//

void Search::replaceBest(const Candidate &candidate, double gain) {
  std::string before = state.best ? state.best->proposal.key() : "library";
  state.best = candidate;
  find(candidate.proposal.key())->isTaken = true;
  refreshState();
  note(llvm::formatv("{0} replaces {1}, {2:F2}x faster ({3})",
                     candidate.proposal.key(), before, gain,
                     name(candidate.timeSource())));
}

/// Whether the candidate became the best.
bool Search::consider(const Candidate &candidate) {
  if (!stands(candidate.status) || !candidate.sameAs.empty())
    return false;
  if (state.best && state.best->proposal.key() == candidate.proposal.key())
    return false;
  const bool isMeasured = candidate.microseconds > 0;
  if (!isMeasured && candidate.proposal.rewrite) {
    note(unmeasuredRewrite(candidate));
    return false;
  }
  if (!isMeasured) {
    // A verified time is not given up for a prediction.
    if (state.best && state.best->microseconds > 0)
      return false;
    double bar = state.best ? state.best->time()
                 : question.libraryCompetes
                     ? predictedDense / requiredGain
                     : std::numeric_limits<double>::infinity();
    if (candidate.time() >= bar)
      return false;
    replaceBest(candidate,
                (state.best ? bar : predictedDense) / candidate.time());
    return true;
  }
  const bool hasMeasuredBest = state.best && state.best->microseconds > 0;
  double bar = hasMeasuredBest            ? state.best->microseconds
               : question.libraryCompetes ? candidate.denseMicroseconds
                                          : 0;
  const double acceptance = shared.options.acceptance;
  if (bar > 0 && bar / candidate.microseconds < acceptance)
    return false;
  if (bar <= 0 || times == TimeSource::Predicted) {
    // Nothing to compare with, or a record of another machine.
    replaceBest(candidate, bar > 0 ? bar / candidate.microseconds : 1);
    return true;
  }
  // The first look said it is faster. Both once more, in one run.
  auto pair = shared.evaluator.compare(
      candidate, hasMeasuredBest ? &*state.best : nullptr, question.chip);
  if (!pair) {
    note(candidate.proposal.key() +
         " is not taken: it could not be measured again (" +
         llvm::toString(pair.takeError()) + ")");
    return false;
  }
  const double against = hasMeasuredBest ? pair->incumbent : pair->dense;
  const bool isTaken = pair->challenger > 0 && against > 0 &&
                       against / pair->challenger >= acceptance;
  if (shared.events)
    shared.events->event(
        "comparison",
        json::Object{{"chip", state.chip},
                     {"n", question.n},
                     {"challenger", candidate.proposal.key()},
                     {"incumbent",
                      hasMeasuredBest ? state.best->proposal.key() : "library"},
                     {"us", pair->challenger},
                     {"incumbent_us", against},
                     {"dense_us", pair->dense},
                     {"required", acceptance},
                     {"taken", isTaken}});
  if (pair->dense > 0)
    measuredDense.push_back(pair->dense);
  if (!isTaken) {
    // The second look is the better one.
    if (Entry *entry = find(candidate.proposal.key());
        entry && pair->challenger > 0)
      entry->candidate->microseconds = pair->challenger;
    note(llvm::formatv(
        "{0} looked {1:F2}x faster, side by side it is {2:F2}x: not taken",
        candidate.proposal.key(), bar / candidate.microseconds,
        pair->challenger > 0 ? against / pair->challenger : 0.0));
    return false;
  }
  Candidate better = candidate;
  better.microseconds = pair->challenger;
  if (pair->dense > 0)
    better.denseMicroseconds = pair->dense;
  find(better.proposal.key())->candidate = better;
  if (hasMeasuredBest)
    find(state.best->proposal.key())->candidate->microseconds = pair->incumbent;
  replaceBest(better, against / pair->challenger);
  return true;
}
