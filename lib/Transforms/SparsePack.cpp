//===- SparsePack.cpp - Store weights as kernels need them ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Kernels/Family.h"
#include "sparseditto/Transforms/Packing.h"
#include "sparseditto/Transforms/Passes.h"
#include "sparseditto/Transforms/Strategies.h"
#include "sparseditto/Transforms/Weights.h"
#include "sparseditto/Tuning/Choose.h"

namespace sparseditto {
#define GEN_PASS_DEF_SPARSEPACKPASS
#include "sparseditto/Transforms/Passes.h.inc"
} // namespace sparseditto

using namespace mlir;
using namespace sparseditto;
using sparsepattern::PackingAttr;
using sparsepattern::PackOp;
using sparsepattern::PlanAttr;
using sparsepattern::SpmmOp;
using sparsepattern::StrategyAttr;

namespace {

/// Constants of one packed weight.
struct PackedConstants {
  PackingAttr packing;
  SmallVector<ElementsAttr> buffers;
};

class SparsePack : public sparseditto::impl::SparsePackPassBase<SparsePack> {
public:
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult packProduct(SpmmOp op);
  LogicalResult evaluate(PackOp op);
  /// One product for each run of plan entries that read the same packed form,
  /// chosen by N.
  void split(SpmmOp op, SmallVectorImpl<SpmmOp> &parts);
  /// Packs a constant once for each packed form. Errors go to `op`.
  FailureOr<PackedConstants> pack(Operation *op, ElementsAttr value,
                                  StrategyAttr strategy);

  struct Entry {
    ElementsAttr value;
    std::string key;
    PackedConstants constants;
  };
  std::vector<Entry> entries;
};

} // namespace

/// What a strategy reads: equal strings share a packed copy; empty if the dense
/// weight is read.
static std::string packedForm(StrategyAttr attr) {
  llvm::Expected<Strategy> strategy = toStrategy(attr);
  if (!strategy) {
    llvm::consumeError(strategy.takeError());
    return "";
  }
  return findFamily(strategy->family) ? packingKey(*strategy) : "";
}

FailureOr<PackedConstants> SparsePack::pack(Operation *op, ElementsAttr value,
                                            StrategyAttr attr) {
  std::string key = packedForm(attr);
  for (const Entry &entry : entries)
    if (entry.value == value && entry.key == key)
      return entry.constants;
  std::string name = "weight";
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    name = resource.getRawHandle().getKey().str();
  llvm::Expected<Strategy> strategy = toStrategy(attr);
  if (!strategy)
    return op->emitError() << llvm::toString(strategy.takeError());
  const KernelFamily *family = findFamily(strategy->family);
  if (!family)
    return op->emitError() << "family '" << strategy->family
                           << "' has no packed format";
  llvm::Expected<ConstantTensor> tensor = readConstant(value, name);
  if (!tensor)
    return op->emitError() << llvm::toString(tensor.takeError());
  llvm::Expected<PackedWeight> packed =
      packChecked(*family, tensor->asMatrix(), *strategy);
  if (!packed)
    return op->emitError() << llvm::toString(packed.takeError());

  PackedConstants constants;
  constants.packing = toPackingAttr(&getContext(), *packed, attr);
  for (PackedBuffer &buffer : packed->buffers) {
    auto type = RankedTensorType::get(buffer.shape,
                                      toMLIRType(&getContext(), buffer.type));
    numBytes += buffer.bytes.size();
    AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(
        ArrayRef(reinterpret_cast<const char *>(buffer.bytes.data()),
                 buffer.bytes.size()),
        /*align=*/64, /*dataIsMutable=*/false);
    constants.buffers.push_back(DenseResourceElementsAttr::get(
        type, name + "." + packed->format + "." + buffer.name,
        std::move(blob)));
  }
  ++numPacked;
  entries.push_back({value, key, constants});
  return constants;
}

