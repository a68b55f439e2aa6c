//===- Record.h - Tuning records --------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TUNING_RECORD_H
#define SPARSEDITTO_LIB_TUNING_RECORD_H

#include "sparseditto/Agent/ProposalSource.h"
#include "sparseditto/Target/Chips.h"
#include "sparseditto/Tuning/Database.h"
#include <string>

namespace sparseditto {

/// The structure of a product in words: shape, type, layout, epilogue.
std::string operationText(const Problem &problem);

/// Names the record of a candidate: a hash of its key (op structure, pattern
/// fingerprint, N, chip, our version) and strategy.
std::string recordId(const PatternReport &report, const Problem &problem,
                     const Chip &chip, const Proposal &proposal, int64_t n);

/// One JSON line for one candidate, whatever became of it: the key (op
/// structure, pattern fingerprint, N, chip, our version), the strategy, its
/// status, resources, predicted time and what was measured. "id" is recordId().
/// The environment goes with measured times only: nothing else depends on it.
std::string makeRecord(const PatternReport &report, const Problem &problem,
                       const Chip &chip, const Candidate &candidate,
                       const TuningEnvironment &environment = {});

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TUNING_RECORD_H
