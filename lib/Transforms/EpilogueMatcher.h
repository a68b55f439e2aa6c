//===- EpilogueMatcher.h - What can be fused after a product ---*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TRANSFORMS_EPILOGUEMATCHER_H
#define SPARSEDITTO_LIB_TRANSFORMS_EPILOGUEMATCHER_H

#include "Contraction.h"
#include "llvm/ADT/SetVector.h"

namespace sparseditto {

/// residual + activation(acc + bias), converted to the type of the root.
struct MatchedEpilogue {
  mlir::Operation *root = nullptr; ///< Its result is the value of all.
  /// A tensor with the output features as its only dimensions that are not 1.
  mlir::Value bias;
  mlir::sparsepattern::ActivationKind activation =
      mlir::sparsepattern::ActivationKind::None;
  mlir::Value residual; ///< Of the shape and type of the root's result.
  llvm::SetVector<mlir::Operation *> fused;
};

/// The longest chain of elementwise operations on `product` that is an
/// epilogue and that nothing else looks into. `roles` are those of the
/// product's dimensions. Its root is null if there is not even one.
MatchedEpilogue matchEpilogue(mlir::Value product,
                              llvm::ArrayRef<DimRole> roles);

/// The bias that `init`, the initial value of a product, spreads over the
/// tokens; null if it is something else.
mlir::Value matchBiasInit(mlir::Value init, llvm::ArrayRef<DimRole> roles);

/// True if `init` is zero everywhere.
bool isZero(mlir::Value init);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TRANSFORMS_EPILOGUEMATCHER_H
