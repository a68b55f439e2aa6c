//===- EpilogueMatcher.cpp - What can be fused after a product ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise linalg operations after a product are read as one expression over
// their scalars: looking through the operations, so that it does not matter how
// an exporter cut the expression into operations, and through conversions
// between float types.
//
//===----------------------------------------------------------------------===//

#include "EpilogueMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace sparseditto;
using sparsepattern::ActivationKind;

/// Elementwise operations looked at behind one product. Spelled out operation
/// by operation, gelu takes six and silu five.
static constexpr unsigned kMaxOps = 32;

/// True for operations that compute each element of one result from the
/// elements of their inputs at the same place or broadcast to it.
static bool isElementwise(Operation *op) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.hasPureTensorSemantics() &&
         linalgOp->getNumResults() == 1 &&
         linalgOp.getNumParallelLoops() == linalgOp.getNumLoops() &&
         linalgOp.getIndexingMapsArray().back().isIdentity() &&
         !isa<linalg::FillOp, linalg::BroadcastOp, linalg::TransposeOp>(op);
}

static std::optional<double> constantValue(Attribute value) {
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto dense = dyn_cast_or_null<DenseFPElementsAttr>(value);
      dense && dense.isSplat())
    return dense.getSplatValue<FloatAttr>().getValueAsDouble();
  return std::nullopt;
}

static std::optional<double> constantValue(Value value) {
  Attribute attribute;
  if (matchPattern(value, m_Constant(&attribute)))
    return constantValue(attribute);
  return std::nullopt;
}

static Value stripConversions(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The tensor operand behind a block argument of a linalg body.
static OpOperand *operandOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return nullptr;
  auto owner = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
  return owner ? owner.getMatchingOpOperand(argument) : nullptr;
}

/// True if the operand's dimensions are exactly the output features, in order,
/// and dimensions of size 1.
static bool isBiasMap(AffineMap map, RankedTensorType type,
                      ArrayRef<DimRole> roles) {
  SmallVector<int64_t> dims;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && roles[dim.getPosition()] == DimRole::Output)
      dims.push_back(dim.getPosition());
    else if (type.getDimSize(i) != 1)
      return false;
  }
  SmallVector<int64_t> wanted;
  for (auto [i, role] : llvm::enumerate(roles))
    if (role == DimRole::Output)
      wanted.push_back(i);
  return dims == wanted;
}

namespace {

class Matcher {
public:
  Matcher(Value product, ArrayRef<DimRole> roles)
      : product(product), roles(roles) {}

  /// Reads the result of `root` as an epilogue.
  bool match(Operation *root);
  MatchedEpilogue take() { return std::move(result); }

private:
  /// The scalar that `value` stands for: looks through conversions, elementwise
  /// producers and fills. Returns `product` itself for an element of it.
  Value resolve(Value value);
  /// The value of a scalar if it is the same constant everywhere.
  std::optional<double> constant(Value value);
  bool isConstant(Value value, double wanted);

  bool matchResidual(Value value);
  bool matchActivation(Value value);
  bool matchBias(Value value);
  /// The argument of the activation, if `value` is one.
  Value argumentOfRelu(Operation *op);
  Value argumentOfGelu(Operation *op);
  Value argumentOfSilu(Operation *op);
  /// `inner` of `scale * inner` for a constant scale; both factors in any
  /// order.
  Value scaled(Value value, double scale);
  bool isSigmoidDenominator(Value value, Value argument);

  Value product;
  ArrayRef<DimRole> roles;
  MatchedEpilogue result;
};

} // namespace

Value Matcher::resolve(Value value) {
  while (true) {
    if (Operation *op = value.getDefiningOp()) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
        return value;
      value = op->getOperand(0);
      continue;
    }
    OpOperand *operand = operandOf(value);
    if (!operand)
      return value;
    auto owner = cast<linalg::LinalgOp>(operand->getOwner());
    if (owner.isDpsInit(operand))
      return value;
    bool identity = owner.getMatchingIndexingMap(operand).isIdentity();
    if (operand->get() == product)
      return identity ? product : value;
    Operation *producer = operand->get().getDefiningOp();
    if (auto fill = dyn_cast_or_null<linalg::FillOp>(producer)) {
      value = fill.getInputs().front();
      continue;
    }
    if (!identity || !isElementwise(producer) ||
        producer->getBlock() != owner->getBlock())
      return value;
    result.fused.insert(producer);
    value = cast<linalg::LinalgOp>(producer)
                .getBlock()
                ->getTerminator()
                ->getOperand(0);
  }
}

std::optional<double> Matcher::constant(Value value) {
  value = resolve(value);
  if (OpOperand *operand = operandOf(value))
    return constantValue(operand->get());
  return constantValue(value);
}

bool Matcher::isConstant(Value value, double wanted) {
  std::optional<double> got = constant(value);
  // Half precision spells sqrt(1/2) as 0.70703125.
  return got && std::abs(*got - wanted) <= 1e-3 * std::abs(wanted);
}

