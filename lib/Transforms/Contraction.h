//===- Contraction.h - Products of a weight with activations ---*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linalg operation that multiplies a constant weight with activations,
// reduced to what matters: which loop each dimension of the three operands runs
// over.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TRANSFORMS_CONTRACTION_H
#define SPARSEDITTO_LIB_TRANSFORMS_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"
#include <optional>
#include <string>

namespace sparseditto {

/// What a dimension of activations or output is.
enum class DimRole : uint8_t {
  Token,     ///< Shared by activations and output, or of size 1.
  UnitToken, ///< The same, of static size 1: may stand anywhere.
  Input,     ///< Summed over (K).
  Output,    ///< Output feature (M).
};

/// Where the data of a weight is.
struct WeightSource {
  mlir::Value root;         ///< Constant, load of a global, or argument.
  mlir::ElementsAttr value; ///< Null for an argument.
  mlir::StringAttr file;    ///< "file#tensor" of an argument.
  mlir::Operation *annotated = nullptr;
  std::string name; ///< For reports and resource keys.
  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(root.getType());
  }
};

struct Contraction {
  mlir::linalg::LinalgOp op;
  WeightSource weight;
  /// Dimensions of the weight root that make up M and K, outermost first and in
  /// the order of output and activations.
  llvm::SmallVector<int64_t> weightRows, weightCols;
  mlir::Value activations;
  llvm::SmallVector<DimRole> activationRoles;
  llvm::SmallVector<DimRole> outputRoles;
  mlir::sparsepattern::TokenLayout layout =
      mlir::sparsepattern::TokenLayout::TokenMajor;
  /// Permutation that brings the activations into the layout (and its roles are
  /// `activationRoles`); empty if they already are.
  llvm::SmallVector<int64_t> transpose;
  /// Leading dimensions of activations and output that a loop must run over,
  /// feature-major only.
  unsigned loopedDims = 0;
};

/// The weight that `value` is a view of, and the loop that each dimension of
/// the root runs over (-1: none, the dimension has size 1). `loops` gives the
/// loops of the dimensions of `value`.
std::optional<WeightSource>
findWeight(mlir::Value value, llvm::ArrayRef<int64_t> loops,
           llvm::SmallVectorImpl<int64_t> &rootLoops);

/// Matches a product. None without a reason if the operation has no weight;
/// none with a reason if it has one but is no product we can convert.
std::optional<Contraction> matchContraction(mlir::linalg::LinalgOp op,
                                            std::string &reason);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TRANSFORMS_CONTRACTION_H
