//===- ConvertSparsePatternToLinalg.cpp - sparsepattern to linalg ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Transforms/Passes.h"
#include "sparseditto/Transforms/Strategies.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace sparseditto {
#define GEN_PASS_DEF_CONVERTSPARSEPATTERNTOLINALGPASS
#include "sparseditto/Transforms/Passes.h.inc"
} // namespace sparseditto

using namespace mlir;
using sparsepattern::ActivationKind;
using sparsepattern::SpmmOp;
using sparsepattern::StrategyAttr;
using sparsepattern::TokenLayout;

namespace {

class ConvertToLinalg
    : public sparseditto::impl::ConvertSparsePatternToLinalgPassBase<
          ConvertToLinalg> {
public:
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

static Value constant(OpBuilder &builder, Location loc, double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(float(value)));
}

/// The activation of a scalar f32.
static Value activate(OpBuilder &builder, Location loc, ActivationKind kind,
                      Value x) {
  switch (kind) {
  case ActivationKind::None:
    return x;
  case ActivationKind::Relu:
    return arith::MaximumFOp::create(builder, loc, x,
                                     constant(builder, loc, 0));
  case ActivationKind::Gelu: {
    Value scaled = arith::MulFOp::create(
        builder, loc, x, constant(builder, loc, std::sqrt(0.5)));
    Value erf = math::ErfOp::create(builder, loc, scaled);
    Value sum =
        arith::AddFOp::create(builder, loc, erf, constant(builder, loc, 1));
    Value half =
        arith::MulFOp::create(builder, loc, x, constant(builder, loc, 0.5));
    return arith::MulFOp::create(builder, loc, half, sum);
  }
  case ActivationKind::Silu: {
    Value negated = arith::NegFOp::create(builder, loc, x);
    Value exp = math::ExpOp::create(builder, loc, negated);
    Value sum =
        arith::AddFOp::create(builder, loc, exp, constant(builder, loc, 1));
    return arith::DivFOp::create(builder, loc, x, sum);
  }
  }
  llvm_unreachable("unknown activation");
}

static Value toF32(OpBuilder &builder, Location loc, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
}

static void lower(SpmmOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  bool tokenMajor = op.getLayout() == TokenLayout::TokenMajor;
  Type f32 = builder.getF32Type();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, op.getInit());

  Value empty = tensor::EmptyOp::create(builder, loc, sizes, f32);
  Value zero =
      linalg::FillOp::create(builder, loc, constant(builder, loc, 0), empty)
          .getResult(0);
  // A named operation, which the host's compiler may know a library for. The
  // weight is stored as M x K: the right operand is used transposed.
  Value weight = op.getWeight().front(), activations = op.getActivations();
  auto matmul =
      linalg::MatmulOp::create(builder, loc, zero.getType(),
                               tokenMajor ? ValueRange{activations, weight}
                                          : ValueRange{weight, activations},
                               zero);
  if (tokenMajor) {
    AffineExpr n, m, k;
    bindDims(context, n, m, k);
    matmul.setIndexingMapsAttr(
        builder.getAffineMapArrayAttr({AffineMap::get(3, 0, {n, k}, context),
                                       AffineMap::get(3, 0, {m, k}, context),
                                       AffineMap::get(3, 0, {n, m}, context)}));
  }
  Value product = matmul.getResult(0);
  using utils::IteratorType;

  AffineMap identity = AffineMap::getMultiDimIdentityMap(2, context);
  AffineMap features = AffineMap::get(
      2, 0, getAffineDimExpr(tokenMajor ? 1 : 0, context), context);
  SmallVector<Value> inputs = {product};
  SmallVector<AffineMap> maps = {identity};
  if (Value bias = op.getBias()) {
    inputs.push_back(bias);
    maps.push_back(features);
  }
  if (Value residual = op.getResidual()) {
    inputs.push_back(residual);
    maps.push_back(identity);
  }
  maps.push_back(identity);
  auto resultType = cast<RankedTensorType>(op.getInit().getType());
  Value result = linalg::GenericOp::create(
                     builder, loc, resultType, inputs, op.getInit(), maps,
                     ArrayRef<IteratorType>{IteratorType::parallel,
                                            IteratorType::parallel},
                     [&](OpBuilder &inside, Location at, ValueRange args) {
                       unsigned next = 1;
                       Value y = args[0];
                       if (op.getBias())
                         y = arith::AddFOp::create(inside, at, y, args[next++]);
                       y = activate(inside, at, op.getActivation(), y);
                       if (op.getResidual())
                         y = arith::AddFOp::create(
                             inside, at, y, toF32(inside, at, args[next]));
                       Type type = resultType.getElementType();
                       if (!type.isF32())
                         y = arith::TruncFOp::create(inside, at, type, y);
                       linalg::YieldOp::create(inside, at, y);
                     })
                     .getResult(0);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

void ConvertToLinalg::runOnOperation() {
  SmallVector<SpmmOp> products;
  getOperation()->walk([&](SpmmOp op) {
    auto isFloat = [](Type type) {
      return type.isF16() || type.isBF16() || type.isF32();
    };
    bool hasKernel =
        op.getPlanAttr() &&
        llvm::any_of(op.getPlanAttr().getStrategies(), [](StrategyAttr s) {
          return s.getFamily() != sparseditto::libraryStrategy;
        });
    if (op.hasPureTensorSemantics() && !op.isPacked() && (all || !hasKernel) &&
        isFloat(getElementTypeOrSelf(op.getActivations())) &&
        isFloat(getElementTypeOrSelf(op.getInit())))
      products.push_back(op);
  });
  for (SpmmOp op : products)
    lower(op);
}
