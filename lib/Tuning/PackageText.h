//===- PackageText.h - The parts of a package that people read --*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TUNING_PACKAGETEXT_H
#define SPARSEDITTO_LIB_TUNING_PACKAGETEXT_H

#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Tuning/Compile.h"
#include <string>

namespace sparseditto {

/// plan.mlir: a module whose attributes hold one #sparsepattern.plan a layer
/// and chip, keyed "<layer>:<chip>".
std::string planText(const Package &package);

/// report.html: one self-contained page, a row a choice.
std::string reportHTML(const CompileResult &result);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TUNING_PACKAGETEXT_H
