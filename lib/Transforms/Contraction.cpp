//===- Contraction.cpp - Products of a weight with activations ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sparseditto;
using sparsepattern::SparsePatternDialect;
using sparsepattern::TokenLayout;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The roots themselves.
static std::optional<WeightSource> asRoot(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 2)
    return std::nullopt;
  WeightSource source;
  source.root = value;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (!function || !argument.getOwner()->isEntryBlock())
      return std::nullopt;
    source.file = function.getArgAttrOfType<StringAttr>(
        argument.getArgNumber(), SparsePatternDialect::kSourceAttrName);
    if (!source.file)
      return std::nullopt;
    StringRef name = source.file.getValue().split('#').second;
    source.name = (name.empty() ? source.file.getValue() : name).str();
    return source;
  }
  Operation *op = value.getDefiningOp();
  Attribute constant;
  if (auto arith = dyn_cast<arith::ConstantOp>(op)) {
    constant = arith.getValue();
    source.annotated = op;
    source.name = "weight";
    if (auto name = dyn_cast<NameLoc>(op->getLoc()))
      source.name = name.getName().str();
  } else {
    SymbolRefAttr symbol;
    if (auto load = dyn_cast<ml_program::GlobalLoadConstOp>(op))
      symbol = load.getGlobal();
    else if (auto load = dyn_cast<ml_program::GlobalLoadOp>(op))
      symbol = load.getGlobal();
    if (!symbol)
      return std::nullopt;
    auto global =
        SymbolTable::lookupNearestSymbolFrom<ml_program::GlobalOp>(op, symbol);
    if (!global || global.getIsMutable() || !global.getValueAttr() ||
        global.getType() != type)
      return std::nullopt;
    constant = global.getValueAttr();
    source.annotated = global;
    source.name = global.getSymName().str();
  }
  source.value = dyn_cast_or_null<ElementsAttr>(constant);
  if (!source.value)
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(source.value);
      dense && dense.isSplat())
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(source.value))
    source.name = resource.getRawHandle().getKey().str();
  return source;
}

/// A generic that only moves elements: input and output maps, or none.
static bool isDataMovement(linalg::GenericOp generic) {
  return generic.getNumDpsInputs() == 1 && generic.getNumDpsInits() == 1 &&
         generic.getNumParallelLoops() == generic.getNumLoops() &&
         generic.getBody()->getOperations().size() == 1 &&
         generic.getBody()->getTerminator()->getOperand(0) ==
             generic.getBody()->getArgument(0) &&
         generic.getIndexingMapsArray()[1].isPermutation() &&
         generic.getIndexingMapsArray()[0].isProjectedPermutation(
             /*allowZeroInResults=*/true);
}

/// Loops of the dimensions on the other side of a reshape that only adds or
/// drops dimensions of size 1. `groups` maps each dimension of the collapsed
/// type to those of the expanded one.
static bool throughUnitReshape(ArrayRef<ReassociationIndices> groups,
                               RankedTensorType expanded, bool toExpanded,
                               ArrayRef<int64_t> loops,
                               SmallVectorImpl<int64_t> &result) {
  result.assign(toExpanded ? expanded.getRank() : groups.size(), -1);
  for (auto [collapsed, group] : llvm::enumerate(groups)) {
    int64_t wide = -1;
    for (int64_t dim : group) {
      if (expanded.getDimSize(dim) == 1)
        continue;
      if (wide >= 0)
        return false;
      wide = dim;
    }
    if (wide < 0)
      continue;
    if (toExpanded)
      result[wide] = loops[collapsed];
    else
      result[collapsed] = loops[wide];
  }
  return true;
}

