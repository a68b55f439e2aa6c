//===- Loop.cpp - Propose, evaluate, propose again -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Loop.h"
#include "sparseditto/Agent/Feedback.h"
#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <chrono>

using namespace sparseditto;
namespace json = llvm::json;

/// Proposals asked of a source that does not learn, at least: enough that each
/// format a family offers is among them.
static constexpr int64_t proposalsAtOnce = 64;
static constexpr size_t maxLessons = 20;
/// What the tensor cores reach at best, over what the dense library does.
static constexpr double peakOverLibrary = 1.3;
/// A record this near its floor is not worth beating.
static constexpr double recordShare = 0.95;

llvm::StringRef sparseditto::name(LoopStop stop) {
  switch (stop) {
  case LoopStop::Settled:
    return "settled";
  case LoopStop::FloorReached:
    return "floor_reached";
  case LoopStop::TargetReached:
    return "target_reached";
  case LoopStop::NoGain:
    return "no_gain";
  case LoopStop::SourceDone:
    return "source_done";
  case LoopStop::SourcesEnded:
    return "sources_ended";
  case LoopStop::Candidates:
    return "budget_candidates";
  case LoopStop::Seconds:
    return "budget_seconds";
  case LoopStop::NothingToWin:
    return "nothing_to_win";
  case LoopStop::RecordStands:
    return "record_stands";
  case LoopStop::Interrupted:
    return "interrupted";
  }
  llvm_unreachable("unknown stop");
}

llvm::Error sparseditto::rewritesNotTaken() {
  return makeError("rewritten kernels are not taken here (sd-tune tune "
                   "--rewrite takes them)");
}

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

std::function<double()> sparseditto::secondsFromNow() {
  using Clock = std::chrono::steady_clock;
  return [start = Clock::now()] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
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

//===----------------------------------------------------------------------===//
// The rounds
//===----------------------------------------------------------------------===//

llvm::Error Search::survey() {
  const bool isPredicted = times == TimeSource::Predicted;
  auto ask = [&](ProposalSource &source, int64_t least) -> llvm::Error {
    ProposalState plain{question.report, question.problem};
    plain.computeCapability = state.computeCapability;
    plain.chip = state.chip;
    plain.families = state.families;
    auto proposals = source.propose(
        plain, unsigned(std::clamp<int64_t>(shared.budget, least,
                                            std::numeric_limits<int>::max())));
    if (!proposals)
      return proposals.takeError();
    for (Proposal &proposal : *proposals)
      add(std::move(proposal));
    return llvm::Error::success();
  };
  if (question.known) {
    Proposal proposal;
    proposal.strategy = question.known->strategy;
    if (llvm::Error error = checkLegal(proposal)) {
      note("the record " + question.known->recordId +
           " is not applied: " + llvm::toString(std::move(error)));
      question.known.reset();
    }
  }
  if (!shared.sources.isBaseline()) {
    if (llvm::Error error = ask(*createHeuristicSource(), proposalsAtOnce))
      return error;
  } else if (isPredicted) {
    // The order of what is predicted needs no rounds: all at once.
    auto answer = cursor.ask(
        state, unsigned(std::clamp<int64_t>(shared.budget, proposalsAtOnce,
                                            std::numeric_limits<int>::max())));
    for (Proposal &proposal : answer.proposals)
      add(std::move(proposal));
  }
  if (!question.libraryCompetes) {
    llvm::erase_if(entries,
                   [](const Entry &e) { return e.proposal.useLibrary; });
    byKey.clear();
    for (auto [i, entry] : llvm::enumerate(entries))
      byKey[entry.proposal.key()] = i;
  } else if (!byKey.count("library")) {
    // It always competes, whether or not a source thought of it.
    Proposal library;
    library.useLibrary = true;
    library.strategy.family = "library";
    library.predictedMicroseconds = predictedDense;
    library.reason = "dense library: no better kernel was proposed";
    add(std::move(library));
  }
  return llvm::Error::success();
}

/// What an earlier run measured, if this is the kernel that it measured.
void Search::applyRecord(Candidate &candidate) {
  const KnownResult &known = *question.known;
  if (candidate.status != CandidateStatus::Compiled)
    return;
  if (!known.binaryHash.empty() && !candidate.facts.binaryHash.empty() &&
      known.binaryHash != candidate.facts.binaryHash) {
    note("the record " + known.recordId +
         " is not applied: it is of another binary");
    return;
  }
  candidate.status = CandidateStatus::Verified;
  candidate.microseconds = known.microseconds;
  candidate.denseMicroseconds = known.denseMicroseconds;
  candidate.floorMicroseconds = known.floorMicroseconds;
  hasRecord = true;
}

/// The heuristic's plan first, then a verified record of an earlier run; the
/// record alone where nothing can be measured.
void Search::evaluateIncumbent() {
  auto evaluateRecord = [&] {
    if (!question.known || !hasBudget())
      return;
    Proposal proposal;
    proposal.strategy = question.known->strategy;
    proposal.reason = "verified by record " + question.known->recordId;
    evaluateBatch(proposal, "record");
  };
  if (times == TimeSource::Predicted)
    evaluateRecord();
  if (!shared.sources.isBaseline() && !hasRecord)
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].proposal.useLibrary && question.libraryCompetes)
        break;
      const Candidate *candidate = evaluateEntry(i);
      if (!candidate || stands(candidate->status))
        break;
    }
  if (times == TimeSource::Measured)
    evaluateRecord();
}

