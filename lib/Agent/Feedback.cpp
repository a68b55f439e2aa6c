//===- Feedback.cpp - What became of a proposal, in words -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Feedback.h"
#include "sparseditto/Agent/PromptText.h"
#include "sparseditto/Support/Counters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <map>

using namespace sparseditto;

static constexpr size_t maxMessage = 400, maxReason = 120;
static constexpr unsigned maxDiagnosticLines = 9, maxSassFacts = 6;

static std::string microseconds(double us) {
  return llvm::formatv("{0:F2} us", us);
}

/// "8.31 us measured; dense 13.52 (1.63x), floor 6.16 (1.35x), best 7.76
/// (1.07x slower)".
static std::string timeText(const Candidate &candidate,
                            const ProposalState &state) {
  const double time = candidate.time();
  if (time <= 0)
    return "no time";
  std::string text =
      microseconds(time) + " " + name(candidate.timeSource()).str();
  auto beside = [&](const char *what, double us, const char *format,
                    double ratio) {
    if (us > 0)
      text += llvm::formatv(", {0} {1:F2} us (", what, us).str() +
              llvm::formatv(format, ratio).str() + ")";
  };
  const double dense = candidate.denseMicroseconds > 0
                           ? candidate.denseMicroseconds
                           : state.denseMicroseconds;
  beside("dense", dense, "{0:F2}x faster", dense / time);
  beside("floor", candidate.floorMicroseconds, "{0:F2}x of it",
         time / std::max(candidate.floorMicroseconds, 1e-9));
  if (state.best && state.best->proposal.key() != candidate.proposal.key() &&
      state.best->n == candidate.n)
    beside("best", state.best->time(), "{0:F2}x of it",
           time / std::max(state.best->time(), 1e-9));
  return text;
}

static std::string resourceText(const KernelFacts &facts) {
  if (facts.registers == 0)
    return "";
  std::string text = llvm::formatv(
      "resources: {0} registers a thread, {1} bytes spilled, {2} bytes of "
      "shared memory a block",
      facts.registers, facts.spillBytes, facts.sharedBytes);
  for (size_t i = 0; i < std::min<size_t>(2, facts.advisories.size()); ++i)
    text += "; " + escaped(facts.advisories[i], 120);
  return text + "\n";
}