std::optional<WeightSource>
sparseditto::findWeight(Value value, ArrayRef<int64_t> loops,
                        SmallVectorImpl<int64_t> &rootLoops) {
  SmallVector<int64_t> current(loops), next;
  while (true) {
    if (std::optional<WeightSource> root = asRoot(value)) {
      rootLoops.assign(current.begin(), current.end());
      return root;
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
      next.assign(current.size(), -1);
      for (auto [i, from] : llvm::enumerate(transpose.getPermutation()))
        next[from] = current[i];
      value = transpose.getInput();
    } else if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op)) {
      next.clear();
      for (auto [i, loop] : llvm::enumerate(current))
        if (!llvm::is_contained(broadcast.getDimensions(), int64_t(i)))
          next.push_back(loop);
      value = broadcast.getInput();
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op);
               generic && isDataMovement(generic)) {
      AffineMap input = generic.getIndexingMapsArray()[0];
      AffineMap output = generic.getIndexingMapsArray()[1];
      next.clear();
      for (AffineExpr expr : input.getResults()) {
        std::optional<unsigned> position = output.getResultPosition(expr);
        next.push_back(position ? current[*position] : -1);
      }
      value = generic.getDpsInputs().front();
    } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
      next = current;
      value = cast.getSource();
    } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
      if (!throughUnitReshape(collapse.getReassociationIndices(),
                              collapse.getSrcType(), /*toExpanded=*/true,
                              current, next))
        return std::nullopt;
      value = collapse.getSrc();
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      if (!throughUnitReshape(expand.getReassociationIndices(),
                              expand.getResultType(), /*toExpanded=*/false,
                              current, next))
        return std::nullopt;
      value = expand.getSrc();
    } else {
      return std::nullopt;
    }
    std::swap(current, next);
  }
}

/// The operation that hides a weight from findWeight(), if there is one a few
/// steps up.
static Operation *findHiddenWeight(Value value) {
  for (unsigned step = 0; step < 4; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumOperands() == 0)
      return nullptr;
    value = op->getOperand(0);
    SmallVector<int64_t> ignored;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type &&
        findWeight(value, SmallVector<int64_t>(type.getRank(), -1), ignored))
      return op;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// True if the body multiplies its two inputs and adds to the output, with
/// nothing but widening in between.
static bool isMultiplyAdd(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  for (Operation &inner : *body)
    if (!isa<arith::MulFOp, arith::AddFOp, arith::MulIOp, arith::AddIOp,
             arith::ExtFOp, arith::ExtSIOp, linalg::YieldOp>(inner))
      return false;
  auto strip = [](Value value) {
    while (auto *op = value.getDefiningOp()) {
      if (!isa<arith::ExtFOp, arith::ExtSIOp>(op))
        break;
      value = op->getOperand(0);
    }
    return value;
  };
  Operation *add = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add))
    return false;
  for (bool swapped : {false, true}) {
    Value accumulator = add->getOperand(swapped),
          term = add->getOperand(!swapped);
    Operation *mul = term.getDefiningOp();
    if (accumulator != body->getArgument(2) ||
        !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(mul))
      continue;
    Value left = strip(mul->getOperand(0)), right = strip(mul->getOperand(1));
    Value first = body->getArgument(0), second = body->getArgument(1);
    if ((left == first && right == second) ||
        (left == second && right == first))
      return true;
  }
  return false;
}

/// Loop of each result of a map; -1 for constant zero; none for anything else.
static std::optional<SmallVector<int64_t>> loopsOf(AffineMap map) {
  SmallVector<int64_t> loops;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops.push_back(dim.getPosition());
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr);
             constant && constant.getValue() == 0)
      loops.push_back(-1);
    else
      return std::nullopt;
  }
  return loops;
}

/// Roles without the tokens that may stand anywhere.
static SmallVector<DimRole> significant(ArrayRef<DimRole> roles) {
  return llvm::to_vector(llvm::make_filter_range(
      roles, [](DimRole role) { return role != DimRole::UnitToken; }));
}

/// True if the significant roles are some of `first`, then some of `second`.
static bool inOrder(ArrayRef<DimRole> roles, DimRole first, DimRole second) {
  SmallVector<DimRole> kept = significant(roles);
  auto *middle = llvm::find_if(kept, [&](DimRole r) { return r != first; });
  return std::all_of(middle, kept.end(),
                     [&](DimRole r) { return r == second; });
}

namespace {

/// One attempt to read an operation as a product.
class Matcher {
public:
  Matcher(linalg::LinalgOp op, std::string &reason) : op(op), reason(reason) {}

  std::optional<Contraction> match();

private:
  std::nullopt_t refuse(const Twine &why) {
    reason = why.str();
    return std::nullopt;
  }
  bool findOperands();
  std::optional<Contraction> classify();
  std::optional<Contraction> chooseLayout();
  DimRole roleOf(int64_t loop) const;

  linalg::LinalgOp op;
  std::string &reason;
  Contraction result;
  SmallVector<int64_t> extents;
  SmallVector<int64_t> weightLoops, activationLoops, outputLoops;
};

} // namespace

