//===- LoopTools.cpp - What a source may look up and have done -----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/Error.h"
#include "sparseditto/Tuning/Loop.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;

/// Lines of a whole kernel that are shown at most.
static constexpr size_t maxLines = 400;

Evaluator::~Evaluator() = default;

llvm::Expected<Evaluator::Pair>
Evaluator::compare(const Candidate &, const Candidate *, const Chip &) {
  return makeError("nothing is measured here");
}

llvm::Expected<std::string> Evaluator::kernelText(const Strategy &,
                                                  AgentTools::Text, int64_t,
                                                  const Chip &) {
  return makeError("no kernel is built here");
}

llvm::Expected<std::string> Search::describeFamily(llvm::StringRef name) {
  std::string known;
  for (const KernelFamily *family : question.families) {
    if (family->name() != name) {
      known += (known.empty() ? "" : ", ") + family->name().str();
      continue;
    }
    const FamilyDeclaration &declaration = family->declaration();
    std::string text = declaration.name + ": " + declaration.summary +
                       "\naccepts: " + declaration.accepts + "\n";
    if (llvm::Error error = family->accepts(question.report, question.problem))
      text +=
          "does not accept this weight: " + llvm::toString(std::move(error)) +
          "\n";
    for (const KnobDeclaration &knob : declaration.knobs) {
      text += knob.name + " (default " + std::to_string(knob.defaultValue) +
              (knob.affectsPacking ? ", part of the packed format): " : "): ") +
              knob.help + "; one of ";
      for (size_t i = 0; i < knob.values.size(); ++i) {
        text += (i ? ", " : "") + std::to_string(knob.values[i]);
        if (i < knob.valueNames.size())
          text += " (" + knob.valueNames[i] + ")";
      }
      text += "\n";
    }
    return text;
  }
  return makeError("unknown family '{0}', expected {1}", name, known);
}

llvm::Expected<std::string> Search::showKernel(const Strategy &strategy,
                                               Text what, unsigned line,
                                               unsigned context) {
  Proposal proposal;
  proposal.strategy = strategy;
  if (llvm::Error error = checkLegal(proposal))
    return error;
  auto text =
      shared.evaluator.kernelText(strategy, what, question.n, question.chip);
  if (!text)
    return text.takeError();
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(*text).rtrim().split(lines, '\n');
  size_t first = 0, end = lines.size();
  if (line > 0) {
    if (line > lines.size())
      return makeError("line {0} is beyond the end, the text has {1} lines",
                       line, lines.size());
    first = line - 1 - std::min<size_t>(line - 1, context);
    end = std::min<size_t>(lines.size(), size_t(line) + context);
  }
  std::string shown;
  llvm::raw_string_ostream os(shown);
  for (size_t i = first; i < std::min(end, first + maxLines); ++i)
    os << i + 1 << ": " << lines[i] << "\n";
  if (end > first + maxLines)
    os << "(" << end - first - maxLines << " more lines: ask around a line)\n";
  return shown;
}

std::vector<Candidate> Search::evaluate(llvm::ArrayRef<Proposal> proposals) {
  return evaluateBatch(proposals, asking);
}
