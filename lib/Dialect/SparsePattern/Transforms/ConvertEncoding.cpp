//===- ConvertEncoding.cpp - To and from sparse_tensor --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Dialect/SparsePattern/Transforms/Encodings.h"
#include "sparseditto/Dialect/SparsePattern/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::sparsepattern {
#define GEN_PASS_DEF_SPARSEPATTERNCONVERTENCODINGPASS
#include "sparseditto/Dialect/SparsePattern/Transforms/Passes.h.inc"
} // namespace mlir::sparsepattern

using namespace mlir;
using namespace mlir::sparsepattern;
using sparse_tensor::LevelFormat;
using sparse_tensor::LevelType;
using sparse_tensor::SparseTensorEncodingAttr;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static LevelType level(LevelFormat format, int64_t n = 0, int64_t m = 0) {
  return *sparse_tensor::buildLevelType(format, /*ordered=*/true,
                                        /*unique=*/true, n, m);
}

SparseTensorEncodingAttr
sparsepattern::toSparseTensorEncoding(EncodingAttr encoding,
                                      std::string &reason) {
  MLIRContext *context = encoding.getContext();
  LevelType dense = level(LevelFormat::Dense);
  LevelType compressed = level(LevelFormat::Compressed);
  AffineExpr i = getAffineDimExpr(0, context), j = getAffineDimExpr(1, context);
  auto make = [&](ArrayRef<LevelType> levels, ArrayRef<AffineExpr> exprs) {
    return SparseTensorEncodingAttr::get(context, levels,
                                         AffineMap::get(2, 0, exprs, context));
  };
  bool alongRows = encoding.getAxis() == PatternAxis::Rows;
  ArrayRef<int64_t> sizes = encoding.getSizes();
  switch (encoding.getKind()) {
  case PatternKind::Dense:
    return make({dense, dense}, {i, j});
  case PatternKind::Unstructured:
    return make({dense, compressed}, {i, j});
  case PatternKind::Block:
    return make({dense, compressed, dense, dense},
                {i.floorDiv(sizes[0]), j.floorDiv(sizes[1]), i % sizes[0],
                 j % sizes[1]});
  case PatternKind::NM: {
    if (sizes[1] > 0xff) {
      reason = "sparse_tensor holds at most 255 in n:m";
      return {};
    }
    AffineExpr line = alongRows ? i : j, position = alongRows ? j : i;
    return make({dense, dense, level(LevelFormat::NOutOfM, sizes[0], sizes[1])},
                {line, position.floorDiv(sizes[1]), position % sizes[1]});
  }
  case PatternKind::Channel:
    if (encoding.getAxis() == PatternAxis::Both) {
      reason = "sparse_tensor has no storage for missing rows and columns";
      return {};
    }
    return alongRows ? make({compressed, dense}, {i, j})
                     : make({compressed, dense}, {j, i});
  case PatternKind::Banded:
    reason = "sparse_tensor has no storage for banded";
    return {};
  case PatternKind::Hybrid:
    reason = "sparse_tensor has no storage for a sum of patterns";
    return {};
  }
  llvm_unreachable("unknown pattern kind");
}

EncodingAttr
sparsepattern::fromSparseTensorEncoding(SparseTensorEncodingAttr encoding,
                                        std::string &reason) {
  MLIRContext *context = encoding.getContext();
  if (encoding.getDimToLvl().getNumDims() != 2) {
    reason = "only matrices have a sparsity pattern";
    return {};
  }
  if (encoding.isSlice()) {
    reason = "a slice of a sparse tensor is not a whole weight";
    return {};
  }
  if (encoding.getImplicitVal() || encoding.getExplicitVal()) {
    reason = "an implicit or explicit value is set";
    return {};
  }
  // The candidates are finite once the sizes are read off, so compare with the
  // forward mapping instead of matching maps twice.
  SmallVector<EncodingAttr> candidates = {
      EncodingAttr::getDense(context), EncodingAttr::getUnstructured(context),
      EncodingAttr::getChannel(context, PatternAxis::Rows),
      EncodingAttr::getChannel(context, PatternAxis::Cols)};
  for (LevelType type : encoding.getLvlTypes())
    if (sparse_tensor::isNOutOfMLT(type) && type.getN() < type.getM())
      for (PatternAxis axis : {PatternAxis::Rows, PatternAxis::Cols})
        candidates.push_back(
            EncodingAttr::getNM(context, type.getN(), type.getM(), axis));
  if (sparse_tensor::isBlockSparsity(encoding.getDimToLvl())) {
    SmallVector<unsigned> sizes =
        sparse_tensor::getBlockSize(encoding.getDimToLvl());
    if (sizes.size() == 2 && sizes[0] >= 1 && sizes[1] >= 1 &&
        sizes[0] * sizes[1] > 1)
      candidates.push_back(EncodingAttr::getBlock(context, sizes[0], sizes[1]));
  }
  SparseTensorEncodingAttr plain = encoding.withoutBitWidths();
  for (EncodingAttr candidate : candidates)
    if (toSparseTensorEncoding(candidate, reason) == plain)
      return candidate;
  reason = "its level map is none of dense, CSR, BSR, n:m or compressed "
           "rows or columns";
  return {};
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

class ConvertEncoding
    : public sparsepattern::impl::SparsePatternConvertEncodingPassBase<
          ConvertEncoding> {
public:
  using Base::Base;

  void runOnOperation() override;

private:
  /// The type with the other dialect's encoding; null, with the reason if the
  /// type carries the encoding to convert, to leave it alone.
  RankedTensorType convert(RankedTensorType type, std::string &reason);
};

} // namespace

