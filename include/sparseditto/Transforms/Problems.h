//===- Problems.h - The problem of a product -------------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_PROBLEMS_H
#define SPARSEDITTO_TRANSFORMS_PROBLEMS_H

#include "sparseditto/Kernels/Problem.h"
#include <optional>

namespace mlir::sparsepattern {
class SpmmOp;
} // namespace mlir::sparsepattern

namespace sparseditto {

/// What a kernel for the product is specialised for, tuneN not set; none for
/// element types without an equivalent.
std::optional<Problem> problemOf(mlir::sparsepattern::SpmmOp op);

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_PROBLEMS_H
