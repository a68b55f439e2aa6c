//===- TwoDimensional.cpp - Tensors of any rank as matrices ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TwoDimensional.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace sparseditto;

/// The groups [0, leading) and [leading, rank), without an empty one.
static SmallVector<ReassociationIndices> splitAt(unsigned leading,
                                                 unsigned rank) {
  SmallVector<ReassociationIndices> groups;
  if (leading > 0)
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, leading)));
  if (leading < rank)
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(leading, rank)));
  return groups;
}

Value sparseditto::toMatrixShape(OpBuilder &builder, Location loc, Value tensor,
                                 unsigned leading) {
  unsigned rank = cast<RankedTensorType>(tensor.getType()).getRank();
  SmallVector<ReassociationIndices> groups = splitAt(leading, rank);
  if (groups.size() < rank)
    tensor = tensor::CollapseShapeOp::create(builder, loc, tensor, groups);
  if (groups.size() == 2)
    return tensor;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor);
  sizes.insert(leading == 0 ? sizes.begin() : sizes.end(),
               builder.getIndexAttr(1));
  SmallVector<int64_t> shape = std::get<0>(decomposeMixedValues(sizes));
  auto type = RankedTensorType::get(
      shape, cast<RankedTensorType>(tensor.getType()).getElementType());
  return tensor::ExpandShapeOp::create(builder, loc, type, tensor,
                                       ArrayRef<ReassociationIndices>{{0, 1}},
                                       sizes);
}

Value sparseditto::fromMatrixShape(OpBuilder &builder, Location loc,
                                   Value matrix, ArrayRef<OpFoldResult> sizes,
                                   unsigned leading) {
  SmallVector<ReassociationIndices> groups = splitAt(leading, sizes.size());
  if (groups.size() == 1)
    matrix = tensor::CollapseShapeOp::create(
        builder, loc, matrix, ArrayRef<ReassociationIndices>{{0, 1}});
  if (groups.size() == sizes.size())
    return matrix;
  SmallVector<int64_t> shape = std::get<0>(decomposeMixedValues(sizes));
  auto type = RankedTensorType::get(
      shape, cast<RankedTensorType>(matrix.getType()).getElementType());
  return tensor::ExpandShapeOp::create(builder, loc, type, matrix, groups,
                                       sizes);
}

Value sparseditto::toVectorShape(OpBuilder &builder, Location loc,
                                 Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  if (rank == 1)
    return tensor;
  return tensor::CollapseShapeOp::create(builder, loc, tensor,
                                         splitAt(rank, rank));
}
