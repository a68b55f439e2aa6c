//===- Products.h - The products of a module -------------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_PRODUCTS_H
#define SPARSEDITTO_TRANSFORMS_PRODUCTS_H

#include "mlir/IR/BuiltinOps.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Transforms/Weights.h"
#include "sparseditto/Tuning/Compile.h"

namespace sparseditto {

/// An unpacked product on tensors whose weight is a constant.
struct ConstantProduct {
  mlir::sparsepattern::SpmmOp op;
  Problem problem; ///< tuneN not set.
  ConstantTensor weight;
  std::string name;  ///< Of the weight; empty for an inline constant.
  std::string place; ///< "model.mlir:15:11".
};

/// Every such product of `module` that `wanted` wants, in order. For those
/// without a plan that cannot have one, a remark says why. Fails, after an
/// error on the op, if a weight has no data.
mlir::FailureOr<std::vector<ConstantProduct>>
collectProducts(mlir::ModuleOp module,
                llvm::function_ref<bool(mlir::sparsepattern::SpmmOp)> wanted);

/// The product with the plan that stands on the op, if any. Borrows the weight
/// from the op's context. `layer` names it in a package.
llvm::Expected<ModelProduct> toModelProduct(const ConstantProduct &product,
                                            llvm::StringRef layer);

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_PRODUCTS_H
