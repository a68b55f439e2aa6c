//===- Requirements.h - What each lowering would need -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_ANALYSIS_REQUIREMENTS_H
#define SPARSEDITTO_LIB_ANALYSIS_REQUIREMENTS_H

#include "sparseditto/Analysis/PatternReport.h"

namespace sparseditto::detail {

/// The `kernel_requirements` object: alignment, and the packed bytes of every
/// kind of kernel that this matrix allows.
llvm::json::Object kernelRequirements(const PatternReport &report);

} // namespace sparseditto::detail

#endif // SPARSEDITTO_LIB_ANALYSIS_REQUIREMENTS_H
