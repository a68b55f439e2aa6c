//===- Settle.cpp - The best that stands in given formats ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Tuning/Loop.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace sparseditto;

std::string sparseditto::unmeasuredRewrite(const Candidate &candidate) {
  return llvm::formatv(
      "{0} is {1} and not chosen: it was not measured, and its predicted time "
      "is its base's",
      candidate.proposal.key(), name(candidate.status));
}

bool Search::Entry::mayBeChosen() const {
  return candidate && stands(candidate->status) &&
         (!proposal.rewrite || isTaken);
}

std::string Search::bestFormat() const {
  return state.best ? packingKey(state.best->proposal.strategy) : "";
}

/// Entries of the format that were not evaluated, most promising first.
std::vector<size_t>
Search::untried(llvm::function_ref<bool(const std::string &)> isWanted) const {
  std::vector<size_t> order;
  for (size_t i = 0; i < entries.size(); ++i)
    if (!entries[i].proposal.useLibrary && !entries[i].candidate &&
        isWanted(packingKey(entries[i].proposal.strategy)))
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    double timeA = entries[a].proposal.predictedMicroseconds;
    double timeB = entries[b].proposal.predictedMicroseconds;
    return timeA != timeB ? timeA < timeB : a < b;
  });
  return order;
}

void Search::probe(const std::set<std::string> &formats) {
  constexpr unsigned tries = 2;
  if (times != TimeSource::Measured || shared.isInterrupted())
    return;
  for (const std::string &format : formats) {
    auto isMeasured = [&] {
      return llvm::any_of(entries, [&](const Entry &entry) {
        return entry.mayBeChosen() &&
               packingKey(entry.proposal.strategy) == format;
      });
    };
    std::vector<size_t> order =
        untried([&](const std::string &key) { return key == format; });
    for (size_t i = 0; i < order.size() && i < tries && !isMeasured(); ++i)
      evaluateEntry(order[i]);
  }
}

void Search::forEachFormat(
    llvm::function_ref<void(llvm::StringRef, double)> visit) const {
  const bool isMeasured = times == TimeSource::Measured;
  for (const Entry &entry : entries) {
    if (entry.proposal.useLibrary ||
        (entry.proposal.rewrite && !entry.mayBeChosen()))
      continue;
    double time = entry.proposal.predictedMicroseconds;
    if (time <= 0)
      continue; // Not legal.
    const std::optional<Candidate> &candidate = entry.candidate;
    // Of predictions the refused ones still speak for their format: another set
    // of knobs takes their place.
    if (isMeasured && !(candidate && stands(candidate->status)))
      continue;
    if (hasRecord && !(candidate && candidate->microseconds > 0))
      continue;
    if (candidate && stands(candidate->status))
      time = candidate->time();
    std::string format = packingKey(entry.proposal.strategy);
    // What did not take the best's place is not better, whatever its first time
    // said, or its prediction.
    if (isMeasured && state.best && format != bestFormat())
      time = std::max(time, state.best->time() * 1.001);
    visit(format, time);
  }
}

Search::Settled Search::libraryBecause(bool isSpent) const {
  Settled settled;
  settled.proposal.useLibrary = true;
  settled.proposal.predictedMicroseconds = predictedDense;
  settled.denseMicroseconds = denseMicroseconds();
  settled.reason = "dense library: ";
  if (!refusal.empty())
    settled.reason += "no candidate stands (" + refusal + ")";
  else if (isSpent)
    settled.reason += "the budget of candidates is spent";
  else
    settled.reason += "no candidate could be built";
  return settled;
}

