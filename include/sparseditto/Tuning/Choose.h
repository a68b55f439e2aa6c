//===- Choose.h - Which strategy serves which N -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One implementation of the loop for the pass and for sd-tune: ask the source
// for proposals at each N, settle on few packed copies, evaluate, keep the best
// that stands.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_CHOOSE_H
#define SPARSEDITTO_TUNING_CHOOSE_H

#include "sparseditto/Agent/ProposalSource.h"
#include "sparseditto/Target/Chips.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace sparseditto {

/// What serves one range of N.
struct Choice {
  int64_t nMin = 1, nMax = 0; ///< Inclusive; nMax 0 = no upper bound.
  int64_t tuneN = 1;
  bool useLibrary = false; ///< The dense library: no kernel of ours.
  Strategy strategy;       ///< Meaningless if useLibrary.
  std::string reason;
  double predictedMicroseconds = 0;
  double libraryMicroseconds = 0; ///< Predicted time of the dense library.
  double floorMicroseconds = 0;   ///< Of the bytes the choice moves.

  /// The numbers of tokens in words: "any", "16", "2..16", ">= 17".
  std::string rangeText() const;
};

/// Range, choice, strategy, times and reason, as both tools write them.
llvm::json::Object toJSON(const Choice &choice);

struct ChooseOptions {
  /// The N to choose for, any order; each serves the range up to itself, the
  /// largest serves everything above too.
  std::vector<int64_t> ns = {1, 16, 512};
  std::string agent = "heuristic"; ///< createProposalSource() spec.
  /// Packed copies of the weight besides the dense original.
  unsigned maxCopies = 1;
  /// Not empty: only this family's kernels, even where the dense library is
  /// predicted to be faster. The library still stands in where none can be
  /// built. For benchmarks and tests of one family.
  std::string family;
  /// Candidates that may be evaluated in all.
  int64_t budget = 64;
};

/// Judges one proposal: compiles it, perhaps runs it. Statuses Predicted,
/// Compiled and Verified let it stand; any other moves on to the next proposal.
using EvaluateFn =
    llvm::function_ref<Candidate(const Proposal &proposal, int64_t n)>;

/// Chooses for one weight and chip. `problem.tuneN` is ignored. Adjacent ranges
/// with the same choice are merged. `history`, if given, receives every
/// candidate that was evaluated.
llvm::Expected<std::vector<Choice>>
choosePlan(const PatternReport &report, const Problem &problem,
           const Chip &chip, const ChooseOptions &options, EvaluateFn evaluate,
           std::vector<Candidate> *history = nullptr);

/// The part of a strategy that its packed copy depends on:
/// "block{block_r=64,block_c=64}".
std::string packingKey(const Strategy &strategy);

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_CHOOSE_H
