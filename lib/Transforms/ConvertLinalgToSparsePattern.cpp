//===- ConvertLinalgToSparsePattern.cpp - linalg products to sparsepattern
//-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "EpilogueMatcher.h"
#include "TwoDimensional.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Transforms/Passes.h"
#include "sparseditto/Transforms/Weights.h"
#include "llvm/ADT/STLExtras.h"

namespace sparseditto {
#define GEN_PASS_DEF_CONVERTLINALGTOSPARSEPATTERNPASS
#include "sparseditto/Transforms/Passes.h.inc"
} // namespace sparseditto

using namespace mlir;
using namespace sparseditto;
using sparsepattern::ActivationKind;
using sparsepattern::EncodingAttr;
using sparsepattern::SpmmOp;
using sparsepattern::TokenLayout;

namespace {

/// A weight as M x K with its proved pattern.
struct PreparedWeight {
  ElementsAttr value;
  EncodingAttr encoding;
  std::string reason; ///< The analysis in one sentence.
};

/// Weights in the orientation that a product needs; each is transposed and
/// analysed once however many products use it.
class WeightCache {
public:
  WeightCache(MLIRContext *context, StringRef baseDir)
      : context(context), sources(baseDir) {}
  llvm::Expected<PreparedWeight> get(const Contraction &product);

private:
  llvm::Expected<PreparedWeight> prepare(const Contraction &product);

  MLIRContext *context;
  SourceReader sources;
  struct Entry {
    Attribute key;
    SmallVector<int64_t> rows, cols;
    PreparedWeight weight;
  };
  std::vector<Entry> entries;
};

class ConvertLinalg
    : public sparseditto::impl::ConvertLinalgToSparsePatternPassBase<
          ConvertLinalg> {
public:
  using Base::Base;

  void runOnOperation() override;

private:
  void leave(Operation *op, const Twine &reason);
  LogicalResult convert(const Contraction &product, WeightCache &weights);

  /// Erased at the end: until then, candidates stay valid.
  SmallVector<Operation *> replaced;
};

/// Builds the replacement of one product.
class Rewriter {
public:
  Rewriter(const Contraction &product, const PreparedWeight &weight);
  /// The operation that is not used any more, and how many elementwise ones
  /// went into the product.
  std::pair<Operation *, unsigned> run();

private:
  void takeInit();
  void takeEpilogue();
  void matchBehindReshape();
  Value makeWeight();
  Value makeBias();
  Value activationsInLayout();
  /// The product of activations and residual of matrix shape, into `init`.
  Value multiply(Value activations, Value residual, Value init);
  Value multiplyInLoop(Value activations);

  const Contraction &product;
  const PreparedWeight &weight;
  linalg::LinalgOp op;
  OpBuilder builder;
  Location loc;
  MatchedEpilogue epilogue;
  Value bias, residual, weightValue, biasValue;
  ActivationKind activation = ActivationKind::None;
  RankedTensorType resultType;
  SmallVector<DimRole> roles;      ///< Of the result's dimensions.
  SmallVector<OpFoldResult> sizes; ///< Of the result.
};

} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

llvm::Expected<PreparedWeight>
WeightCache::prepare(const Contraction &product) {
  const WeightSource &source = product.weight;
  llvm::Expected<ConstantTensor> tensor =
      source.value ? readConstant(source.value, source.name)
                   : sources.read(source.file.getValue(), source.type());
  if (!tensor)
    return tensor.takeError();
  llvm::Expected<Matrix> matrix =
      tensor->asMatrix(product.weightRows, product.weightCols);
  if (!matrix)
    return matrix.takeError();
  llvm::Expected<PatternReport> report = analyze(*matrix);
  if (!report)
    return report.takeError();

  PreparedWeight prepared;
  prepared.encoding = toEncoding(context, *report);
  prepared.reason = report->reason;
  bool isResource =
      !source.value || isa<DenseResourceElementsAttr>(source.value);
  bool sameBytes = matrix->data == tensor->data;
  if (sameBytes && source.value && isResource) {
    // Share the resource under its name; only the shape may differ.
    auto type = RankedTensorType::get({matrix->rows, matrix->cols},
                                      source.type().getElementType());
    prepared.value = DenseResourceElementsAttr::get(
        type, cast<DenseResourceElementsAttr>(source.value).getRawHandle());
  } else {
    std::string key = source.name + (sameBytes ? "" : ".transposed");
    prepared.value = toConstant(context, *matrix, isResource, key);
  }
  return prepared;
}

