//===- Rewrite.cpp - A kernel with its text changed -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Rewrite.h"
#include "KernelFacts.h"
#include "sparseditto/Agent/Feedback.h"
#include "sparseditto/Agent/PromptText.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;

/// Ours have under 400 KB; the parser's time and memory follow the size.
static constexpr size_t maxTextBytes = 1 << 20;
static constexpr size_t maxShownText = 100;
static constexpr unsigned maxShownLines = 5, maxShownDiagnostics = 4;

static llvm::SmallVector<llvm::StringRef, 0> linesOf(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 0> lines;
  text.split(lines, '\n');
  return lines;
}

//===----------------------------------------------------------------------===//
// Edits
//===----------------------------------------------------------------------===//

/// Counted from 1.
static size_t lineAt(llvm::StringRef text, size_t offset) {
  return 1 + text.take_front(offset).count('\n');
}

/// Where an author who wrote `before` may have looked, in words.
static std::string nearestLine(llvm::StringRef text, llvm::StringRef before) {
  auto lines = linesOf(text), wanted = linesOf(before.trim("\n"));
  // The place where most of its lines match, spaces at the ends aside.
  size_t best = 0, at = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    size_t same = 0;
    while (same < wanted.size() && i + same < lines.size() &&
           lines[i + same].trim() == wanted[same].trim())
      ++same;
    if (same > best) {
      best = same;
      at = i;
    }
  }
  if (best == wanted.size())
    return llvm::formatv("line {0} differs from it in spaces only", at + 1);
  if (best > 0)
    return llvm::formatv(
        "its first {0} lines are at line {1}, then line {2} is {3} and not {4}",
        best, at + 1, at + best + 1,
        at + best < lines.size() ? quoted(lines[at + best].trim(), maxShownText)
                                 : std::string("the end"),
        quoted(wanted[best].trim(), maxShownText));
  llvm::StringRef first = wanted.front().trim().take_front(maxShownText);
  unsigned nearest = ~0u;
  for (size_t i = 0; i < lines.size(); ++i) {
    llvm::StringRef line = lines[i].trim().take_front(maxShownText);
    if (line.empty())
      continue;
    unsigned distance = first.edit_distance(line, /*AllowReplacements=*/true,
                                            /*MaxEditDistance=*/nearest);
    if (distance < nearest) {
      nearest = distance;
      at = i;
    }
  }
  return llvm::formatv("the nearest line is {0}, {1}", at + 1,
                       quoted(lines[at].trim(), maxShownText));
}

llvm::Expected<std::string>
sparseditto::applyEdits(llvm::StringRef text,
                        llvm::ArrayRef<KernelEdit> edits) {
  std::string result = text.str();
  for (size_t i = 0; i < edits.size(); ++i) {
    const KernelEdit &edit = edits[i];
    auto refuse = [&](const std::string &why) {
      return makeError("edit {0} of {1}: {2}", i + 1, edits.size(), why);
    };
    if (edit.before.empty())
      return refuse("'before' is empty");
    if (edit.before == edit.after)
      return refuse("'before' and 'after' are the same");
    llvm::SmallVector<size_t> places;
    for (size_t at = result.find(edit.before); at != std::string::npos;
         at = result.find(edit.before, at + 1))
      places.push_back(at);
    if (places.empty())
      return refuse("'before' does not occur in the kernel; " +
                    nearestLine(result, edit.before));
    if (places.size() > 1) {
      std::string where;
      for (size_t k = 0; k < std::min<size_t>(places.size(), maxShownLines);
           ++k)
        where += (k ? ", " : "") + std::to_string(lineAt(result, places[k]));
      if (places.size() > maxShownLines)
        where += ", ...";
      return refuse("'before' must occur once and occurs " +
                    std::to_string(places.size()) + " times, at lines " +
                    where + "; add lines around it");
    }
    result.replace(places.front(), edit.before.size(), edit.after);
    if (result.size() > maxTextBytes)
      return refuse("the kernel would have more than " +
                    std::to_string(maxTextBytes) + " bytes");
  }
  return result;
}

