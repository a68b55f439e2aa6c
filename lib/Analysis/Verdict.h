//===- Verdict.h - From counts to one word ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_ANALYSIS_VERDICT_H
#define SPARSEDITTO_LIB_ANALYSIS_VERDICT_H

#include "sparseditto/Analysis/PatternReport.h"

namespace sparseditto::detail {

/// Sets pattern, its details, the evidence and the reason of a report whose
/// counts and structure are complete. The rules are in docs/Analysis.md.
void decide(PatternReport &report);

} // namespace sparseditto::detail

#endif // SPARSEDITTO_LIB_ANALYSIS_VERDICT_H
