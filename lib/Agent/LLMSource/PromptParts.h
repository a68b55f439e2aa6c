//===- PromptParts.h - The parts of a prompt --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLMSOURCE_PROMPTPARTS_H
#define SPARSEDITTO_LIB_AGENT_LLMSOURCE_PROMPTPARTS_H

#include "sparseditto/Agent/Prompt.h"

namespace sparseditto::prompt {

std::string systemText(const PromptOptions &options, bool hasTools);
std::string productText(const ProposalState &state);
/// Counts of the report, never a value.
std::string weightText(const ProposalState &state);
std::string targetText(const ProposalState &state);
/// Accepting families with their knobs and the model's first choice, then why
/// the others do not accept. Without `help`, names and values only.
std::string familiesText(const ProposalState &state,
                         llvm::ArrayRef<const KernelFamily *> accepting,
                         bool help);
/// Best, dense, floor and what is left to win.
std::string standingText(const ProposalState &state);
/// What to answer in this round.
std::string questionText(const ProposalState &state,
                         const PromptOptions &options);
/// One line a knob, shared by families with the same.
std::string knobTable(llvm::ArrayRef<const KernelFamily *> families, bool help);

std::vector<ToolDeclaration>
tools(llvm::ArrayRef<const KernelFamily *> families,
      const PromptOptions &options);

} // namespace sparseditto::prompt

#endif // SPARSEDITTO_LIB_AGENT_LLMSOURCE_PROMPTPARTS_H
