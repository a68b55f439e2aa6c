//===- Passes.h - Passes on models -----------------------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_PASSES_H
#define SPARSEDITTO_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace sparseditto {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sparseditto/Transforms/Passes.h.inc"

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_PASSES_H
