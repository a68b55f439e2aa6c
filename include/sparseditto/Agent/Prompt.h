//===- Prompt.h - What a model sees -----------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One builder for every model: all that is known about a product, within a
// fixed number of tokens. The weight itself is never part of it, only counts.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_PROMPT_H
#define SPARSEDITTO_AGENT_PROMPT_H

#include "sparseditto/Agent/Chat.h"
#include "sparseditto/Agent/ProposalSource.h"

namespace sparseditto {

struct PromptOptions {
  unsigned proposals = 4; ///< Most that one answer may hold.
  /// Limit of Prompt::tokens(); 0: 4000 in round one and 6000 later. Below
  /// about 2500 what has to be there may not fit: the prompt is then longer.
  int64_t tokenLimit = 0;
  bool allowRewrites = false;
  /// Tool calls that one turn may make; 0: no tools are offered. None are
  /// offered either where the state has no tools.
  unsigned toolCalls = 6;
};

struct Prompt {
  std::string system, user;
  std::vector<ToolDeclaration> tools;
  ResponseSchema response;

  /// estimatePromptTokens of all of it, schemas included.
  int64_t tokens() const;
  /// All of it as text, for people (--dump-prompt).
  std::string text() const;
};

/// Never fails: where nothing accepts the weight the prompt says so.
Prompt buildPrompt(const ProposalState &state, const PromptOptions &options);

/// Families of the state that accept its weight.
std::vector<const KernelFamily *> acceptingFamilies(const ProposalState &state);

/// The declaration in words: what it is, what it accepts, each knob with its
/// legal values, default and help.
std::string describeFamily(const KernelFamily &family);

/// JSON Schema of an answer, derived from the declarations: up to
/// options.proposals of {"family", "knobs", "reason"} and, where rewriting is
/// allowed, {"edits", "module"}. No proposals means stop. Enumerations are
/// spelled by name; knobs that are left out have their default.
std::string answerSchema(llvm::ArrayRef<const KernelFamily *> families,
                         const PromptOptions &options);
/// Schema of the tool "evaluate": the proposals alone.
std::string evaluateSchema(llvm::ArrayRef<const KernelFamily *> families,
                           const PromptOptions &options);

/// The proposals in `value`, which matches the answer's schema. Knobs that are
/// left out get their defaults. Nothing is checked against the problem.
llvm::Expected<std::vector<Proposal>>
readProposals(const llvm::json::Value &value,
              llvm::ArrayRef<const KernelFamily *> families);
/// One family and its knobs, as in a proposal: the arguments of "show_kernel".
llvm::Expected<Strategy>
readStrategy(const llvm::json::Object &object,
             llvm::ArrayRef<const KernelFamily *> families);

/// The lines of a kernel's MLIR that show its structure (loops, barriers, loads
/// and stores, copies, matrix products), runs of the same kind folded into one,
/// within `maxTokens`. `listing` may have line numbers; they are kept.
std::string kernelOutline(llvm::StringRef listing, int64_t maxTokens);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_PROMPT_H