/// Replaces the identifier `from` wherever it stands whole.
static std::string renamed(llvm::StringRef text, llvm::StringRef from,
                           llvm::StringRef to) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; };
  std::string result;
  size_t done = 0;
  for (size_t at = text.find(from); at != llvm::StringRef::npos;
       at = text.find(from, at + from.size())) {
    size_t end = at + from.size();
    if ((at > 0 && isPart(text[at - 1])) ||
        (end < text.size() && isPart(text[end])))
      continue;
    result += text.slice(done, at);
    result += to;
    done = end;
  }
  return result += text.substr(done);
}

llvm::Expected<RewrittenText>
sparseditto::rewrittenText(const Rewrite &rewrite, const CachedKernel &base) {
  const std::string &symbol = base.manifest.symbol;
  if (rewrite.edits.empty() == rewrite.text.empty())
    return makeError("a rewrite is either edits or a whole module, got {0}",
                     rewrite.text.empty() ? "neither" : "both");
  std::string text = rewrite.text;
  if (text.size() > maxTextBytes)
    return makeError("the module has {0} bytes, at most {1} are taken",
                     text.size(), maxTextBytes);
  if (!rewrite.edits.empty()) {
    auto edited = applyEdits(base.mlir, rewrite.edits);
    if (!edited)
      return edited.takeError();
    text = std::move(*edited);
  }
  if (llvm::StringRef(text).trim() == llvm::StringRef(base.mlir).trim())
    return makeError("the text is that of its base");
  RewrittenText result;
  // With the base's name in it: rewrites of two kernels are never one.
  result.symbol = "sd_" + customFamily.str() + "_" + sourceHash(text);
  result.mlir = renamed(text, symbol, result.symbol);
  if (result.mlir == text)
    return makeError("the kernel's name, '@{0}', is not in the module; it has "
                     "to stay",
                     symbol);
  return result;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The compiler's diagnostics, each on a line of its own with what it is about.
static std::string withPlaces(llvm::StringRef diagnostic,
                              llvm::StringRef text) {
  const std::string place = (isolatedSourceName + ":").str();
  std::string lines;
  size_t done = 0;
  for (size_t at = diagnostic.find("; " + place); at != llvm::StringRef::npos;
       at = diagnostic.find("; " + place, done)) {
    lines += diagnostic.slice(done, at).str() + "\n";
    done = at + 2;
  }
  lines += diagnostic.substr(done);
  return withSourceLines(lines, text, maxShownDiagnostics);
}

std::shared_ptr<const CachedKernel>
sparseditto::buildRewrite(RewrittenText text, const CachedKernel &base,
                          const Chip &chip, const PtxasOptions &ptxas,
                          const IsolationLimits &limits) {
  auto kernel = std::make_shared<CachedKernel>();
  auto refuse = [&](CandidateStatus status, std::string why) {
    kernel->status = status;
    kernel->message = std::move(why);
    return kernel;
  };
  kernel->manifest = base.manifest;
  kernel->mlir = std::move(text.mlir);
  KernelManifest &manifest = kernel->manifest;
  manifest.symbol = std::move(text.symbol);
  kernel->diff = lineDiff(
      renamed(base.mlir, base.manifest.symbol, manifest.symbol), kernel->mlir);
  manifest.custom.emplace();
  manifest.custom->base = manifest.strategy;
  manifest.strategy.family = customFamily.str();
  manifest.sourceHash = sourceHash(kernel->mlir);
  auto compiled =
      compileKernelIsolated(kernel->mlir, chip, ptxas, limits, &manifest);
  if (!compiled)
    return refuse(CandidateStatus::Crashed,
                  "the compiler could not be started: " +
                      llvm::toString(compiled.takeError()));
  switch (compiled->outcome) {
  case CompileOutcome::Compiled:
    break;
  case CompileOutcome::Refused:
    return refuse(CandidateStatus::Illegal,
                  withPlaces(compiled->diagnostic, kernel->mlir));
  case CompileOutcome::Rejected:
    return refuse(CandidateStatus::LoweringFailed,
                  withPlaces(compiled->diagnostic, kernel->mlir));
  case CompileOutcome::Crashed:
    return refuse(CandidateStatus::Crashed, compiled->diagnostic);
  case CompileOutcome::TimedOut:
    return refuse(CandidateStatus::TimedOut, compiled->diagnostic);
  }
  kernel->ptx = std::move(compiled->kernel.ptx);
  kernel->cubin = std::move(compiled->kernel.cubin);
  manifest.chip = chip.name.str();
  manifest.ptxVersion = compiled->kernel.ptxVersion;
  judgeCompiled(*kernel, compiled->kernel, chip);
  if (kernel->status == CandidateStatus::PtxasFailed)
    kernel->message = withSourceLines(kernel->message, kernel->ptx);
  // Its author learns from the machine code above all.
  kernel->facts = collectFacts(*kernel, compiled->kernel.report,
                               /*readSass=*/true);
  return kernel;
}

//===----------------------------------------------------------------------===//
// What changed
//===----------------------------------------------------------------------===//

namespace {
struct DiffLine {
  char kind; ///< ' ', '-' or '+'.
  llvm::StringRef text;
};
} // namespace

/// Beyond this many pairs of lines the middle counts as replaced as a whole.
static constexpr size_t maxPairs = size_t(16) << 20;

static std::vector<DiffLine> diffLines(llvm::ArrayRef<llvm::StringRef> before,
                                       llvm::ArrayRef<llvm::StringRef> after) {
  std::vector<DiffLine> result, tail;
  while (!before.empty() && !after.empty() && before[0] == after[0]) {
    result.push_back({' ', before[0]});
    before = before.drop_front();
    after = after.drop_front();
  }
  while (!before.empty() && !after.empty() && before.back() == after.back()) {
    tail.push_back({' ', before.back()});
    before = before.drop_back();
    after = after.drop_back();
  }
  const size_t rows = before.size() + 1, columns = after.size() + 1;
  size_t i = 0, k = 0;
  if (rows * columns <= maxPairs) {
    // common[i][k]: lines that before[i..] and after[k..] have in common.
    std::vector<uint32_t> common(rows * columns);
    for (size_t r = before.size(); r-- > 0;)
      for (size_t c = after.size(); c-- > 0;)
        common[r * columns + c] = before[r] == after[c]
                                      ? common[(r + 1) * columns + c + 1] + 1
                                      : std::max(common[(r + 1) * columns + c],
                                                 common[r * columns + c + 1]);
    while (i < before.size() && k < after.size())
      if (before[i] == after[k]) {
        result.push_back({' ', before[i]});
        ++i, ++k;
      } else if (common[(i + 1) * columns + k] >= common[i * columns + k + 1]) {
        result.push_back({'-', before[i++]});
      } else {
        result.push_back({'+', after[k++]});
      }
  }
  while (i < before.size())
    result.push_back({'-', before[i++]});
  while (k < after.size())
    result.push_back({'+', after[k++]});
  result.insert(result.end(), tail.rbegin(), tail.rend());
  return result;
}

std::string sparseditto::lineDiff(llvm::StringRef before, llvm::StringRef after,
                                  unsigned context) {
  std::vector<DiffLine> lines =
      diffLines(linesOf(before.rtrim('\n')), linesOf(after.rtrim('\n')));
  std::string result;
  size_t old = 1, now = 1; // Line numbers of lines[i].
  auto isChange = [&](size_t i) { return lines[i].kind != ' '; };
  for (size_t i = 0; i < lines.size();) {
    // The next hunk: changes with fewer than two contexts between them.
    size_t first = i;
    while (first < lines.size() && !isChange(first))
      ++first;
    if (first == lines.size())
      break;
    size_t last = first;
    for (size_t j = first; j < lines.size() && j <= last + 2 * context + 1; ++j)
      if (isChange(j))
        last = j;
    size_t begin = std::max(i, first - std::min<size_t>(first, context));
    size_t end = std::min(lines.size(), last + context + 1);
    old += begin - i;
    now += begin - i;
    size_t oldCount = 0, nowCount = 0;
    std::string hunk;
    for (size_t j = begin; j < end; ++j) {
      oldCount += lines[j].kind != '+';
      nowCount += lines[j].kind != '-';
      hunk += lines[j].kind;
      hunk += lines[j].text.str() + "\n";
    }
    result +=
        llvm::formatv("@@ -{0},{1} +{2},{3} @@\n", old, oldCount, now, nowCount)
            .str() +
        hunk;
    old += oldCount;
    now += nowCount;
    i = end;
  }
  return result;
}
