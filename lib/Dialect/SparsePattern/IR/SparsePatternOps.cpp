//===- SparsePatternOps.cpp - Operations of sparsepattern -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "PlanSyntax.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "sparseditto/Support/Printable.h"

using namespace mlir;
using namespace mlir::sparsepattern;
using sparseditto::printable;

//===----------------------------------------------------------------------===//
// Custom syntax
//===----------------------------------------------------------------------===//

/// `(` word `)` where `symbolize` knows the words.
template <typename Enum>
static ParseResult
parseParenthesizedWord(OpAsmParser &parser, StringRef wanted,
                       std::optional<Enum> (*symbolize)(StringRef),
                       Enum &value) {
  StringRef word;
  if (parser.parseLParen())
    return failure();
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Enum> parsed = symbolize(word);
  if (!parsed)
    return parser.emitError(location, "expected ")
           << wanted << ", got '" << word << "'";
  value = *parsed;
  return parser.parseRParen();
}

static ParseResult parseLayout(OpAsmParser &parser, TokenLayoutAttr &layout) {
  TokenLayout value = TokenLayout::TokenMajor;
  if (parseParenthesizedWord(parser, "token_major or feature_major",
                             symbolizeTokenLayout, value))
    return failure();
  layout = TokenLayoutAttr::get(parser.getContext(), value);
  return success();
}

static void printLayout(OpAsmPrinter &printer, Operation *,
                        TokenLayoutAttr layout) {
  printer << "(" << stringifyTokenLayout(layout.getValue()) << ")";
}

static ParseResult parseActivation(OpAsmParser &parser,
                                   ActivationKindAttr &activation) {
  ActivationKind value = ActivationKind::None;
  if (parseParenthesizedWord(parser, "none, relu, gelu or silu",
                             symbolizeActivationKind, value))
    return failure();
  activation = ActivationKindAttr::get(parser.getContext(), value);
  return success();
}

static void printActivation(OpAsmPrinter &printer, Operation *,
                            ActivationKindAttr activation) {
  printer << "(" << stringifyActivationKind(activation.getValue()) << ")";
}

static ParseResult parsePlan(OpAsmParser &parser, PlanAttr &plan) {
  Attribute parsed = sparsepattern::detail::parsePlanBody(parser);
  plan = cast_or_null<PlanAttr>(parsed);
  return success(plan != nullptr);
}

static void printPlan(OpAsmPrinter &printer, Operation *, PlanAttr plan) {
  sparsepattern::detail::printPlanBody(printer, plan, "");
}

#define GET_OP_CLASSES
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.cpp.inc"

//===----------------------------------------------------------------------===//
// SpmmOp
//===----------------------------------------------------------------------===//

int64_t SpmmOp::getM() {
  if (std::optional<PackingAttr> packing = getPacking())
    return packing->getRows();
  return cast<ShapedType>(getWeight().front().getType()).getDimSize(0);
}

int64_t SpmmOp::getK() {
  if (std::optional<PackingAttr> packing = getPacking())
    return packing->getCols();
  return cast<ShapedType>(getWeight().front().getType()).getDimSize(1);
}

/// The encoding of a weight's type, if it is one of ours.
static EncodingAttr getTypeEncoding(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<EncodingAttr>(tensor.getEncoding())
                : EncodingAttr();
}

EncodingAttr SpmmOp::getKnownPattern() {
  if (EncodingAttr pattern = getPatternAttr())
    return pattern;
  return isPacked() ? EncodingAttr()
                    : getTypeEncoding(getWeight().front().getType());
}

/// C26 and C27: shape of `type` against wanted, dynamic dimensions matching
/// anything.
static LogicalResult verifyShape(Operation *op, StringRef what, ShapedType type,
                                 ArrayRef<int64_t> wanted, StringRef code) {
  bool ok = type.getRank() == int64_t(wanted.size());
  for (auto [got, want] : llvm::zip(type.getShape(), wanted))
    ok &= ShapedType::isDynamic(got) || ShapedType::isDynamic(want) ||
          got == want;
  if (ok)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError();
  diagnostic << what << " must be ";
  llvm::interleave(
      wanted,
      [&](int64_t size) {
        if (ShapedType::isDynamic(size))
          diagnostic << "?";
        else
          diagnostic << size;
      },
      [&] { diagnostic << "x"; });
  return diagnostic << ", got " << Type(type) << " (" << code << ")";
}

