//===- TwoDimensional.h - Tensors of any rank as matrices ------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TRANSFORMS_TWODIMENSIONAL_H
#define SPARSEDITTO_LIB_TRANSFORMS_TWODIMENSIONAL_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/ArrayRef.h"

namespace sparseditto {

/// Reshapes a tensor to a matrix: its first `leading` dimensions become the
/// rows, the rest the columns; no dimensions become one of size 1.
mlir::Value toMatrixShape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor, unsigned leading);

/// The inverse: a matrix as a tensor of `sizes`, whose first `leading`
/// dimensions are the rows.
mlir::Value fromMatrixShape(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value matrix,
                            llvm::ArrayRef<mlir::OpFoldResult> sizes,
                            unsigned leading);

/// A tensor with one dimension that is not 1, as a vector.
mlir::Value toVectorShape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value tensor);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TRANSFORMS_TWODIMENSIONAL_H
