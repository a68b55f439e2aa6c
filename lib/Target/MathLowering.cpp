//===- MathLowering.cpp - math functions without libdevice ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel must not need a CUDA toolkit to be built, so libdevice is out. The
// exponential is one ex2 and a correction; tanh, erf and the logarithms are the
// rational approximations of MLIR (a few units in the last place of f32). The
// same IR runs in the emulator.
//
//===----------------------------------------------------------------------===//

#include "MathLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace {
/// exp(x) = 2^t * (1 + r * ln 2), t = x * log2(e) rounded and r its rounding
/// error: without r the error grows with |x| to tens of units in the last
/// place.
struct ExpToExp2 : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    Location loc = op.getLoc();
    auto constant = [&](double value) -> Value {
      TypedAttr attr = rewriter.getF32FloatAttr(float(value));
      if (auto shaped = dyn_cast<ShapedType>(type))
        attr = DenseElementsAttr::get(shaped, Attribute(attr));
      return arith::ConstantOp::create(rewriter, loc, attr);
    };
    // log2(e) as the sum of two floats.
    constexpr double log2e = 1.4426950408889634074;
    constexpr float high = float(log2e);
    Value x = op.getOperand();
    Value hi = constant(high);
    Value t = arith::MulFOp::create(rewriter, loc, x, hi);
    Value error = math::FmaOp::create(rewriter, loc, x, hi,
                                      arith::NegFOp::create(rewriter, loc, t));
    Value r = math::FmaOp::create(rewriter, loc, x,
                                  constant(log2e - double(high)), error);
    Value power = math::Exp2Op::create(rewriter, loc, t);
    Value correction = arith::MulFOp::create(
        rewriter, loc, power,
        arith::MulFOp::create(rewriter, loc, r,
                              constant(0.6931471805599453094)));
    Value sum = arith::AddFOp::create(rewriter, loc, power, correction);
    // At the ends r is NaN (Inf - Inf) or multiplies an infinite power; there
    // the power alone is exact.
    Value limit = constant(88.0);
    Value inside =
        arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OLT,
                              math::AbsFOp::create(rewriter, loc, x), limit);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, inside, sum, power);
    return success();
  }
};

/// 1 / sqrt(x): NVPTX selects sqrt.rn and a correctly rounded division.
struct RsqrtToSqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    Type element = getElementTypeOrSelf(type);
    TypedAttr one = rewriter.getFloatAttr(element, 1.0);
    if (auto shaped = dyn_cast<ShapedType>(type))
      one = DenseElementsAttr::get(shaped, Attribute(one));
    Value root = math::SqrtOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOpWithNewOp<arith::DivFOp>(
        op, arith::ConstantOp::create(rewriter, op.getLoc(), one), root);
    return success();
  }
};
} // namespace

/// Functions that have a polynomial or rational approximation in MLIR.
static bool isApproximated(StringRef name) {
  return llvm::is_contained<StringRef>({"math.tanh", "math.erf", "math.erfc",
                                        "math.log", "math.log2", "math.log1p",
                                        "math.expm1", "math.sin", "math.cos",
                                        "math.atan", "math.acos", "math.asin"},
                                       name);
}

/// Those, and the ones rewritten above, are computed in f32.
static bool isComputedInF32(StringRef name) {
  return isApproximated(name) || name == "math.exp" || name == "math.exp2" ||
         name == "math.rsqrt" || name == "math.sqrt";
}

void sparseditto::populateMathWithoutLibdevicePatterns(
    RewritePatternSet &patterns) {
  populateMathF32ExpansionPatterns(patterns, isComputedInF32);
  populateMathPolynomialApproximationPatterns(patterns, isApproximated);
  patterns.add<ExpToExp2, RsqrtToSqrt>(patterns.getContext());
}