LogicalResult SpmmOp::verify() {
  auto activations = cast<ShapedType>(getActivations().getType());
  auto init = cast<ShapedType>(getInit().getType());
  bool onTensors = isa<TensorType>(getInit().getType());
  for (Value operand : getOperands())
    if (isa<TensorType>(operand.getType()) != onTensors)
      return emitOpError()
             << "operands must be all tensors or all memrefs, got "
             << operand.getType() << " beside " << Type(init) << " (C20)";
  if (onTensors != bool(getResult()))
    return emitOpError() << "must have "
                         << (onTensors ? "one result on tensors"
                                       : "no result on memrefs")
                         << " (C20)";

  // The weight: one static matrix, or the buffers of the packing.
  Type elementType;
  if (PackingAttr packing = getPackingAttr()) {
    if (getWeight().size() != packing.getBuffers().size())
      return emitOpError() << "packing has " << packing.getBuffers().size()
                           << " buffers, got " << getWeight().size()
                           << " weight operands (C21)";
    elementType = packing.getType();
  } else {
    if (getWeight().size() != 1)
      return emitOpError() << "needs one weight operand unless it is packed, "
                              "got "
                           << getWeight().size() << " (C21)";
    auto weight = cast<ShapedType>(getWeight().front().getType());
    if (weight.getRank() != 2 || !weight.hasStaticShape() ||
        weight.getNumElements() == 0)
      return emitOpError()
             << "weight must be a static, non-empty M x K matrix, got "
             << Type(weight) << " (C22)";
    elementType = weight.getElementType();
    EncodingAttr fromType = getTypeEncoding(Type(weight));
    if (fromType && getPatternAttr() && fromType != getPatternAttr())
      return emitOpError() << "pattern " << getPatternAttr()
                           << " contradicts the encoding of the weight, "
                           << fromType << " (C23)";
  }
  int64_t m = getM(), k = getK();
  if (EncodingAttr pattern = getPatternAttr())
    if (failed(pattern.verifyEncoding({m, k}, elementType, [&] {
          return emitOpError() << "pattern does not fit the weight: ";
        })))
      return failure();

  if (activations.getElementType() != elementType)
    return emitOpError() << "activations must have the weight's element type "
                         << elementType << ", got "
                         << activations.getElementType() << " (C24)";
  bool floating = isa<FloatType>(elementType);
  if (!isa<FloatType>(init.getElementType()) &&
      !(init.getElementType().isSignlessInteger(32) && !floating))
    return emitOpError() << "outs must have float elements, or i32 for an "
                            "integer weight, got "
                         << init.getElementType() << " (C25)";

  // Shapes by layout; N is whatever activations, outs and residual agree on.
  auto dims = [&](int64_t tokens, int64_t features) {
    return getTokenDim() == 0 ? std::array<int64_t, 2>{tokens, features}
                              : std::array<int64_t, 2>{features, tokens};
  };
  if (failed(verifyShape(*this, "activations", activations,
                         dims(ShapedType::kDynamic, k), "C26")))
    return failure();
  int64_t tokens = activations.getDimSize(getTokenDim());
  if (failed(verifyShape(*this, "outs", init, dims(tokens, m), "C27")))
    return failure();
  if (Value bias = getBias()) {
    auto type = cast<ShapedType>(bias.getType());
    if (failed(verifyShape(*this, "bias", type, {m}, "C28")))
      return failure();
    if (!type.getElementType().isF32())
      return emitOpError() << "bias must have f32 elements, got "
                           << type.getElementType() << " (C28)";
  }
  if (Value residual = getResidual()) {
    auto type = cast<ShapedType>(residual.getType());
    if (ShapedType::isDynamic(tokens))
      tokens = init.getDimSize(getTokenDim());
    if (failed(verifyShape(*this, "residual", type, dims(tokens, m), "C29")))
      return failure();
    if (type.getElementType() != init.getElementType())
      return emitOpError() << "residual must have the element type of outs, "
                           << init.getElementType() << ", got "
                           << type.getElementType() << " (C29)";
  }

  if (getPackingAttr() && getPlanAttr())
    for (StrategyAttr strategy : getPlanAttr().getStrategies())
      if (strategy.getFamily() != getPackingAttr().getStrategy().getFamily())
        return emitOpError()
               << "plan uses family '" << printable(strategy.getFamily())
               << "' but the weight is packed for '"
               << printable(getPackingAttr().getStrategy().getFamily())
               << "' (C30)";
  return success();
}

void SpmmOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, /*stage=*/1,
                           /*effectOnFullRegion=*/true,
                           SideEffects::DefaultResource::get());
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand, /*stage=*/0,
                           /*effectOnFullRegion=*/true,
                           SideEffects::DefaultResource::get());
  }
}

Speculation::Speculatability SpmmOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::Speculatable
                                  : Speculation::NotSpeculatable;
}

LogicalResult SpmmOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &reified) {
  if (getResult())
    reified.push_back(tensor::getMixedSizes(builder, getLoc(), getInit()));
  return success();
}

//===----------------------------------------------------------------------===//
// PackOp, UnpackOp
//===----------------------------------------------------------------------===//

/// C31: the weight and the buffers are those of the packing.
static LogicalResult verifyPacked(Operation *op, PackingAttr packing,
                                  RankedTensorType weight, TypeRange buffers) {
  if (weight.getElementType() != packing.getType() || weight.getRank() != 2 ||
      weight.getDimSize(0) != packing.getRows() ||
      weight.getDimSize(1) != packing.getCols())
    return op->emitOpError()
           << "weight must be " << packing.getRows() << "x" << packing.getCols()
           << "x" << packing.getType() << " as the packing says, got " << weight
           << " (C31)";
  if (buffers.size() != packing.getBuffers().size())
    return op->emitOpError() << "packing has " << packing.getBuffers().size()
                             << " buffers, got " << buffers.size() << " (C31)";
  for (Type buffer : buffers)
    if (!cast<RankedTensorType>(buffer).hasStaticShape())
      return op->emitOpError() << "packed buffers must have static shapes, got "
                               << buffer << " (C31)";
  return success();
}

LogicalResult PackOp::verify() {
  return verifyPacked(*this, getPacking(),
                      cast<RankedTensorType>(getWeight().getType()),
                      getBuffers().getTypes());
}

LogicalResult UnpackOp::verify() {
  return verifyPacked(*this, getPacking(),
                      cast<RankedTensorType>(getWeight().getType()),
                      getBuffers().getTypes());
}

OpFoldResult UnpackOp::fold(FoldAdaptor) {
  auto pack = getBuffers().front().getDefiningOp<PackOp>();
  if (pack && pack.getPacking() == getPacking() &&
      llvm::equal(pack.getBuffers(), getBuffers()) &&
      pack.getWeight().getType() == getWeight().getType())
    return pack.getWeight();
  return {};
}