bool Matcher::findOperands() {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  extents = op.getStaticLoopRanges();
  // A reduction over one element adds nothing: the kernel of a 1x1 convolution
  // vanishes from the map of its image.
  SmallVector<AffineExpr> substitution;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    bool vanishes =
        extents[loop] == 1 && iterators[loop] == utils::IteratorType::reduction;
    substitution.push_back(vanishes ? getAffineConstantExpr(0, op.getContext())
                                    : getAffineDimExpr(loop, op.getContext()));
  }
  for (AffineMap &map : maps)
    map = map.replaceDimsAndSymbols(substitution, {}, op.getNumLoops(), 0);

  for (unsigned position : {1u, 0u}) {
    std::optional<SmallVector<int64_t>> loops = loopsOf(maps[position]);
    if (!loops)
      continue;
    std::optional<WeightSource> weight =
        findWeight(op.getDpsInputs()[position], *loops, weightLoops);
    if (!weight)
      continue;
    result.weight = *weight;
    result.activations = op.getDpsInputs()[1 - position];
    std::optional<SmallVector<int64_t>> others = loopsOf(maps[1 - position]);
    std::optional<SmallVector<int64_t>> outputs = loopsOf(maps[2]);
    if (!others || !outputs) {
      reason = isa<linalg::ConvolutionOpInterface>(op.getOperation())
                   ? "the convolution has a kernel larger than 1x1 or a stride"
                   : "its indexing maps are not permutations of the loops";
      return false;
    }
    activationLoops = *others;
    outputLoops = *outputs;
    return true;
  }
  for (unsigned position : {1u, 0u})
    if (Operation *hider = findHiddenWeight(op.getDpsInputs()[position]))
      reason = ("the weight reaches it through '" +
                hider->getName().getStringRef() + "'")
                   .str();
  return false;
}

DimRole Matcher::roleOf(int64_t loop) const {
  if (loop < 0)
    return DimRole::UnitToken;
  bool inWeight = llvm::is_contained(weightLoops, loop);
  bool inActivations = llvm::is_contained(activationLoops, loop);
  bool inOutput = llvm::is_contained(outputLoops, loop);
  if (inWeight && !inOutput)
    return DimRole::Input;
  if (inWeight && !inActivations)
    return DimRole::Output;
  return extents[loop] == 1 ? DimRole::UnitToken : DimRole::Token;
}

std::optional<Contraction> Matcher::classify() {
  auto contains = [](ArrayRef<int64_t> loops, int64_t loop) {
    return llvm::is_contained(loops, loop);
  };
  for (int64_t loop = 0; loop < int64_t(op.getNumLoops()); ++loop) {
    bool inWeight = contains(weightLoops, loop);
    bool inActivations = contains(activationLoops, loop);
    bool inOutput = contains(outputLoops, loop);
    int uses = inWeight + inActivations + inOutput;
    if (extents[loop] == 1 && uses != 2) {
      // Of size 1 in the weight: a dimension of the weight that does not count.
      for (int64_t &weightLoop : weightLoops)
        if (weightLoop == loop)
          weightLoop = -1;
      continue;
    }
    if (uses == 3)
      return refuse("each element of the batch has a weight of its own");
    if (uses != 2)
      return refuse("a loop runs over one operand only");
  }
  for (ArrayRef<int64_t> loops :
       {ArrayRef<int64_t>(weightLoops), ArrayRef<int64_t>(activationLoops),
        ArrayRef<int64_t>(outputLoops)})
    for (auto [i, loop] : llvm::enumerate(loops))
      if (loop >= 0 && llvm::is_contained(loops.drop_front(i + 1), loop))
        return refuse("an operand uses the same loop twice");
  for (int64_t loop : activationLoops)
    result.activationRoles.push_back(roleOf(loop));
  for (int64_t loop : outputLoops)
    result.outputRoles.push_back(roleOf(loop));

  // M in the order of the output and K in the order of the activations.
  auto collect = [&](ArrayRef<int64_t> loops, DimRole role,
                     SmallVectorImpl<int64_t> &dims) {
    for (int64_t loop : loops)
      if (loop >= 0 && roleOf(loop) == role)
        dims.push_back(llvm::find(weightLoops, loop) - weightLoops.begin());
  };
  collect(outputLoops, DimRole::Output, result.weightRows);
  collect(activationLoops, DimRole::Input, result.weightCols);
  if (result.weightRows.empty() || result.weightCols.empty())
    return refuse("the weight has one row or one column");
  return chooseLayout();
}

