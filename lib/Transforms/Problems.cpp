//===- Problems.cpp - The problem of a product ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Transforms/Problems.h"
#include "mlir/IR/TypeUtilities.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Transforms/Weights.h"

using namespace mlir;
using namespace sparseditto;
using sparsepattern::ActivationKind;
using sparsepattern::SpmmOp;
using sparsepattern::TokenLayout;

std::optional<Problem> sparseditto::problemOf(SpmmOp op) {
  std::optional<ElementType> type =
      toElementType(getElementTypeOrSelf(op.getActivations()));
  std::optional<ElementType> outputType =
      toElementType(getElementTypeOrSelf(op.getInit()));
  if (!type || !outputType)
    return std::nullopt;
  Problem problem;
  problem.m = op.getM();
  problem.k = op.getK();
  problem.type = *type;
  problem.outputType = *outputType;
  problem.layout = op.getLayout() == TokenLayout::TokenMajor
                       ? Layout::TokenMajor
                       : Layout::FeatureMajor;
  problem.epilogue.bias = bool(op.getBias());
  problem.epilogue.residual = bool(op.getResidual());
  switch (op.getActivation()) {
  case ActivationKind::None:
    problem.epilogue.activation = Activation::None;
    break;
  case ActivationKind::Relu:
    problem.epilogue.activation = Activation::Relu;
    break;
  case ActivationKind::Gelu:
    problem.epilogue.activation = Activation::Gelu;
    break;
  case ActivationKind::Silu:
    problem.epilogue.activation = Activation::Silu;
    break;
  }
  return problem;
}
