//===- Packing.h - Packed weights in the IR --------------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_PACKING_H
#define SPARSEDITTO_TRANSFORMS_PACKING_H

#include "mlir/IR/TypeRange.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"
#include "sparseditto/Kernels/Packed.h"

namespace sparseditto {

/// The attribute that describes a packed weight.
mlir::sparsepattern::PackingAttr
toPackingAttr(mlir::MLIRContext *context, const PackedWeight &packed,
              mlir::sparsepattern::StrategyAttr strategy);

/// The packed weight of an attribute, its buffers without bytes: names, and
/// shapes and types from `buffers`. Null for an element type of no equivalent.
std::optional<PackedWeight>
fromPackingAttr(mlir::sparsepattern::PackingAttr packing,
                mlir::TypeRange buffers);

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_PACKING_H
