//===- Choose.h - Which strategy serves which N -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop on every chip and N of one weight, and one decision on the packed
// copies for all of them. The pass and sd-tune call this.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_CHOOSE_H
#define SPARSEDITTO_TUNING_CHOOSE_H

#include "sparseditto/Tuning/Loop.h"
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
  /// Set: the kernel is a rewrite, and `strategy` its base.
  std::optional<Rewrite> rewrite;
  std::string reason;
  double predictedMicroseconds = 0;
  double libraryMicroseconds = 0; ///< Predicted time of the dense library.
  double floorMicroseconds = 0;   ///< Of the bytes the choice moves.
  double microseconds = 0;        ///< Measured; 0 if not.
  double denseMicroseconds = 0;   ///< Measured beside it; 0 if not.
  CandidateStatus status = CandidateStatus::Predicted; ///< Of the kernel.
  std::string stop; ///< Why the search ended, in words; empty if none was made.

  /// The numbers of tokens in words: "any", "16", "2..16", ">= 17".
  std::string rangeText() const;
  /// What was chosen, as a proposal.
  Proposal proposal() const;
  /// "dense library", a strategy, or for a rewritten kernel "custom ..." with
  /// its Proposal::key().
  std::string text() const;
};

/// Range, choice, strategy, times and reason, as both tools write them.
llvm::json::Object toJSON(const Choice &choice);

class TuningDatabase;
struct Transcript;

struct ChooseOptions {
  /// The N to choose for, any order; each serves the range up to itself, the
  /// largest serves everything above too.
  std::vector<int64_t> ns = {1, 16, 512};
  /// Who proposes, SourceChain::create() specs. Unused if `sources` is set.
  std::string agent = "heuristic";
  std::shared_ptr<SourceChain> sources;
  /// Packed copies of the weight besides the dense original.
  unsigned maxCopies = 1;
  /// Not empty: only kernels of these families, even where the dense library is
  /// predicted to be faster. The library still stands in where none can be
  /// built. For benchmarks and tests of kernels.
  std::vector<std::string> families;
  /// Candidates that may be evaluated for a chip.
  int64_t budget = 64;
  LoopOptions loop;
  std::string label;           ///< Of the weight, for progress and transcripts.
  EventSink *events = nullptr; ///< May be null.
  std::function<void(const LoopProgress &)> progress; ///< May be empty.
  /// Not null: verified records of earlier runs.
  const TuningDatabase *database = nullptr;
  /// Not null: nothing is searched; the decisions are those of this run.
  const Transcript *replay = nullptr;
};

/// Fails at the first name that is no family, with those there are.
llvm::Error checkFamilies(llvm::ArrayRef<std::string> names);

/// Chooses for one weight, a plan a chip. `problem.tuneN` is ignored.
///
/// Each N of each chip is searched first where a source learns or times are
/// measured. The packed formats are then chosen for all chips and N together,
/// by the gain over the dense library summed over them, so that a package for
/// many chips holds `maxCopies` copies of the weight and not one a chip. If
/// none of a format's candidates stands on any chip, the next best format takes
/// its place. Adjacent ranges with the same choice are merged. `history`, if
/// given, receives every candidate that was evaluated, each once. The budget
/// holds for each chip.
llvm::Expected<std::vector<std::vector<Choice>>>
choosePlans(const PatternReport &report, const Problem &problem,
            llvm::ArrayRef<const Chip *> chips, const ChooseOptions &options,
            Evaluator &evaluator, std::vector<Candidate> *history = nullptr);

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_CHOOSE_H
