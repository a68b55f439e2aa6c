//===- Candidate.cpp - A proposal and what became of it ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Candidate.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/JSONFields.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/xxhash.h"

using namespace sparseditto;

/// More than any answer may have.
static constexpr size_t maxEdits = 1024;

static constexpr struct {
  CandidateStatus status;
  const char *name;
} statusNames[] = {
    {CandidateStatus::Predicted, "predicted"},
    {CandidateStatus::Illegal, "illegal"},
    {CandidateStatus::LoweringFailed, "lowering_failed"},
    {CandidateStatus::PtxasFailed, "ptxas_failed"},
    {CandidateStatus::OverResources, "over_resources"},
    {CandidateStatus::Compiled, "compiled"},
    {CandidateStatus::Crashed, "crashed"},
    {CandidateStatus::TimedOut, "timed_out"},
    {CandidateStatus::WrongResult, "wrong_result"},
    {CandidateStatus::Nondeterministic, "nondeterministic"},
    {CandidateStatus::Verified, "verified"},
};

llvm::StringRef sparseditto::name(CandidateStatus status) {
  for (const auto &entry : statusNames)
    if (entry.status == status)
      return entry.name;
  llvm_unreachable("unknown candidate status");
}

std::optional<CandidateStatus>
sparseditto::parseCandidateStatus(llvm::StringRef text) {
  for (const auto &entry : statusNames)
    if (text == entry.name)
      return entry.status;
  return std::nullopt;
}

bool sparseditto::stands(CandidateStatus status) {
  return status == CandidateStatus::Predicted ||
         status == CandidateStatus::Compiled ||
         status == CandidateStatus::Verified;
}

llvm::StringRef sparseditto::name(TimeSource source) {
  return source == TimeSource::Measured ? "measured" : "predicted";
}

std::string Rewrite::key() const {
  // Lengths first, so that no two lists of edits read the same.
  std::string changed = std::to_string(text.size()) + ":" + text + symbol;
  for (const KernelEdit &edit : edits)
    changed += "|" + std::to_string(edit.before.size()) + ":" + edit.before +
               std::to_string(edit.after.size()) + ":" + edit.after;
  return base.str() + "+" +
         llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(changed)),
                         /*LowerCase=*/true, /*Width=*/16);
}

std::string Proposal::key() const {
  if (useLibrary)
    return "library";
  return rewrite ? rewrite->key() : strategy.str();
}

llvm::json::Object sparseditto::toJSON(const Rewrite &rewrite) {
  using llvm::json::fixUTF8;
  llvm::json::Array edits;
  for (const KernelEdit &edit : rewrite.edits)
    edits.push_back(llvm::json::Object{{"before", fixUTF8(edit.before)},
                                       {"after", fixUTF8(edit.after)}});
  llvm::json::Object object{{"base", rewrite.base.str()},
                            {"symbol", fixUTF8(rewrite.symbol)},
                            {"edits", std::move(edits)},
                            {"key", rewrite.key()}};
  if (!rewrite.text.empty())
    object["text"] = fixUTF8(rewrite.text);
  return object;
}

llvm::Expected<Rewrite>
sparseditto::rewriteFromJSON(const llvm::json::Value &value) {
  Rewrite rewrite;
  JSONFields fields(value, "rewrite");
  std::string base;
  fields.string("base", base);
  fields.string("symbol", rewrite.symbol);
  const llvm::json::Array *edits = fields.array("edits", 0, maxEdits);
  if (fields.find("text"))
    fields.string("text", rewrite.text);
  if (llvm::Error error = fields.finish())
    return error;
  for (const llvm::json::Value &item : *edits) {
    JSONFields edit(item, "edit");
    edit.string("before", rewrite.edits.emplace_back().before);
    edit.string("after", rewrite.edits.back().after);
    if (llvm::Error error = edit.finish())
      return error;
  }
  std::optional<Strategy> parsed = parseStrategy(base);
  if (!parsed)
    return makeError("rewrite: base '{0}' is no strategy", printable(base));
  rewrite.base = std::move(*parsed);
  return rewrite;
}

static constexpr size_t maxText = 1500, maxItems = 8, maxSass = 40,
                        maxCounters = 64, maxItemText = 200;

static void cut(std::string &text, size_t limit) {
  if (text.size() <= limit)
    return;
  text.resize(limit);
  // No half of a character at the end.
  text = llvm::json::fixUTF8(text);
  text += "...";
}

static void cut(std::vector<std::string> &items, size_t limit) {
  if (items.size() > limit) {
    size_t more = items.size() - limit;
    items.resize(limit);
    items.push_back(std::to_string(more) + " more");
  }
  for (std::string &item : items)
    cut(item, maxItemText);
}

void sparseditto::boundFeedback(Candidate &candidate) {
  cut(candidate.message, maxText);
  cut(candidate.mismatch, maxText);
  cut(candidate.proposal.reason, maxText);
  KernelFacts &facts = candidate.facts;
  cut(facts.advisories, maxItems);
  cut(facts.sass, maxSass);
  cut(facts.bottleneck, maxText);
  while (facts.counters.size() > maxCounters)
    facts.counters.erase(std::prev(facts.counters.end()));
}

llvm::json::Object sparseditto::toJSON(const Candidate &candidate) {
  using llvm::json::fixUTF8;
  const Proposal &proposal = candidate.proposal;
  llvm::json::Object object{
      {"n", candidate.n},
      {"round", candidate.round},
      {"strategy", proposal.useLibrary ? "library" : proposal.strategy.str()},
      {"status", name(candidate.status)},
      {"predicted_us", proposal.predictedMicroseconds},
      {"reason", fixUTF8(proposal.reason)}};
  auto text = [&](llvm::StringRef key, const std::string &value) {
    if (!value.empty())
      object[key] = fixUTF8(value);
  };
  auto number = [&](llvm::StringRef key, double value) {
    if (value > 0)
      object[key] = value;
  };
  auto list = [&](llvm::StringRef key, const std::vector<std::string> &items) {
    llvm::json::Array array;
    for (const std::string &item : items)
      array.push_back(fixUTF8(item));
    if (!array.empty())
      object[key] = std::move(array);
  };
  text("chip", candidate.chip);
  text("source", candidate.source);
  number("us", candidate.microseconds);
  number("dense_us", candidate.denseMicroseconds);
  number("floor_us", candidate.floorMicroseconds);
  text("message", candidate.message);
  text("mismatch", candidate.mismatch);
  text("same_as", candidate.sameAs);
  const KernelFacts &facts = candidate.facts;
  if (facts.registers) {
    object["registers"] = facts.registers;
    object["spill_bytes"] = facts.spillBytes;
    object["shared_bytes"] = facts.sharedBytes;
  }
  list("advisories", facts.advisories);
  list("sass", facts.sass);
  text("bottleneck", facts.bottleneck);
  text("binary", facts.binaryHash);
  if (!facts.counters.empty()) {
    llvm::json::Object counters;
    for (const auto &[counter, value] : facts.counters)
      counters[fixUTF8(counter)] = value;
    object["counters"] = std::move(counters);
  }
  if (proposal.rewrite)
    object["rewrite"] = toJSON(*proposal.rewrite);
  return object;
}
