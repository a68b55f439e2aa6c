//===- Evaluator.h - What becomes of a proposal -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop asks an evaluator in two steps, so that a binary that was measured
// before is not measured again: prepare() compiles, judge() runs.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_EVALUATOR_H
#define SPARSEDITTO_TUNING_EVALUATOR_H

#include "sparseditto/Agent/ProposalSource.h"
#include "sparseditto/Target/Chips.h"
#include <string>
#include <vector>

namespace sparseditto {

/// For one weight. Not thread-safe.
class Evaluator {
public:
  virtual ~Evaluator();

  /// Whether judge() measures on this chip.
  virtual TimeSource times(const Chip &chip) const {
    (void)chip;
    return TimeSource::Predicted;
  }
  /// Compiles: a candidate each, in order, Compiled with its facts or refused.
  /// The proposals are legal and none is the library.
  virtual std::vector<Candidate> prepare(llvm::ArrayRef<Proposal> proposals,
                                         int64_t n, const Chip &chip) = 0;
  /// Runs candidates that are Compiled: Verified, with times where times() is
  /// Measured, or refused. Leaves them as they are where nothing can be run.
  virtual void judge(llvm::MutableArrayRef<Candidate> candidates,
                     const Chip &chip) {
    (void)candidates;
    (void)chip;
  }

  /// Microseconds of one run; `incumbent` is 0 where there is none.
  struct Pair {
    double challenger = 0, incumbent = 0, dense = 0;
  };
  /// Measures two verified candidates and dense once more, one right after the
  /// other. A null incumbent is the dense library. Fails where times() is
  /// Predicted.
  virtual llvm::Expected<Pair> compare(const Candidate &challenger,
                                       const Candidate *incumbent,
                                       const Chip &chip);
  /// The whole text of the strategy's kernel. Fails if it cannot be built.
  virtual llvm::Expected<std::string> kernelText(const Strategy &strategy,
                                                 AgentTools::Text what,
                                                 int64_t n, const Chip &chip);
};

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_EVALUATOR_H
