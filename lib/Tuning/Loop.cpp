//===- Loop.cpp - Propose, evaluate, propose again ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Loop.h"
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

std::function<double()> sparseditto::secondsFromNow() {
  using Clock = std::chrono::steady_clock;
  return [start = Clock::now()] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
}

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
