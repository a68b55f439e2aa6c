//===- ElementTypes.h - Element types of MLIR ------------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_ELEMENTTYPES_H
#define SPARSEDITTO_TARGET_ELEMENTTYPES_H

#include "mlir/IR/Types.h"
#include "sparseditto/Support/ElementType.h"
#include <optional>

namespace sparseditto {

/// The element type of the libraries below MLIR; none for types without one.
std::optional<ElementType> toElementType(mlir::Type type);
mlir::Type toMLIRType(mlir::MLIRContext *context, ElementType type);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_ELEMENTTYPES_H