llvm::Expected<PreparedWeight> WeightCache::get(const Contraction &product) {
  Attribute key = product.weight.value ? Attribute(product.weight.value)
                                       : Attribute(product.weight.file);
  for (const Entry &entry : entries)
    if (entry.key == key && entry.rows == product.weightRows &&
        entry.cols == product.weightCols)
      return entry.weight;
  llvm::Expected<PreparedWeight> prepared = prepare(product);
  if (prepared)
    entries.push_back({key, product.weightRows, product.weightCols, *prepared});
  return prepared;
}

//===----------------------------------------------------------------------===//
// Rewriter
//===----------------------------------------------------------------------===//

/// Sizes of a tensor without asking the operation that fills it.
static SmallVector<OpFoldResult> sizesOf(OpBuilder &builder, Location loc,
                                         Value tensor) {
  while (auto destination = tensor.getDefiningOp<DestinationStyleOpInterface>())
    tensor = destination.getTiedOpOperand(cast<OpResult>(tensor))->get();
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes();
  return tensor::getMixedSizes(builder, loc, tensor);
}

/// Dimensions before the first one whose role is not one of the layout's first
/// group: the rows of the matrix form.
static unsigned leadingDims(ArrayRef<DimRole> roles, TokenLayout layout) {
  if (layout == TokenLayout::TokenMajor)
    return llvm::find_if(roles,
                         [](DimRole role) {
                           return role == DimRole::Input ||
                                  role == DimRole::Output;
                         }) -
           roles.begin();
  // Tokens of size 1 in front of or between the features belong to them.
  unsigned last = 0;
  for (auto [i, role] : llvm::enumerate(roles))
    if (role == DimRole::Input || role == DimRole::Output)
      last = i + 1;
  return last;
}

Rewriter::Rewriter(const Contraction &product, const PreparedWeight &weight)
    : product(product), weight(weight), op(product.op), builder(op),
      loc(op->getLoc()), roles(product.outputRoles) {}

void Rewriter::takeInit() {
  Value init = op.getDpsInits().front();
  if (isZero(init))
    return;
  bias = matchBiasInit(init, product.outputRoles);
  if (!bias)
    residual = init;
}

/// Exporters flatten the tokens of a linear layer and restore them before they
/// add the bias: the epilogue of the restored shape.
void Rewriter::matchBehindReshape() {
  Value result = op->getResult(0);
  auto reshape =
      result.hasOneUse()
          ? dyn_cast<tensor::ExpandShapeOp>(*result.getUsers().begin())
          : tensor::ExpandShapeOp();
  if (!reshape || reshape->getBlock() != op->getBlock() ||
      product.loopedDims > 0)
    return;
  SmallVector<DimRole> expanded;
  for (auto [role, group] :
       llvm::zip_equal(roles, reshape.getReassociationIndices()))
    for (int64_t dim : group) {
      bool isUnit = reshape.getResultType().getDimSize(dim) == 1;
      bool isToken = role == DimRole::Token || role == DimRole::UnitToken;
      expanded.push_back(isToken && isUnit ? DimRole::UnitToken
                         : isToken         ? DimRole::Token
                                           : role);
    }
  epilogue = matchEpilogue(reshape.getResult(), expanded);
  if (!epilogue.root || (epilogue.bias && bias)) {
    epilogue = {};
    return;
  }
  roles = expanded;
  sizes = reshape.getMixedOutputShape();
}

void Rewriter::takeEpilogue() {
  resultType = cast<RankedTensorType>(op->getResult(0).getType());
  // A residual is added last, and a second bias has no place.
  if (residual)
    return;
  epilogue = matchEpilogue(op->getResult(0), roles);
  if (!epilogue.root)
    matchBehindReshape();
  if (epilogue.bias && bias)
    epilogue = {};
  if (!epilogue.root)
    return;
  if (epilogue.bias)
    bias = epilogue.bias;
  residual = epilogue.residual;
  activation = epilogue.activation;
  resultType = cast<RankedTensorType>(epilogue.root->getResult(0).getType());
  // Everything that the epilogue reads is there at its end.
  builder.setInsertionPoint(epilogue.root);
  loc = builder.getFusedLoc({loc, epilogue.root->getLoc()});
}

