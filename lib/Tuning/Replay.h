//===- Replay.h - Decisions of a recorded run -------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TUNING_REPLAY_H
#define SPARSEDITTO_LIB_TUNING_REPLAY_H

#include "sparseditto/Agent/Transcript.h"
#include "sparseditto/Tuning/Choose.h"

namespace sparseditto {

/// The fields of a "product" event: everything that a replay matches on, and
/// what people want to know of the weight.
llvm::json::Object describeProduct(const PatternReport &report,
                                   const Problem &problem,
                                   llvm::ArrayRef<int64_t> ns,
                                   const ChooseOptions &options);

/// Names a product in a transcript: a hash of its structure, pattern and N.
std::string productId(const PatternReport &report, const Problem &problem,
                      llvm::ArrayRef<int64_t> ns);

/// The plans that the transcript's run decided on for this weight. Each kernel
/// is compiled, none is run. Fails if the transcript is of another version,
/// weight, N or chip, if it is not a valid one, or if a kernel no longer
/// stands.
llvm::Expected<std::vector<std::vector<Choice>>>
replayPlans(const Transcript &transcript, const PatternReport &report,
            const Problem &problem, llvm::ArrayRef<const Chip *> chips,
            llvm::ArrayRef<int64_t> ns, const ChooseOptions &options,
            Evaluator &evaluator, std::vector<Candidate> *history);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TUNING_REPLAY_H
