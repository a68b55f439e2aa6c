//===- PromptText.h - Text of others in a prompt ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names come from files and diagnostics quote them; both may have been written
// to be read as instructions. In a prompt they stand quoted or behind a margin,
// in printable ASCII and bounded in length.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_PROMPTTEXT_H
#define SPARSEDITTO_AGENT_PROMPTTEXT_H

#include "sparseditto/Agent/Candidate.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace sparseditto {

/// One line of printable ASCII: other bytes become \xNN (\n, \t), and what is
/// beyond `limit` characters becomes "...".
std::string escaped(llvm::StringRef text, size_t limit);
/// The same in double quotes, with quotes and backslashes escaped.
std::string quoted(llvm::StringRef text, size_t limit);
/// Up to `maxLines` lines of at most `columns` characters, each escaped and
/// behind "| ". A last line says how many were left out.
std::string dataBlock(llvm::StringRef text, unsigned maxLines,
                      size_t columns = 160);

/// Tokens of a prompt: a little more than what tokenizers in use make of it
/// (docs/Agent.md has the measurement).
int64_t estimatePromptTokens(llvm::StringRef text);

/// "nm(tile_n=16, schedule=tile)": the knobs that differ from the family's
/// defaults. An unknown family's knobs are all shown.
std::string shortText(const Strategy &strategy);
/// The same of a proposal: "library", "rewrite of nm(...) +0123abcd".
std::string shortText(const Proposal &proposal);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_PROMPTTEXT_H