Value Rewriter::makeWeight() {
  Value root = product.weight.root;
  if (root.getDefiningOp<arith::ConstantOp>() &&
      product.weight.value == weight.value)
    return root;
  return arith::ConstantOp::create(builder, loc, weight.value);
}

/// The bias as a vector of f32: at compile time if it is a constant.
Value Rewriter::makeBias() {
  Value vector = toVectorShape(builder, loc, bias);
  auto type = cast<RankedTensorType>(vector.getType());
  if (type.getElementType().isF32())
    return vector;
  auto wide = type.clone(builder.getF32Type());
  if (auto constant = bias.getDefiningOp<arith::ConstantOp>())
    if (auto dense = dyn_cast<DenseFPElementsAttr>(constant.getValue())) {
      auto toFloat = [&](const APFloat &value) {
        APFloat copy = value;
        bool losesInfo;
        copy.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
        return copy.bitcastToAPInt();
      };
      DenseElementsAttr converted =
          dense.reshape(type).mapValues(wide.getElementType(), toFloat);
      return arith::ConstantOp::create(builder, loc, converted);
    }
  bool narrows = type.getElementTypeBitWidth() > 32;
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, vector),
      builder.getF32Type());
  AffineMap identity = builder.getMultiDimIdentityMap(1);
  return linalg::GenericOp::create(
             builder, loc, wide, vector, empty,
             ArrayRef<AffineMap>{identity, identity},
             ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
             [&](OpBuilder &nested, Location at, ValueRange args) {
               Value element =
                   narrows ? arith::TruncFOp::create(
                                 nested, at, nested.getF32Type(), args[0])
                                 .getResult()
                           : arith::ExtFOp::create(nested, at,
                                                   nested.getF32Type(), args[0])
                                 .getResult();
               linalg::YieldOp::create(nested, at, element);
             })
      .getResult(0);
}

Value Rewriter::activationsInLayout() {
  Value activations = product.activations;
  if (product.transpose.empty())
    return activations;
  SmallVector<OpFoldResult> from =
      tensor::getMixedSizes(builder, loc, activations);
  SmallVector<OpFoldResult> to;
  for (int64_t dim : product.transpose)
    to.push_back(from[dim]);
  auto type = cast<RankedTensorType>(activations.getType());
  Value empty =
      tensor::EmptyOp::create(builder, loc, to, type.getElementType());
  return linalg::TransposeOp::create(builder, loc, activations, empty,
                                     product.transpose)
      ->getResult(0);
}

Value Rewriter::multiply(Value activations, Value residualMatrix, Value init) {
  auto spmm = SpmmOp::create(
      builder, loc, init.getType(), ValueRange{weightValue}, activations,
      biasValue, residualMatrix, init, product.layout, activation,
      weight.encoding, /*packing=*/sparsepattern::PackingAttr(),
      /*plan=*/sparsepattern::PlanAttr());
  return spmm.getResult();
}

