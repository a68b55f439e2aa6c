//===- Replay.cpp - Decisions of a recorded run --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"
#include "Record.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/JSONFields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace sparseditto;
namespace json = llvm::json;

static constexpr int64_t maxN = std::numeric_limits<int32_t>::max();

static std::string listText(llvm::ArrayRef<int64_t> ns) {
  std::string text;
  for (int64_t n : ns)
    text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

std::string sparseditto::productId(const PatternReport &report,
                                   const Problem &problem,
                                   llvm::ArrayRef<int64_t> ns) {
  std::string key =
      operationText(problem) + "|" + report.fingerprint + "|" + listText(ns);
  return llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(key)),
                         /*LowerCase=*/true, /*Width=*/16);
}

json::Object sparseditto::describeProduct(const PatternReport &report,
                                          const Problem &problem,
                                          llvm::ArrayRef<int64_t> ns,
                                          const ChooseOptions &options) {
  return json::Object{{"name", json::fixUTF8(options.label)},
                      {"op", operationText(problem)},
                      {"fingerprint", report.fingerprint},
                      {"ns", json::Array(ns)},
                      {"shape", json::Array{problem.m, problem.k}},
                      {"dtype", name(problem.type)},
                      {"layout", name(problem.layout)},
                      {"pattern", report.patternText()},
                      {"density", report.density()},
                      {"budget", options.budget},
                      {"copies", options.maxCopies},
                      {"families", llvm::json::Array(options.families)}};
}

/// Why the transcript has no decision on the product, as exactly as it can be
/// said.
static llvm::Error missing(const Transcript &transcript,
                           const PatternReport &report, const Problem &problem,
                           llvm::ArrayRef<int64_t> ns) {
  const std::string op = operationText(problem);
  std::vector<std::string> others;
  for (const Transcript::Event &event : transcript.events) {
    if (event.type != "product")
      continue;
    std::string recorded = event.fields.getString("op").value_or("").str();
    std::string pattern =
        event.fields.getString("fingerprint").value_or("").str();
    if (recorded == op && pattern == report.fingerprint) {
      std::string theirs;
      if (const json::Array *list = event.fields.getArray("ns"))
        for (const json::Value &n : *list)
          if (std::optional<int64_t> number = n.getAsInteger())
            theirs += (theirs.empty() ? "" : ",") + std::to_string(*number);
      if (theirs == listText(ns))
        return makeError("transcript '{0}' ends before a decision on {1}",
                         transcript.path, op);
      return makeError(
          "transcript '{0}' planned this weight for N = {1}, asked "
          "for is N = {2}",
          transcript.path, theirs, listText(ns));
    }
    if (recorded == op)
      return makeError("transcript '{0}' is of another weight: its pattern of "
                       "zeros is {1}, this one's is {2}",
                       transcript.path, pattern, report.fingerprint);
    if (!llvm::is_contained(others, recorded))
      others.push_back(std::move(recorded));
  }
  std::string has;
  for (const std::string &other : llvm::ArrayRef(others).take_front(4))
    has += (has.empty() ? "" : "; ") + other;
  return makeError("transcript '{0}' has no decision on {1}; it has {2}{3}",
                   transcript.path, op, has.empty() ? "none" : has,
                   others.size() > 4 ? "; ..." : "");
}

