//===- Passes.h - Passes of the sparsepattern dialect ----------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_PASSES_H
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::sparsepattern {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sparseditto/Dialect/SparsePattern/Transforms/Passes.h.inc"

} // namespace mlir::sparsepattern

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_PASSES_H