bool Matcher::matchBias(Value value) {
  value = resolve(value);
  if (value == product)
    return true;
  auto add = value.getDefiningOp<arith::AddFOp>();
  if (!add || result.bias)
    return false;
  for (bool swapped : {false, true}) {
    if (resolve(add->getOperand(swapped)) != product)
      continue;
    // Named at the addition, or behind operations that spread it.
    Value other = add->getOperand(!swapped);
    for (OpOperand *operand :
         {operandOf(stripConversions(other)), operandOf(resolve(other))}) {
      auto type = operand ? dyn_cast<RankedTensorType>(operand->get().getType())
                          : RankedTensorType();
      if (!type || operand->get() == product)
        continue;
      auto owner = cast<linalg::LinalgOp>(operand->getOwner());
      if (isBiasMap(owner.getMatchingIndexingMap(operand), type, roles))
        result.bias = operand->get();
      else
        result.bias = matchBiasInit(operand->get(), roles);
      if (result.bias)
        return true;
    }
  }
  return false;
}

Value Matcher::argumentOfRelu(Operation *op) {
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
    for (bool swapped : {false, true})
      if (isConstant(op->getOperand(swapped), 0))
        return resolve(op->getOperand(!swapped));
    return {};
  }
  auto select = dyn_cast<arith::SelectOp>(op);
  auto compare =
      select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  if (!compare)
    return {};
  Value left = compare.getLhs(), right = compare.getRhs();
  Value whenTrue = select.getTrueValue(), whenFalse = select.getFalseValue();
  using P = arith::CmpFPredicate;
  P predicate = compare.getPredicate();
  bool greater =
      llvm::is_contained({P::OGT, P::UGT, P::OGE, P::UGE}, predicate);
  bool less = llvm::is_contained({P::OLT, P::ULT, P::OLE, P::ULE}, predicate);
  if (!greater && !less)
    return {};
  // Bring it into the form x > 0 ? x : 0.
  if (isConstant(left, 0)) {
    std::swap(left, right);
    std::swap(greater, less);
  }
  if (less)
    std::swap(whenTrue, whenFalse);
  Value argument = resolve(left);
  if (isConstant(right, 0) && isConstant(whenFalse, 0) &&
      resolve(whenTrue) == argument)
    return argument;
  return {};
}

Value Matcher::scaled(Value value, double scale) {
  Operation *op = resolve(value).getDefiningOp();
  if (isa_and_nonnull<arith::MulFOp>(op)) {
    for (bool swapped : {false, true})
      if (isConstant(op->getOperand(swapped), scale))
        return resolve(op->getOperand(!swapped));
  } else if (isa_and_nonnull<arith::DivFOp>(op)) {
    if (isConstant(op->getOperand(1), 1 / scale))
      return resolve(op->getOperand(0));
  }
  return {};
}

Value Matcher::argumentOfGelu(Operation *op) {
  // Factors of a product, with the constant ones multiplied up.
  SmallVector<Value> factors, pending = {op->getResult(0)};
  double scale = 1;
  while (!pending.empty()) {
    Value value = resolve(pending.pop_back_val());
    if (std::optional<double> number = constant(value)) {
      scale *= *number;
    } else if (auto mul = value.getDefiningOp<arith::MulFOp>()) {
      pending.push_back(mul.getRhs());
      pending.push_back(mul.getLhs());
    } else if (auto div = value.getDefiningOp<arith::DivFOp>();
               div && constant(div.getRhs())) {
      scale /= *constant(div.getRhs());
      pending.push_back(div.getLhs());
    } else {
      factors.push_back(value);
    }
  }
  if (factors.size() != 2 || std::abs(scale - 0.5) > 1e-3)
    return {};
  for (bool swapped : {false, true}) {
    Value argument = factors[swapped];
    auto add = factors[!swapped].getDefiningOp<arith::AddFOp>();
    if (!add)
      continue;
    for (bool addSwapped : {false, true}) {
      auto erf =
          resolve(add->getOperand(addSwapped)).getDefiningOp<math::ErfOp>();
      if (erf && isConstant(add->getOperand(!addSwapped), 1) &&
          scaled(erf.getOperand(), std::sqrt(0.5)) == argument)
        return argument;
    }
  }
  return {};
}

/// 1 + exp(-argument)
bool Matcher::isSigmoidDenominator(Value value, Value argument) {
  auto add = resolve(value).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  for (bool swapped : {false, true}) {
    if (!isConstant(add->getOperand(swapped), 1))
      continue;
    auto exp = resolve(add->getOperand(!swapped)).getDefiningOp<math::ExpOp>();
    if (!exp)
      return false;
    Value inner = resolve(exp.getOperand());
    if (auto negate = inner.getDefiningOp<arith::NegFOp>())
      return resolve(negate.getOperand()) == argument;
    if (auto subtract = inner.getDefiningOp<arith::SubFOp>())
      return isConstant(subtract.getLhs(), 0) &&
             resolve(subtract.getRhs()) == argument;
    return scaled(inner, -1) == argument;
  }
  return false;
}