/// Runs over the outer tokens, one feature-major product each.
Value Rewriter::multiplyInLoop(Value activations) {
  unsigned looped = product.loopedDims;
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> upper;
  for (OpFoldResult size : ArrayRef(sizes).take_front(looped))
    upper.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
  Value all =
      tensor::EmptyOp::create(builder, loc, sizes, resultType.getElementType());

  // The part of `tensor` at one set of outer tokens, of matrix shape.
  auto slice = [&](Value tensor, ArrayRef<DimRole> roles, ValueRange at) {
    SmallVector<OpFoldResult> full = sizesOf(builder, loc, tensor);
    SmallVector<OpFoldResult> offsets(full.size(), builder.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(full.size(), builder.getIndexAttr(1));
    SmallVector<OpFoldResult> inner(full);
    for (unsigned i = 0; i < looped; ++i) {
      offsets[i] = at[i];
      inner[i] = builder.getIndexAttr(1);
    }
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> kept(type.getShape().drop_front(looped));
    Value part = tensor::ExtractSliceOp::create(
        builder, loc, RankedTensorType::get(kept, type.getElementType()),
        tensor, offsets, inner, strides);
    roles = roles.drop_front(looped);
    return std::make_tuple(
        toMatrixShape(builder, loc, part, leadingDims(roles, product.layout)),
        offsets, inner, strides);
  };
  scf::LoopNest nest = scf::buildLoopNest(
      builder, loc, SmallVector<Value>(looped, zero), upper,
      SmallVector<Value>(looped, one), all,
      [&](OpBuilder &nested, Location, ValueRange at,
          ValueRange carried) -> scf::ValueVector {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(nested.saveInsertionPoint());
        Value x = std::get<0>(slice(activations, product.activationRoles, at));
        Value r = residual
                      ? std::get<0>(slice(residual, product.outputRoles, at))
                      : Value();
        auto [init, offsets, inner, strides] =
            slice(carried.front(), product.outputRoles, at);
        Value y = multiply(x, r, init);
        ArrayRef<DimRole> roles =
            ArrayRef(product.outputRoles).drop_front(looped);
        y = fromMatrixShape(builder, loc, y, ArrayRef(sizes).drop_front(looped),
                            leadingDims(roles, product.layout));
        Value inserted = tensor::InsertSliceOp::create(
            builder, loc, y, carried.front(), offsets, inner, strides);
        nested.restoreInsertionPoint(builder.saveInsertionPoint());
        return {inserted};
      });
  return nest.results.front();
}

std::pair<Operation *, unsigned> Rewriter::run() {
  takeInit();
  takeEpilogue();
  Operation *last = epilogue.root ? epilogue.root : op.getOperation();
  if (sizes.empty())
    sizes = sizesOf(builder, loc, op.getDpsInits().front());
  weightValue = makeWeight();
  if (bias)
    biasValue = makeBias();
  Value activations = activationsInLayout();
  Value result;
  if (product.loopedDims > 0) {
    result = multiplyInLoop(activations);
  } else {
    unsigned leading = leadingDims(roles, product.layout);
    Value empty = tensor::EmptyOp::create(builder, loc, sizes,
                                          resultType.getElementType());
    Value init = toMatrixShape(builder, loc, empty, leading);
    Value x =
        toMatrixShape(builder, loc, activations,
                      leadingDims(product.activationRoles, product.layout));
    Value r =
        residual ? toMatrixShape(builder, loc, residual, leading) : Value();
    result = multiply(x, r, init);
    result = fromMatrixShape(builder, loc, result, sizes, leading);
  }
  if (result.getType() != resultType)
    result = tensor::CastOp::create(builder, loc, resultType, result);
  last->getResult(0).replaceAllUsesWith(result);
  return {last, unsigned(epilogue.fused.size())};
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

void ConvertLinalg::leave(Operation *op, const Twine &reason) {
  ++numLeft;
  emitRemark(op->getLoc()) << "weight left dense: " << reason;
}

LogicalResult ConvertLinalg::convert(const Contraction &product,
                                     WeightCache &weights) {
  llvm::Expected<PreparedWeight> weight = weights.get(product);
  if (!weight)
    return product.op->emitError() << llvm::toString(weight.takeError());
  if (weight->encoding.getKind() == sparsepattern::PatternKind::Dense &&
      !convertDense) {
    leave(product.op, weight->reason);
    return success();
  }
  auto [dead, fused] = Rewriter(product, *weight).run();
  replaced.push_back(dead);
  numFused += fused;
  ++numConverted;
  return success();
}

/// Sizes of a result are those of its destination; asking there keeps sizes
/// from tying a product to its old form.
static void askDestinationsForSizes(Operation *root) {
  root->walk([](tensor::DimOp dim) {
    Value source = dim.getSource();
    while (auto op = source.getDefiningOp<linalg::LinalgOp>()) {
      if (!op.hasPureTensorSemantics())
        break;
      source = op.getTiedOpOperand(cast<OpResult>(source))->get();
    }
    dim.getSourceMutable().assign(source);
  });
}

/// Erases the operations of `starts` that nothing uses any more, and then those
/// that only they used.
static void eraseDead(ArrayRef<Operation *> starts) {
  llvm::SetVector<Operation *> pending(starts.begin(), starts.end());
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        pending.insert(producer);
    op->erase();
  }
}

void ConvertLinalg::runOnOperation() {
  Operation *root = getOperation();
  askDestinationsForSizes(root);
  SmallVector<linalg::LinalgOp> candidates;
  root->walk([&](linalg::LinalgOp op) { candidates.push_back(op); });
  WeightCache weights(&getContext(), baseDir);
  replaced.clear();
  for (linalg::LinalgOp op : candidates) {
    std::string reason;
    std::optional<Contraction> product = matchContraction(op, reason);
    if (!product) {
      if (!reason.empty())
        leave(op, reason);
      continue;
    }
    if (failed(convert(*product, weights)))
      return signalPassFailure();
  }
  eraseDead(replaced);
}