/// A source need not sort its proposals: what is not predicted to be better
/// than the best so far is passed over.
Search::Settled Search::settlePredicted(const std::set<std::string> &formats,
                                        std::set<std::string> &built,
                                        std::set<std::string> &failed) {
  Settled settled;
  bool isAnswered = false, isSpent = false;
  double best = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Proposal proposal = entries[i].proposal;
    if (proposal.rewrite)
      continue; // Its time is its base's.
    double time = proposal.predictedMicroseconds;
    if (isAnswered) {
      // A kernel has to beat the library by a margin, whichever came first.
      double margin = settled.isLibrary == proposal.useLibrary ? 1
                      : settled.isLibrary ? requiredGain
                                          : 1 / requiredGain;
      if (time * margin >= best)
        continue;
    }
    if (!proposal.useLibrary) {
      std::string format = packingKey(proposal.strategy);
      if (!formats.count(format))
        continue;
      const Candidate *candidate = evaluateEntry(i);
      if (!candidate) {
        isSpent = true;
        break;
      }
      if (!stands(candidate->status)) {
        failed.insert(std::move(format));
        continue;
      }
      built.insert(std::move(format));
      settled.candidate = *candidate;
    }
    isAnswered = true;
    settled.isLibrary = proposal.useLibrary;
    settled.proposal = proposal;
    settled.reason = proposal.reason;
    best = time;
  }
  if (!isAnswered)
    return libraryBecause(isSpent);
  settled.denseMicroseconds = predictedDense;
  return settled;
}

/// Only what was measured is compared; where nothing in the formats was, the
/// most promising proposals are measured now.
Search::Settled Search::settleMeasured(const std::set<std::string> &formats,
                                       std::set<std::string> &built,
                                       std::set<std::string> &failed) {
  auto isIn = [&](const Entry &entry) {
    return !entry.proposal.useLibrary &&
           formats.count(packingKey(entry.proposal.strategy));
  };
  auto standing = [&] {
    const Candidate *best = nullptr;
    for (const Entry &entry : entries)
      if (isIn(entry) && entry.mayBeChosen() &&
          // What only compiled does not stand beside what was measured.
          (!best || (entry.candidate->microseconds > 0 &&
                     (best->microseconds == 0 ||
                      entry.candidate->time() < best->time()))))
        best = &*entry.candidate;
    return best;
  };
  bool isSpent = false;
  if (!standing() && !shared.isInterrupted()) {
    std::vector<size_t> order = untried(
        [&](const std::string &key) { return formats.count(key) != 0; });
    unsigned measured = 0;
    for (size_t i : order) {
      if (measured == shared.options.batch)
        break;
      const Candidate *candidate = evaluateEntry(i);
      if (!candidate) {
        isSpent = true;
        break;
      }
      measured += stands(candidate->status);
    }
  }
  for (const Entry &entry : entries)
    // What became of a rewrite says nothing of its base's format.
    if (isIn(entry) && entry.candidate &&
        (!entry.proposal.rewrite || entry.mayBeChosen()))
      (stands(entry.candidate->status) ? built : failed)
          .insert(packingKey(entry.proposal.strategy));

  const Candidate *best = standing();
  // What won side by side is the best, whatever one more digit says.
  if (state.best && formats.count(packingKey(state.best->proposal.strategy)))
    best = &*find(state.best->proposal.key())->candidate;
  if (!best) {
    Settled settled = libraryBecause(isSpent);
    if (refusal.empty() && !isSpent)
      settled.reason = "dense library: no kernel was measured faster";
    return settled;
  }
  const bool isMeasured = best->microseconds > 0;
  const double dense = isMeasured && best->denseMicroseconds > 0
                           ? best->denseMicroseconds
                           : denseMicroseconds();
  const double required = isMeasured ? shared.options.acceptance : requiredGain;
  Settled settled;
  settled.denseMicroseconds = dense;
  if (question.libraryCompetes && dense / best->time() < required) {
    settled.proposal.useLibrary = true;
    settled.proposal.predictedMicroseconds = predictedDense;
    settled.reason = llvm::formatv(
        "dense library {0:F2} us; the best kernel, {1}, {2:F2} us, is not "
        "{3:F2}x faster",
        dense, best->proposal.key(), best->time(), required);
    return settled;
  }
  settled.isLibrary = false;
  settled.proposal = best->proposal;
  settled.candidate = *best;
  settled.reason = best->proposal.reason;
  if (isMeasured)
    settled.reason += llvm::formatv(
        "; measured {0:F2} us, dense {1:F2} us ({2:F2}x), floor {3:F2} us",
        best->microseconds, dense, dense / best->microseconds,
        best->floorMicroseconds);
  return settled;
}

Search::Settled Search::settle(const std::set<std::string> &formats,
                               std::set<std::string> &built,
                               std::set<std::string> &failed) {
  // A verified record outweighs predictions.
  if (times == TimeSource::Measured || hasRecord)
    return settleMeasured(formats, built, failed);
  return settlePredicted(formats, built, failed);
}