void SparsePack::split(SpmmOp op, SmallVectorImpl<SpmmOp> &parts) {
  PlanAttr plan = op.getPlanAttr();
  ArrayRef<int64_t> bounds = plan.getBounds();
  ArrayRef<StrategyAttr> strategies = plan.getStrategies();
  Value activations = op.getActivations();
  int64_t tokens =
      cast<ShapedType>(activations.getType()).getDimSize(op.getTokenDim());
  OpBuilder builder(op);
  if (!ShapedType::isDynamic(tokens)) {
    op.setPlanAttr(PlanAttr::get(plan.lookup(tokens)));
    parts.push_back(op);
    return;
  }

  // Runs of entries that read the same form.
  struct Run {
    SmallVector<int64_t> bounds; ///< The last one ends the run.
    SmallVector<StrategyAttr> strategies;
  };
  SmallVector<Run> runs;
  std::string previous;
  for (auto [i, strategy] : llvm::enumerate(strategies)) {
    std::string form = packedForm(strategy);
    if (runs.empty() || form != previous)
      runs.emplace_back();
    previous = form;
    runs.back().strategies.push_back(strategy);
    if (i < bounds.size())
      runs.back().bounds.push_back(bounds[i]);
  }
  auto planOf = [&](const Run &run) {
    size_t inner = run.strategies.size() - 1;
    return PlanAttr::get(&getContext(), ArrayRef(run.bounds).take_front(inner),
                         run.strategies);
  };
  if (runs.size() == 1) {
    parts.push_back(op);
    return;
  }
  Location loc = op.getLoc();
  Value n = tensor::DimOp::create(builder, loc, activations, op.getTokenDim());
  // Builds the products of runs [first, end) where the builder stands.
  auto emit = [&](auto &self, OpBuilder &at, size_t first) -> Value {
    const Run &run = runs[first];
    auto product = [&](OpBuilder &inside) {
      auto part = cast<SpmmOp>(inside.clone(*op));
      part.setPlanAttr(planOf(run));
      parts.push_back(part);
      return part.getResult();
    };
    if (first + 1 == runs.size())
      return product(at);
    Value bound = arith::ConstantIndexOp::create(at, loc, run.bounds.back());
    Value small =
        arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ule, n, bound);
    auto choice = scf::IfOp::create(
        at, loc, small,
        [&](OpBuilder &inside, Location) {
          scf::YieldOp::create(inside, loc, product(inside));
        },
        [&](OpBuilder &inside, Location) {
          scf::YieldOp::create(inside, loc, self(self, inside, first + 1));
        });
    return choice.getResult(0);
  };
  Value result = emit(emit, builder, 0);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

LogicalResult SparsePack::packProduct(SpmmOp op) {
  auto constant = op.getWeight().front().getDefiningOp<arith::ConstantOp>();
  auto value =
      constant ? dyn_cast<ElementsAttr>(constant.getValue()) : ElementsAttr();
  if (!value) {
    emitRemark(op.getLoc()) << "not packed: the weight is not a constant";
    return success();
  }
  SmallVector<SpmmOp> parts;
  split(op, parts);
  for (SpmmOp part : parts) {
    StrategyAttr strategy = part.getPlanAttr().getStrategies().back();
    if (packedForm(strategy).empty())
      continue;
    FailureOr<PackedConstants> packed = pack(part, value, strategy);
    if (failed(packed))
      return failure();
    OpBuilder builder(part);
    SmallVector<Value> buffers;
    for (ElementsAttr buffer : packed->buffers)
      buffers.push_back(
          arith::ConstantOp::create(builder, part.getLoc(), buffer));
    part.setPackingAttr(packed->packing);
    part.getWeightMutable().assign(buffers);
  }
  if (constant->use_empty())
    constant->erase();
  return success();
}

LogicalResult SparsePack::evaluate(PackOp op) {
  ElementsAttr value;
  if (!matchPattern(op.getWeight(), m_Constant(&value)))
    return success();
  FailureOr<PackedConstants> packed =
      pack(op, value, op.getPacking().getStrategy());
  if (failed(packed))
    return failure();
  if (packed->packing != op.getPacking())
    return op->emitError() << "packing the weight gives "
                           << Attribute(packed->packing);
  for (auto [result, buffer] :
       llvm::zip_equal(op.getBuffers(), packed->buffers))
    if (result.getType() != buffer.getType())
      return op->emitError()
             << "packing the weight gives a buffer of " << buffer.getType()
             << ", expected " << result.getType();
  OpBuilder builder(op);
  for (auto [result, buffer] :
       llvm::zip_equal(op.getBuffers(), packed->buffers))
    result.replaceAllUsesWith(
        arith::ConstantOp::create(builder, op.getLoc(), buffer));
  op.erase();
  return success();
}

void SparsePack::runOnOperation() {
  entries.clear();
  SmallVector<SpmmOp> products;
  SmallVector<PackOp> packs;
  getOperation()->walk([&](Operation *op) {
    if (auto spmm = dyn_cast<SpmmOp>(op);
        spmm && spmm.hasPureTensorSemantics() && !spmm.isPacked() &&
        spmm.getPlanAttr())
      products.push_back(spmm);
    else if (auto pack = dyn_cast<PackOp>(op))
      packs.push_back(pack);
  });
  for (SpmmOp op : products)
    if (failed(packProduct(op)))
      return signalPassFailure();
  for (PackOp op : packs)
    if (failed(evaluate(op)))
      return signalPassFailure();
}