/// Untrusted: every field is checked, and whether the strategy is one.
static llvm::Expected<Choice> readChoice(const Transcript &transcript,
                                         const Transcript::Event &event,
                                         const PatternReport &report,
                                         const Problem &problem,
                                         const Chip &chip, bool allowRewrites) {
  Choice choice;
  json::Object copy = event.fields;
  // Also null: no upper bound.
  if (const json::Value *last = copy.get("n_max");
      last && last->kind() == json::Value::Null)
    copy["n_max"] = 0;
  json::Value value(std::move(copy));
  JSONFields fields(value, "transcript '" + transcript.path + "', line " +
                               std::to_string(event.line));
  std::string chosen;
  fields.integer("n_min", 1, maxN, choice.nMin);
  fields.integer("n_max", 0, maxN, choice.nMax);
  fields.integer("n", 1, maxN, choice.tuneN);
  fields.string("choice", chosen);
  fields.string("reason", choice.reason);
  fields.number("predicted_us", choice.predictedMicroseconds);
  fields.number("dense_us", choice.libraryMicroseconds);
  fields.number("floor_us", choice.floorMicroseconds);
  choice.useLibrary = chosen == "library";
  std::string strategy;
  if (!choice.useLibrary)
    fields.string("strategy", strategy);
  if (llvm::Error error = fields.finish())
    return error;
  const json::Object &object = *value.getAsObject();
  choice.microseconds = object.getNumber("us").value_or(0);
  choice.denseMicroseconds = object.getNumber("measured_dense_us").value_or(0);
  choice.stop = object.getString("stop").value_or("").str();
  if (std::optional<llvm::StringRef> status = object.getString("status"))
    choice.status =
        parseCandidateStatus(*status).value_or(CandidateStatus::Predicted);
  if (choice.useLibrary)
    return choice;
  auto fail = [&](const std::string &why) {
    return makeError("transcript '{0}', line {1}: {2}", transcript.path,
                     event.line, why);
  };
  std::optional<Strategy> parsed = parseStrategy(strategy);
  const KernelFamily *family = parsed ? findFamily(parsed->family) : nullptr;
  if (!family)
    return fail("'" + strategy + "' is no strategy of a known family");
  if (llvm::Error error = family->accepts(report, problem))
    return fail(llvm::toString(std::move(error)));
  if (llvm::Error error =
          family->check(*parsed, problem, chip.computeCapability))
    return fail(llvm::toString(std::move(error)));
  choice.strategy = std::move(*parsed);
  const json::Value *changed = object.get("rewrite");
  if (!changed) {
    if (chosen == customFamily)
      return fail("a rewritten kernel without \"rewrite\"");
    return choice;
  }
  if (!allowRewrites)
    return fail(llvm::toString(rewritesNotTaken()));
  auto rewrite = rewriteFromJSON(*changed);
  if (!rewrite)
    return fail(llvm::toString(rewrite.takeError()));
  if (rewrite->base != choice.strategy)
    return fail("the base of the rewrite is " + rewrite->base.str() +
                ", the strategy is " + choice.strategy.str());
  choice.rewrite = std::move(*rewrite);
  return choice;
}

static llvm::Expected<std::vector<Choice>>
replayPlan(const Transcript &transcript, const PatternReport &report,
           const Problem &problem, const Chip &chip, llvm::ArrayRef<int64_t> ns,
           bool allowRewrites) {
  const std::string id = productId(report, problem, ns);
  std::vector<Choice> plan;
  std::vector<std::string> chips;
  for (const Transcript::Event &event : transcript.events) {
    if (event.type != "decision" || event.fields.getString("product") != id)
      continue;
    std::string recorded = event.fields.getString("chip").value_or("").str();
    if (recorded != chip.name) {
      if (!llvm::is_contained(chips, recorded))
        chips.push_back(std::move(recorded));
      continue;
    }
    auto choice =
        readChoice(transcript, event, report, problem, chip, allowRewrites);
    if (!choice)
      return choice.takeError();
    const int64_t expected = plan.empty() ? 1 : plan.back().nMax + 1;
    if (choice->nMin != expected ||
        (choice->nMax != 0 && choice->nMax < choice->nMin))
      return makeError("transcript '{0}', line {1}: a range of N from {2} to "
                       "{3} does not continue at {4}",
                       transcript.path, event.line, choice->nMin, choice->nMax,
                       expected);
    plan.push_back(std::move(*choice));
    // The same weight may be decided on again further down.
    if (plan.back().nMax == 0)
      return plan;
  }
  if (!plan.empty())
    return makeError("transcript '{0}': the plan of {1} for {2} has no end",
                     transcript.path, operationText(problem), chip.name);
  if (!chips.empty())
    return makeError("transcript '{0}' is for {1}, asked for is {2}",
                     transcript.path, llvm::join(chips, ", "), chip.name);
  return missing(transcript, report, problem, ns);
}

llvm::Expected<std::vector<std::vector<Choice>>> sparseditto::replayPlans(
    const Transcript &transcript, const PatternReport &report,
    const Problem &problem, llvm::ArrayRef<const Chip *> chips,
    llvm::ArrayRef<int64_t> ns, const ChooseOptions &options,
    Evaluator &evaluator, std::vector<Candidate> *history) {
  if (transcript.version != SPARSEDITTO_VERSION)
    return makeError("transcript '{0}' was written by SparseDitto {1}, this is "
                     "{2}",
                     transcript.path, transcript.version, SPARSEDITTO_VERSION);
  std::vector<std::vector<Choice>> plans;
  for (const Chip *chip : chips) {
    auto plan = replayPlan(transcript, report, problem, *chip, ns,
                           options.loop.allowRewrites);
    if (!plan)
      return plan.takeError();
    for (const Choice &choice : *plan) {
      if (choice.useLibrary)
        continue;
      std::vector<Candidate> built =
          evaluator.prepare(choice.proposal(), choice.tuneN, *chip);
      Candidate &candidate = built.front();
      candidate.chip = chip->name.str();
      candidate.source = "replay";
      if (!stands(candidate.status))
        return makeError("transcript '{0}': {1} does not stand here: {2}, {3}",
                         transcript.path, choice.text(), name(candidate.status),
                         candidate.message);
      if (history)
        history->push_back(std::move(candidate));
    }
    plans.push_back(std::move(*plan));
  }
  return plans;
}
