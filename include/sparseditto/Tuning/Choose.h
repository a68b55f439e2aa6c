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
  /// Not empty: only kernels of these families, even where the dense library is
  /// predicted to be faster. The library still stands in where none can be
  /// built. For benchmarks and tests of kernels.
  std::vector<std::string> families;
  /// Candidates that may be evaluated for a chip.
  int64_t budget = 64;
};

/// Fails at the first name that is no family, with those there are.
llvm::Error checkFamilies(llvm::ArrayRef<std::string> names);

/// Judges one proposal: compiles it, perhaps runs it. Statuses Predicted,
/// Compiled and Verified let it stand; any other moves on to the next proposal.
using EvaluateFn = llvm::function_ref<Candidate(const Proposal &proposal,
                                                int64_t n, const Chip &chip)>;

/// Chooses for one weight, a plan a chip. `problem.tuneN` is ignored.
///
/// The packed formats are chosen for all chips and N together, by the gain over
/// the dense library summed over them, so that a package for many chips holds
/// `maxCopies` copies of the weight and not one a chip. If none of a format's
/// candidates stands on any chip, the next best format takes its place.
/// Adjacent ranges with the same choice are merged. `history`, if given,
/// receives every candidate that was evaluated, each once. The budget holds for
/// each chip.
llvm::Expected<std::vector<std::vector<Choice>>>
choosePlans(const PatternReport &report, const Problem &problem,
            llvm::ArrayRef<const Chip *> chips, const ChooseOptions &options,
            EvaluateFn evaluate, std::vector<Candidate> *history = nullptr);

/// The same for one chip.
llvm::Expected<std::vector<Choice>>
choosePlan(const PatternReport &report, const Problem &problem,
           const Chip &chip, const ChooseOptions &options,
           llvm::function_ref<Candidate(const Proposal &, int64_t)> evaluate,
           std::vector<Candidate> *history = nullptr);

/// The part of a strategy that its packed copy depends on:
/// "block{block_r=64,block_c=64}".
std::string packingKey(const Strategy &strategy);

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_CHOOSE_H