/// By counting alone: the least bytes and FLOPs of any proposal.
bool Search::leavesNothingToWin() {
  if (!question.libraryCompetes)
    return false;
  const MachineModel &model = MachineModel::forChip(question.chip.name);
  double least = std::numeric_limits<double>::infinity();
  for (const KernelFamily *family : question.families) {
    if (llvm::Error error =
            family->accepts(question.report, question.problem)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    for (Strategy &strategy :
         family->candidates(question.report, question.problem,
                            question.chip.computeCapability)) {
      Proposal proposal;
      proposal.strategy = std::move(strategy);
      double compute = family
                           ->cost(question.report, question.problem,
                                  proposal.strategy, question.n)
                           .tensorFlops /
                       (model.tensorRate * peakOverLibrary);
      least = std::min(
          least, std::max(compute,
                          floorMicroseconds(question.report, question.problem,
                                            proposal, question.n, model.chip)));
    }
  }
  double dense = denseMicroseconds();
  if (dense / least >= shared.options.worthwhile)
    return false;
  finish(LoopStop::NothingToWin,
         std::isinf(least)
             ? std::string("no family accepts the weight")
             : llvm::formatv("nothing can be won: dense takes {0:F2} us, no "
                             "kernel less than {1:F2} us",
                             dense, least)
                   .str());
  return true;
}

void Search::finish(LoopStop reason, std::string detail) {
  stopReason = reason;
  stopDetail = std::move(detail);
}

/// Whether no further round is worth it, and why.
bool Search::shouldStop(unsigned idle) {
  const LoopOptions &options = shared.options;
  if (shared.isInterrupted()) {
    finish(LoopStop::Interrupted, "interrupted");
    return true;
  }
  if (const std::optional<Candidate> &best = state.best) {
    double floor = state.floorMicroseconds, time = best->time();
    // A prediction cannot tell how near its own floor a kernel really is.
    if (best->microseconds > 0 && floor / time >= options.floorShare) {
      finish(LoopStop::FloorReached,
             llvm::formatv("the best is at {0:F0} % of its floor",
                           100 * floor / time));
      return true;
    }
    double dense = best->denseMicroseconds > 0 ? best->denseMicroseconds
                                               : denseMicroseconds();
    if (options.targetSpeedup > 0 && dense / time >= options.targetSpeedup) {
      finish(LoopStop::TargetReached,
             llvm::formatv("the target of {0:F2}x dense is reached",
                           options.targetSpeedup));
      return true;
    }
  }
  if (!hasBudget()) {
    finish(LoopStop::Candidates, "the budget of candidates is spent");
    return true;
  }
  if (shared.seconds() >= options.seconds) {
    finish(LoopStop::Seconds,
           llvm::formatv("the budget of {0:F0} seconds is spent",
                         options.seconds));
    return true;
  }
  if (idle >= options.patience) {
    finish(LoopStop::NoGain, llvm::formatv("no gain in {0} rounds", idle));
    return true;
  }
  return false;
}

void Search::report(unsigned round) {
  if (!shared.progress)
    return;
  LoopProgress line;
  line.label = question.label;
  line.chip = state.chip;
  line.n = question.n;
  line.round = round;
  line.candidates = evaluations;
  line.times = times;
  line.denseMicroseconds = denseMicroseconds();
  line.floorMicroseconds = state.floorMicroseconds;
  line.best = state.best ? state.best->proposal.key() : "library";
  line.microseconds = state.best ? state.best->time() : denseMicroseconds();
  line.cost = shared.sources.spentText();
  shared.progress(line);
}

llvm::Error Search::explore(int64_t candidates) {
  const bool isMeasured = times == TimeSource::Measured;
  if (!isMeasured && !shared.sources.learns() && !question.known)
    return llvm::Error::success();
  limit = candidates;
  refreshState();
  evaluateIncumbent();
  report(0);
  llvm::Error result = llvm::Error::success();
  auto isSettled = [&] {
    if (!isMeasured && !shared.sources.learns())
      return true; // A record was looked at; predictions need no rounds.
    if (question.known && state.best && state.best->microseconds > 0 &&
        state.best->proposal.strategy == question.known->strategy &&
        state.floorMicroseconds / state.best->microseconds >= recordShare) {
      finish(LoopStop::RecordStands, "the verified record " +
                                         question.known->recordId +
                                         " stands within 5 % of its floor");
      return true;
    }
    return leavesNothingToWin();
  };
  unsigned idle = 0;
  if (!isSettled())
    while (!shouldStop(idle)) {
      ++state.round;
      refreshState();
      gained = false;
      const int64_t before = evaluations;
      asking = cursor.current();
      SourceCursor::Answer answer = cursor.ask(
          state, unsigned(std::min<int64_t>(shared.options.batch,
                                            state.budget.candidates)));
      for (std::string &text : answer.notes)
        note(std::move(text));
      if (!answer.notes.empty() && shared.options.requireAgent) {
        result = makeError("the agent is required, and it ended: {0}",
                           state.notes.back());
        finish(LoopStop::SourcesEnded, state.notes.back());
        break;
      }
      if (answer.source.empty()) {
        finish(LoopStop::SourcesEnded, "every source ended");
        break;
      }
      if (shared.events) {
        json::Array proposals;
        for (const Proposal &proposal : answer.proposals)
          proposals.push_back(
              json::Object{{"strategy", json::fixUTF8(proposal.key())},
                           {"reason", json::fixUTF8(proposal.reason)}});
        shared.events->event("round",
                             json::Object{{"chip", state.chip},
                                          {"n", question.n},
                                          {"round", state.round},
                                          {"source", answer.source},
                                          {"proposals", std::move(proposals)}});
      }
      if (answer.proposals.empty() && evaluations == before) {
        finish(LoopStop::SourceDone, answer.source + " has no more proposals");
        break;
      }
      evaluateBatch(answer.proposals, answer.source);
      idle = gained ? 0 : idle + 1;
      report(state.round);
    }
  // What is left of the chip's budget serves settling on formats.
  limit = std::numeric_limits<int64_t>::max();
  json::Object event{{"chip", state.chip},
                     {"n", question.n},
                     {"reason", name(stopReason)},
                     {"text", stopDetail},
                     {"candidates", evaluations}};
  if (std::string budget = shared.sources.endedBudget(); !budget.empty())
    event["ended_budget"] = budget;
  if (json::Object spent = shared.sources.spent(); !spent.empty())
    event["spent"] = std::move(spent);
  if (shared.events)
    shared.events->event("stop", std::move(event));
  return result;
}