Value Matcher::argumentOfSilu(Operation *op) {
  if (auto div = dyn_cast<arith::DivFOp>(op)) {
    Value argument = resolve(div.getLhs());
    return isSigmoidDenominator(div.getRhs(), argument) ? argument : Value();
  }
  auto mul = dyn_cast<arith::MulFOp>(op);
  if (!mul)
    return {};
  for (bool swapped : {false, true}) {
    Value argument = resolve(mul->getOperand(swapped));
    auto div =
        resolve(mul->getOperand(!swapped)).getDefiningOp<arith::DivFOp>();
    if (div && isConstant(div.getLhs(), 1) &&
        isSigmoidDenominator(div.getRhs(), argument))
      return argument;
  }
  return {};
}

bool Matcher::matchActivation(Value value) {
  if (matchBias(value))
    return true;
  Operation *op = resolve(value).getDefiningOp();
  if (!op)
    return false;
  using Reader = Value (Matcher::*)(Operation *);
  std::pair<ActivationKind, Reader> readers[] = {
      {ActivationKind::Relu, &Matcher::argumentOfRelu},
      {ActivationKind::Gelu, &Matcher::argumentOfGelu},
      {ActivationKind::Silu, &Matcher::argumentOfSilu}};
  for (auto [kind, reader] : readers) {
    Value argument = (this->*reader)(op);
    if (argument && matchBias(argument)) {
      result.activation = kind;
      return true;
    }
  }
  return false;
}

bool Matcher::matchResidual(Value value) {
  if (matchActivation(value))
    return true;
  auto add = resolve(value).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  for (bool swapped : {false, true}) {
    MatchedEpilogue saved = result;
    OpOperand *operand = operandOf(stripConversions(add->getOperand(!swapped)));
    if (operand && operand->get() != product &&
        operand->get().getType() == result.root->getResult(0).getType() &&
        cast<linalg::LinalgOp>(operand->getOwner())
            .getMatchingIndexingMap(operand)
            .isIdentity() &&
        matchActivation(add->getOperand(swapped))) {
      result.residual = operand->get();
      return true;
    }
    result = saved;
  }
  return false;
}

bool Matcher::match(Operation *root) {
  result = {};
  result.root = root;
  result.fused.insert(root);
  auto type = cast<RankedTensorType>(root->getResult(0).getType());
  Type element = type.getElementType();
  if (type.getShape() != cast<RankedTensorType>(product.getType()).getShape() ||
      !(element.isF16() || element.isBF16() || element.isF32()))
    return false;
  Value yielded =
      cast<linalg::LinalgOp>(root).getBlock()->getTerminator()->getOperand(0);
  if (!matchResidual(yielded))
    return false;

  // Resolving tries more than it uses. Keep what depends on the product, and
  // make sure that nothing outside looks at a value that will not exist.
  llvm::SetVector<Operation *> kept;
  SmallVector<Value> pending = {product};
  while (!pending.empty()) {
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (!result.fused.contains(user))
        return false;
      if (kept.insert(user) && user != root)
        pending.push_back(user->getResult(0));
    }
  }
  if (result.residual && kept.contains(result.residual.getDefiningOp()))
    return false;
  result.fused = std::move(kept);
  return true;
}

MatchedEpilogue sparseditto::matchEpilogue(Value product,
                                           ArrayRef<DimRole> roles) {
  Operation *producer = product.getDefiningOp();
  llvm::SetVector<Operation *> reached;
  SmallVector<Value> pending = {product};
  while (!pending.empty() && reached.size() < kMaxOps)
    for (Operation *user : pending.pop_back_val().getUsers())
      if (user->getBlock() == producer->getBlock() && isElementwise(user) &&
          reached.insert(user))
        pending.push_back(user->getResult(0));
  SmallVector<Operation *> roots = reached.takeVector();
  llvm::sort(roots, [](Operation *left, Operation *right) {
    return left->isBeforeInBlock(right);
  });
  for (Operation *root : llvm::reverse(roots)) {
    Matcher matcher(product, roles);
    if (matcher.match(root))
      return matcher.take();
  }
  return {};
}

Value sparseditto::matchBiasInit(Value init, ArrayRef<DimRole> roles) {
  auto op = init.getDefiningOp<linalg::LinalgOp>();
  if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      op.getBlock()->getOperations().size() != 1 ||
      op.getBlock()->getTerminator()->getOperand(0) !=
          op.getBlock()->getArgument(0) ||
      !op.getIndexingMapsArray().back().isIdentity())
    return {};
  Value input = op.getDpsInputs().front();
  auto type = dyn_cast<RankedTensorType>(input.getType());
  if (type && isBiasMap(op.getIndexingMapsArray().front(), type, roles))
    return input;
  return {};
}

bool sparseditto::isZero(Value init) {
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getInputs().front();
  std::optional<double> value = constantValue(init);
  return value && *value == 0;
}