/// The known ones in their order, then the three largest stalls.
static std::string counterText(const KernelFacts &facts) {
  std::string text;
  auto add = [&](llvm::StringRef key, double value) {
    text += llvm::formatv("{0}{1} {2:F1}", text.empty() ? "" : ", ", key, value)
                .str();
  };
  for (llvm::StringRef key : counter::all)
    if (auto it = facts.counters.find(key.str()); it != facts.counters.end())
      add(key, it->second);
  std::vector<std::pair<double, llvm::StringRef>> stalls;
  for (const auto &[key, value] : facts.counters)
    if (llvm::StringRef(key).starts_with(counter::stallPrefix))
      stalls.push_back({value, key});
  llvm::sort(stalls, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (size_t i = 0; i < std::min<size_t>(3, stalls.size()); ++i)
    add(escaped(stalls[i].second, 40), stalls[i].first);
  return text.empty() ? "" : "counters: " + text + "\n";
}

static std::string standingText(const Candidate &candidate,
                                const ProposalState &state) {
  std::string text = timeText(candidate, state) + "\n";
  text += resourceText(candidate.facts) + counterText(candidate.facts);
  const std::vector<std::string> &sass = candidate.facts.sass;
  for (size_t i = 0; i < std::min<size_t>(maxSassFacts, sass.size()); ++i)
    text += "machine code: " + escaped(sass[i], 160) + "\n";
  std::string bottleneck = candidate.facts.bottleneck.empty()
                               ? bottleneckSentence(candidate, state)
                               : candidate.facts.bottleneck;
  if (!bottleneck.empty())
    text += "bottleneck: " + escaped(bottleneck, 320) + "\n";
  if (!candidate.message.empty())
    text += "remark: " + escaped(candidate.message, 160) + "\n";
  return text;
}

std::string sparseditto::feedbackText(const Candidate &candidate,
                                      const ProposalState &state) {
  const std::string message = escaped(candidate.message, maxMessage);
  std::string text = shortText(candidate.proposal);
  if (candidate.n != state.problem.tuneN)
    text += " at N = " + std::to_string(candidate.n);
  text += ": " + name(candidate.status).str();
  if (!candidate.sameAs.empty())
    text += " (the same machine code as " + quoted(candidate.sameAs, 160) +
            ", not measured again)";
  switch (candidate.status) {
  case CandidateStatus::Predicted:
  case CandidateStatus::Compiled:
  case CandidateStatus::Verified:
    text += ", " + standingText(candidate, state);
    break;
  case CandidateStatus::Illegal:
    text += ", nothing was built: " + message + "\n";
    break;
  case CandidateStatus::LoweringFailed:
  case CandidateStatus::PtxasFailed:
    text += ", the compiler says\n" +
            dataBlock(candidate.message.empty() ? "nothing" : candidate.message,
                      maxDiagnosticLines);
    break;
  case CandidateStatus::OverResources:
    text += ": " + message + "\n" + resourceText(candidate.facts);
    break;
  case CandidateStatus::Crashed:
  case CandidateStatus::TimedOut:
    text += "\n" + dataBlock(candidate.message, 4);
    break;
  case CandidateStatus::WrongResult:
  case CandidateStatus::Nondeterministic:
    text += ": " +
            (candidate.mismatch.empty() ? message
                                        : escaped(candidate.mismatch, 240)) +
            "\n" + resourceText(candidate.facts);
    if (!candidate.mismatch.empty() && !message.empty())
      text += "remark: " + escaped(candidate.message, 160) + "\n";
    break;
  }
  if (!candidate.proposal.reason.empty())
    text +=
        "its reason was " + quoted(candidate.proposal.reason, maxReason) + "\n";
  return text;
}

std::string sparseditto::feedbackLine(const Candidate &candidate) {
  std::string text = "r" + std::to_string(candidate.round) + " " +
                     shortText(candidate.proposal) + ": " +
                     name(candidate.status).str();
  if (stands(candidate.status)) {
    if (candidate.time() > 0)
      text += " " + microseconds(candidate.time());
  } else if (llvm::StringRef why = candidate.mismatch.empty()
                                       ? candidate.message
                                       : candidate.mismatch;
             !why.empty()) {
    text += ", " + escaped(why.split('\n').first, 80);
  }
  return text;
}

std::vector<std::string> sparseditto::lessonsOf(const ProposalState &state,
                                                unsigned limit) {
  struct Tally {
    unsigned tries = 0;
    std::map<CandidateStatus, unsigned> refusals;
  };
  std::map<std::string, Tally> tallies; ///< By "nm with tile_m=256".
  for (const Candidate &candidate : state.history) {
    const Proposal &proposal = candidate.proposal;
    if (candidate.n != state.problem.tuneN || proposal.useLibrary ||
        proposal.rewrite)
      continue;
    for (const auto &knob : proposal.strategy.knobs) {
      Strategy one;
      one.family = proposal.strategy.family;
      one.knobs.push_back(knob);
      Tally &tally = tallies[shortText(one)];
      ++tally.tries;
      if (!stands(candidate.status))
        ++tally.refusals[candidate.status];
    }
  }
  // Those with the most tries first; a default's text names no knob.
  std::vector<std::pair<unsigned, std::string>> found;
  for (const auto &[what, tally] : tallies)
    for (const auto &[status, count] : tally.refusals)
      if (count >= 2 && count == tally.tries &&
          llvm::StringRef(what).contains('('))
        found.push_back({count, llvm::formatv("{0} ended as {1} in all {2} "
                                              "tries",
                                              what, name(status), count)
                                    .str()});
  llvm::sort(found, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::string> lessons;
  for (size_t i = 0; i < std::min<size_t>(limit, found.size()); ++i)
    lessons.push_back(found[i].second);
  return lessons;
}

/// Line and column (0 if none) of "NAME:LINE:COLUMN: text", "..., line LINE;
/// text" or "line LINE: text"; line 0 if none of them.
static std::pair<unsigned, unsigned> placeOf(llvm::StringRef diagnostic) {
  unsigned line = 0, column = 0;
  auto digits = [](llvm::StringRef &text, unsigned &value) {
    return !text.consumeInteger(10, value);
  };
  for (size_t colon = diagnostic.find(':'); colon != llvm::StringRef::npos;
       colon = diagnostic.find(':', colon + 1)) {
    llvm::StringRef rest = diagnostic.drop_front(colon + 1);
    if (digits(rest, line) && rest.consume_front(":") && digits(rest, column) &&
        rest.starts_with(":"))
      return {line, column};
  }
  if (llvm::StringRef rest = diagnostic; rest.consume_front("line ") &&
                                         digits(rest, line) &&
                                         rest.starts_with(":"))
    return {line, 0};
  size_t at = diagnostic.find(", line ");
  if (at != llvm::StringRef::npos) {
    llvm::StringRef rest = diagnostic.drop_front(at + 7);
    if (digits(rest, line) && rest.starts_with(";"))
      return {line, 0};
  }
  return {0, 0};
}

std::string sparseditto::withSourceLines(llvm::StringRef diagnostics,
                                         llvm::StringRef source,
                                         unsigned maxDiagnostics) {
  llvm::SmallVector<llvm::StringRef> lines, sourceLines;
  diagnostics.split(lines, '\n', -1, /*KeepEmpty=*/false);
  source.split(sourceLines, '\n');
  // Long lines are cut around the column.
  constexpr size_t columns = 120;
  std::string result;
  unsigned count = 0;
  for (llvm::StringRef diagnostic : lines) {
    auto [line, column] = placeOf(diagnostic);
    if (line != 0 && ++count > maxDiagnostics)
      break;
    result += diagnostic.str() + "\n";
    if (line == 0 || line > sourceLines.size())
      continue;
    llvm::StringRef text = sourceLines[line - 1].rtrim();
    size_t first = column > columns / 2 ? column - columns / 2 : 0;
    first = std::min(first, text.size());
    result += "  " + text.substr(first, columns).str() + "\n";
    if (column > 0 && column <= text.size() + 1)
      result += "  " + std::string(column - 1 - first, ' ') + "^\n";
  }
  return result;
}
