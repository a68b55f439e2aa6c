//===- Strategies.h - Strategies as attributes -----------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_STRATEGIES_H
#define SPARSEDITTO_TRANSFORMS_STRATEGIES_H

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"
#include "sparseditto/Kernels/Problem.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sparseditto {

/// The strategy of a product that stays with the dense library: not a family,
/// no knobs. (The family `dense` is a kernel of ours.)
inline constexpr llvm::StringLiteral libraryStrategy = "library";

/// Checks every `#sparsepattern.strategy` against the declared families
/// (constraints C12 to C14).
void registerStrategyVerifier(mlir::DialectRegistry &registry);

/// The strategy of an attribute, knobs that it leaves out at their defaults,
/// in the order of the declaration. Fails as the verifier does.
llvm::Expected<Strategy> toStrategy(mlir::sparsepattern::StrategyAttr attr);

/// The attribute of a strategy; enumerations are spelled as words.
mlir::sparsepattern::StrategyAttr toStrategyAttr(mlir::MLIRContext *context,
                                                 const Strategy &strategy);

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_STRATEGIES_H
