//===- Feedback.h - What became of a proposal, in words ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For authors, models and people alike: specific and bounded. What others wrote
// (diagnostics, reasons) is escaped and stands behind a margin or in quotes.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_FEEDBACK_H
#define SPARSEDITTO_AGENT_FEEDBACK_H

#include "sparseditto/Agent/ProposalSource.h"

namespace sparseditto {

/// One sentence: what the candidate's time goes into, and what helps. From its
/// counters where there are some, else from what ptxas and the machine code say
/// and the machine model's count of its work. Empty for one that does not
/// stand, and for the library.
std::string bottleneckSentence(const Candidate &candidate,
                               const ProposalState &state);

/// All that is worth knowing about the candidate, at most about 25 lines of 160
/// characters: its status with the reason (knob and legal values, diagnostics,
/// first wrong element), or its time beside dense, best and floor, resources,
/// counters, facts of the machine code and bottleneck. Its bottleneck is
/// facts.bottleneck, or computed where that is empty.
std::string feedbackText(const Candidate &candidate,
                         const ProposalState &state);

/// One line without a line break: "r2 nm(tile_n=16): verified 7.8 us".
std::string feedbackLine(const Candidate &candidate);

/// What repeats in the history of this N, a sentence each, at most `limit`:
/// knob values that failed in the same way each time they were tried.
std::vector<std::string> lessonsOf(const ProposalState &state, unsigned limit);

/// Repeats each diagnostic "NAME:LINE:COLUMN: text" (MLIR), "NAME, line LINE;
/// text" or "line LINE: text" (ptxas) of `diagnostics`, up to `maxDiagnostics`
/// of them, with the line of `source` that it is about and a caret below the
/// column. Others are repeated as they are.
std::string withSourceLines(llvm::StringRef diagnostics, llvm::StringRef source,
                            unsigned maxDiagnostics = 3);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_FEEDBACK_H