std::optional<Contraction> Matcher::chooseLayout() {
  // Tokens in the order of the output; the same order is needed of X.
  auto tokens = [&](ArrayRef<int64_t> loops) {
    return llvm::to_vector(llvm::make_filter_range(
        loops, [&](int64_t loop) { return roleOf(loop) == DimRole::Token; }));
  };
  bool sameOrder = tokens(activationLoops) == tokens(outputLoops);
  ArrayRef<DimRole> x = result.activationRoles, y = result.outputRoles;
  if (sameOrder && inOrder(x, DimRole::Token, DimRole::Input) &&
      inOrder(y, DimRole::Token, DimRole::Output)) {
    result.layout = TokenLayout::TokenMajor;
    return result;
  }
  result.layout = TokenLayout::FeatureMajor;
  if (sameOrder && inOrder(x, DimRole::Input, DimRole::Token) &&
      inOrder(y, DimRole::Output, DimRole::Token))
    return result;

  // Tokens on both sides of the features: a loop over the outer ones.
  unsigned outer = llvm::find(y, DimRole::Output) - y.begin();
  bool canLoop =
      sameOrder && outer < x.size() && x[outer] == DimRole::Input &&
      inOrder(x.drop_front(outer), DimRole::Input, DimRole::Token) &&
      inOrder(y.drop_front(outer), DimRole::Output, DimRole::Token) &&
      llvm::none_of(
          x.take_front(outer),
          [](DimRole role) { return role == DimRole::Input; });
  // A loop dimension must be the same one on both sides.
  canLoop = canLoop && ArrayRef(activationLoops).take_front(outer) ==
                           ArrayRef(outputLoops).take_front(outer);
  if (canLoop) {
    result.loopedDims = outer;
    return result;
  }

  // Otherwise bring the activations into the layout of the output.
  SmallVector<int64_t> order;
  auto append = [&](auto &&wanted) {
    for (int64_t loop : outputLoops)
      for (auto [dim, xLoop] : llvm::enumerate(activationLoops))
        if (loop >= 0 && xLoop == loop && wanted(roleOf(loop)))
          order.push_back(dim);
  };
  auto appendInputs = [&] {
    for (auto [dim, role] : llvm::enumerate(x))
      if (role == DimRole::Input)
        order.push_back(dim);
  };
  auto isToken = [](DimRole role) {
    return role == DimRole::Token || role == DimRole::UnitToken;
  };
  if (inOrder(y, DimRole::Token, DimRole::Output)) {
    result.layout = TokenLayout::TokenMajor;
    append(isToken);
    appendInputs();
  } else if (inOrder(y, DimRole::Output, DimRole::Token)) {
    appendInputs();
    append(isToken);
  } else {
    return refuse("output features lie between tokens in the output");
  }
  if (order.size() != x.size())
    return refuse("the activations have a dimension that the output lacks");
  result.transpose = order;
  SmallVector<DimRole> roles;
  for (int64_t dim : order)
    roles.push_back(x[dim]);
  result.activationRoles = roles;
  return result;
}

std::optional<Contraction> Matcher::match() {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      !op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0 ||
      op->getNumResults() != 1)
    return std::nullopt;
  if (!isMultiplyAdd(op)) {
    // Only an operation that says it is a product deserves a remark.
    if (linalg::isaContractionOpInterface(op) && findOperands())
      return refuse("its body does more than multiply and add");
    reason.clear();
    return std::nullopt;
  }
  if (!findOperands())
    return std::nullopt;
  auto xType = cast<RankedTensorType>(result.activations.getType());
  Type weightElement = result.weight.type().getElementType();
  Type outElement =
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (xType.getElementType() != weightElement)
    return refuse("weight and activations have different element types");
  auto isSupported = [](Type type) {
    return type.isF16() || type.isBF16() || type.isF32();
  };
  if (!isSupported(weightElement) || !isSupported(outElement))
    return refuse("the element type is not f16, bf16 or f32");
  result.op = op;
  return classify();
}

std::optional<Contraction> sparseditto::matchContraction(linalg::LinalgOp op,
                                                         std::string &reason) {
  reason.clear();
  return Matcher(op, reason).match();
}