RankedTensorType ConvertEncoding::convert(RankedTensorType type,
                                          std::string &reason) {
  Attribute converted;
  if (to == "sparse_tensor") {
    if (auto encoding = dyn_cast_or_null<EncodingAttr>(type.getEncoding()))
      converted = toSparseTensorEncoding(encoding, reason);
  } else if (auto encoding = dyn_cast_or_null<SparseTensorEncodingAttr>(
                 type.getEncoding())) {
    EncodingAttr candidate = fromSparseTensorEncoding(encoding, reason);
    if (candidate && succeeded(candidate.verifyEncoding(
                         type.getShape(), type.getElementType(),
                         [&] { return emitRemark(getOperation()->getLoc()); })))
      converted = candidate;
    else if (candidate)
      reason = "the pattern does not fit the shape";
  }
  return converted ? type.cloneWithEncoding(converted) : RankedTensorType();
}

void ConvertEncoding::runOnOperation() {
  Operation *root = getOperation();
  if (to != "sparse_tensor" && to != "sparsepattern") {
    root->emitError() << "unknown dialect '" << to
                      << "', expected sparse_tensor or sparsepattern";
    return signalPassFailure();
  }

  // Types that sparse_tensor's own operations handle must keep their storage.
  llvm::SmallDenseSet<Type> pinned;
  root->walk([&](Operation *op) {
    if (!isa_and_nonnull<sparse_tensor::SparseTensorDialect>(op->getDialect()))
      return;
    pinned.insert_range(op->getOperandTypes());
    pinned.insert_range(op->getResultTypes());
  });

  llvm::MapVector<RankedTensorType, RankedTensorType> cache;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    auto [it, isNew] = cache.insert({type, type});
    if (!isNew)
      return it->second;
    std::string reason;
    RankedTensorType converted = convert(type, reason);
    if (converted && pinned.contains(type)) {
      converted = {};
      reason = "an operation of sparse_tensor uses it";
    }
    if (converted) {
      it->second = converted;
      ++numConverted;
    } else if (!reason.empty()) {
      emitRemark(root->getLoc()) << "left " << type << " alone: " << reason;
    }
    return cache[type];
  });
  // The value of a constant is not a sub-element of the generic walk.
  auto retype = [&](ElementsAttr value) -> std::optional<Attribute> {
    auto oldType = dyn_cast<RankedTensorType>(value.getType());
    if (!oldType)
      return std::nullopt;
    auto newType = cast<RankedTensorType>(replacer.replace(Type(oldType)));
    if (newType == oldType)
      return value;
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
      return DenseResourceElementsAttr::get(newType, resource.getRawHandle());
    if (auto dense = dyn_cast<DenseIntOrFPElementsAttr>(value))
      return DenseElementsAttr::getFromRawBuffer(newType, dense.getRawData());
    return std::nullopt;
  };
  replacer.addReplacement([&](DenseResourceElementsAttr value) {
    return retype(cast<ElementsAttr>(Attribute(value)));
  });
  replacer.addReplacement([&](DenseIntOrFPElementsAttr value) {
    return retype(cast<ElementsAttr>(Attribute(value)));
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}
