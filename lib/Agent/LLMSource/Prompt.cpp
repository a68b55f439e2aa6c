//===- Prompt.cpp - What a model sees -------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What has to be there comes first and is bounded by itself: task, product,
// weight, target, families, standing, question. What may be shortened (history,
// notes, lessons, the kernel's outline) shares what is left of the limit.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Prompt.h"
#include "PromptParts.h"
#include "sparseditto/Agent/Feedback.h"
#include "sparseditto/Agent/PromptText.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace sparseditto;

int64_t Prompt::tokens() const {
  int64_t total = estimatePromptTokens(system) + estimatePromptTokens(user) +
                  estimatePromptTokens(response.schema);
  for (const ToolDeclaration &tool : tools)
    total += estimatePromptTokens(tool.name) +
             estimatePromptTokens(tool.description) +
             estimatePromptTokens(tool.schema);
  return total;
}

std::string Prompt::text() const {
  std::string result = "=== system\n" + system + "\n\n=== user\n" + user;
  for (const ToolDeclaration &tool : tools)
    result += "\n=== tool " + tool.name + "\n" + tool.description + "\n" +
              tool.schema + "\n";
  return result + "\n=== schema of the answer\n" + response.schema + "\n" +
         "=== about " + std::to_string(tokens()) + " tokens\n";
}

std::vector<const KernelFamily *>
sparseditto::acceptingFamilies(const ProposalState &state) {
  std::vector<const KernelFamily *> accepting;
  for (const KernelFamily *family : state.families) {
    if (llvm::Error error = family->accepts(state.report, state.problem))
      llvm::consumeError(std::move(error));
    else
      accepting.push_back(family);
  }
  return accepting;
}

namespace {
/// Takes pieces of text as long as they fit.
class Room {
public:
  explicit Room(int64_t tokens) : left(tokens) {}
  bool take(const std::string &text) {
    int64_t cost = estimatePromptTokens(text);
    if (cost > left)
      return false;
    left -= cost;
    return true;
  }
  int64_t left;
};
} // namespace

/// The last two rounds in full, older candidates a line each, newest first
/// until the room ends, told in the order in which they happened.
static std::string historyText(const ProposalState &state, Room &room) {
  if (state.history.empty())
    return "";
  unsigned lastRound = 0;
  for (const Candidate &candidate : state.history)
    lastRound = std::max(lastRound, candidate.round);
  const std::string title = "# What was tried (r: round)\n";
  if (!room.take(title + "(100000 older ones are left out)\n"))
    return "";
  std::vector<std::string> pieces;
  size_t leftOut = 0;
  for (const Candidate &candidate : llvm::reverse(state.history)) {
    std::string line = feedbackLine(candidate);
    if (candidate.n != state.problem.tuneN)
      line += " at N = " + std::to_string(candidate.n);
    line += "\n";
    // The best stands in full elsewhere.
    const bool isBest = state.best && candidate.n == state.best->n &&
                        candidate.proposal.key() == state.best->proposal.key();
    std::string piece = line;
    if (!isBest && candidate.round + 1 >= lastRound &&
        candidate.n == state.problem.tuneN)
      piece = "r" + std::to_string(candidate.round) + " " +
              feedbackText(candidate, state);
    if (!room.take(piece)) {
      piece = line;
      if (!room.take(piece)) {
        leftOut = state.history.size() - pieces.size();
        break;
      }
    }
    pieces.push_back(std::move(piece));
  }
  std::string text = title;
  if (leftOut > 0)
    text += "(" + std::to_string(leftOut) + " older ones are left out)\n";
  for (const std::string &piece : llvm::reverse(pieces))
    text += piece;
  return text;
}

/// The newest of `items`, as many as fit.
static std::string listText(const char *title,
                            const std::vector<std::string> &items, size_t most,
                            Room &room) {
  std::vector<std::string> lines;
  if (items.empty() || !room.take(title))
    return "";
  for (const std::string &item : llvm::reverse(items)) {
    std::string line = "- " + escaped(item, 200) + "\n";
    if (lines.size() == most || !room.take(line))
      break;
    lines.push_back(std::move(line));
  }
  std::string text = lines.empty() ? "" : title;
  for (const std::string &line : llvm::reverse(lines))
    text += line;
  return text;
}

/// The kernel that a rewrite would start from.
static std::string kernelText(const ProposalState &state, int64_t maxTokens) {
  if (!state.tools || !state.best || state.best->proposal.useLibrary ||
      maxTokens < 200)
    return "";
  llvm::Expected<std::string> listing = state.tools->showKernel(
      state.best->proposal.strategy, AgentTools::Text::MLIR, /*line=*/0,
      /*context=*/0);
  if (!listing) {
    llvm::consumeError(listing.takeError());
    return "";
  }
  std::string outline = kernelOutline(*listing, maxTokens - 60);
  if (outline.empty())
    return "";
  // Edits always apply to a family's kernel, never to a rewrite.
  return std::string("# Outline of the best kernel's ") +
         (state.best->proposal.rewrite ? "base's " : "") +
         "MLIR (address arithmetic left out; show_kernel has every line)\n" +
         outline;
}

Prompt sparseditto::buildPrompt(const ProposalState &state,
                                const PromptOptions &options) {
  const std::vector<const KernelFamily *> accepting = acceptingFamilies(state);
  const int64_t limit = options.tokenLimit > 0 ? options.tokenLimit
                        : state.round <= 1     ? 4000
                                               : 6000;
  Prompt prompt;
  if (state.tools && options.toolCalls > 0)
    prompt.tools = prompt::tools(accepting, options);
  prompt.system = prompt::systemText(options, !prompt.tools.empty());
  prompt.response = {"proposals", answerSchema(accepting, options)};

  const std::string product = prompt::productText(state) +
                              prompt::weightText(state) +
                              prompt::targetText(state);
  const std::string standing = prompt::standingText(state);
  const std::string question = prompt::questionText(state, options);
  std::string families = prompt::familiesText(state, accepting, /*help=*/true);
  auto used = [&] {
    prompt.user = product + families + standing + question;
    return prompt.tokens();
  };
  // The knobs' sentences are the first that a model can do without.
  if (used() > limit - limit / 10)
    families = prompt::familiesText(state, accepting, /*help=*/false);

  Room room(limit - used());
  std::vector<std::string> lessons = state.lessons;
  llvm::append_range(lessons, lessonsOf(state, 6));
  std::string lessonList = listText("# Lessons\n", lessons, 12, room);
  // A rewriter needs the kernel more than the oldest tries.
  std::string kernel;
  if (options.allowRewrites) {
    kernel = kernelText(state, room.left / 3);
    if (!room.take(kernel))
      kernel.clear();
  }
  std::string history = historyText(state, room);
  std::string notes = listText("# Notes\n", state.notes, 6, room);
  prompt.user = product + families + history + lessonList + notes + kernel +
                standing + question;
  return prompt;
}
