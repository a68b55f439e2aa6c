//===- ConvertSparsePatternToGPU.cpp - Packed products to kernel launches -===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Kernels/Family.h"
#include "sparseditto/Target/Chips.h"
#include "sparseditto/Transforms/Packing.h"
#include "sparseditto/Transforms/Passes.h"
#include "sparseditto/Transforms/Problems.h"
#include "sparseditto/Transforms/Strategies.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace sparseditto {
#define GEN_PASS_DEF_CONVERTSPARSEPATTERNTOGPUPASS
#include "sparseditto/Transforms/Passes.h.inc"
} // namespace sparseditto

using namespace mlir;
using namespace sparseditto;
using sparsepattern::SpmmOp;
using sparsepattern::StrategyAttr;

/// The function that uploads the packed weights.
static constexpr StringLiteral kInitFunction = "sparsepattern_init";

namespace {

/// A kernel in the module.
struct Kernel {
  SymbolRefAttr symbol;
  KernelManifest manifest;
};

class ConvertToGPU
    : public sparseditto::impl::ConvertSparsePatternToGPUPassBase<
          ConvertToGPU> {
public:
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult convert(SpmmOp op);
  /// The kernel of a strategy for a product, built when first asked for. Null
  /// after an error on `op`.
  const Kernel *getKernel(SpmmOp op, StrategyAttr strategy);
  void launch(OpBuilder &builder, SpmmOp op, const Kernel &kernel, Value n);
  Value argument(OpBuilder &builder, SpmmOp op, const KernelManifest &manifest,
                 const KernelArg &arg, Value n);
  /// Device address of a memref's first element.
  Value pointerTo(OpBuilder &builder, Location loc, Value memref);
  /// Device address of a packed buffer or a bias; constants are put on the list
  /// of uploads.
  Value pointerToConstant(OpBuilder &builder, Location loc, Value memref);
  void buildInit();
  /// Gives every allocation memory that host and device share.
  void shareAllocations();

  unsigned computeCapability = 80;
  SymbolTable *symbols = nullptr; ///< Lives as long as one run.
  /// By everything that a kernel depends on, as text.
  std::map<std::string, Kernel> kernels;
  /// Host constant -> global with its device address.
  llvm::MapVector<memref::GlobalOp, memref::GlobalOp> uploads;
};

} // namespace

const Kernel *ConvertToGPU::getKernel(SpmmOp op, StrategyAttr attr) {
  std::optional<Problem> problem = problemOf(op);
  std::optional<PackedWeight> packed =
      fromPackingAttr(op.getPackingAttr(), op.getWeight().getTypes());
  if (!problem || !packed) {
    op->emitError() << "an element type has no kernels";
    return nullptr;
  }
  llvm::Expected<Strategy> strategy = toStrategy(attr);
  if (!strategy) {
    op->emitError() << llvm::toString(strategy.takeError());
    return nullptr;
  }
  const KernelFamily *family = findFamily(strategy->family);
  if (!family) {
    op->emitError() << "family '" << strategy->family << "' has no kernels";
    return nullptr;
  }
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << strategy->str() << op.getPackingAttr() << op.getWeight().getTypes()
         << name(problem->layout) << name(problem->outputType)
         << problem->epilogue.bias << problem->epilogue.residual
         << name(problem->epilogue.activation);
  auto found = kernels.find(key);
  if (found != kernels.end())
    return &found->second;

  std::string symbol =
      "sparsepattern_" + strategy->family + "_" + std::to_string(problem->m) +
      "x" + std::to_string(problem->k) + "_" + std::to_string(kernels.size());
  llvm::Expected<BuiltKernel> built = family->build(
      getContext(), *problem, *strategy, *packed, computeCapability, symbol);
  if (!built) {
    op->emitError() << llvm::toString(built.takeError());
    return nullptr;
  }
  auto modules = built->module->getOps<gpu::GPUModuleOp>();
  gpu::GPUModuleOp gpuModule = *modules.begin();
  gpuModule->remove();
  // What ptxas says about the kernel is said of its first product.
  gpuModule->setLoc(op.getLoc());
  gpuModule.setName(symbol + "_module");
  symbols->insert(gpuModule);
  Kernel kernel;
  kernel.symbol = SymbolRefAttr::get(
      gpuModule.getNameAttr(), {FlatSymbolRefAttr::get(&getContext(), symbol)});
  kernel.manifest = std::move(built->manifest);
  ++numKernels;
  return &kernels.insert({key, std::move(kernel)}).first->second;
}

Value ConvertToGPU::pointerTo(OpBuilder &builder, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value bytes = arith::ConstantIndexOp::create(
      builder, loc, type.getElementTypeBitWidth() / 8);
  Value offset =
      arith::MulIOp::create(builder, loc, metadata.getOffset(), bytes);
  address = arith::AddIOp::create(builder, loc, address, offset);
  Value integer =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(&getContext(), 1), integer);
}

Value ConvertToGPU::pointerToConstant(OpBuilder &builder, Location loc,
                                      Value memref) {
  auto get = memref.getDefiningOp<memref::GetGlobalOp>();
  auto host = get ? symbols->lookup<memref::GlobalOp>(get.getName()) : nullptr;
  if (!host)
    return pointerTo(builder, loc, memref);
  memref::GlobalOp &address = uploads[host];
  auto type = MemRefType::get({1}, builder.getI64Type());
  if (!address) {
    OpBuilder atTop(host);
    address = memref::GlobalOp::create(
        atTop, host.getLoc(), (host.getSymName() + "_device").str(),
        atTop.getStringAttr("private"), type, atTop.getUnitAttr(),
        /*constant=*/false, /*alignment=*/IntegerAttr());
    symbols->insert(address);
  }
  Value slot =
      memref::GetGlobalOp::create(builder, loc, type, address.getSymName());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value integer = memref::LoadOp::create(builder, loc, slot, zero);
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(&getContext(), 1), integer);
}

Value ConvertToGPU::argument(OpBuilder &builder, SpmmOp op,
                             const KernelManifest &manifest,
                             const KernelArg &arg, Value n) {
  Location loc = op.getLoc();
  auto toI32 = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      index);
  };
  auto rowStride = [&](Value memref) {
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, memref);
    return toI32(metadata.getStrides().front());
  };
  switch (arg.kind) {
  case ArgKind::Packed:
    for (auto [name, buffer] :
         llvm::zip_equal(op.getPackingAttr().getBuffers(), op.getWeight()))
      if (cast<StringAttr>(name).getValue() == arg.name)
        return pointerToConstant(builder, loc, buffer);
    return {};
  case ArgKind::X:
    return pointerTo(builder, loc, op.getActivations());
  case ArgKind::Y:
    return pointerTo(builder, loc, op.getInit());
  case ArgKind::Bias:
    return pointerToConstant(builder, loc, op.getBias());
  case ArgKind::Residual:
    return pointerTo(builder, loc, op.getResidual());
  case ArgKind::N:
    return toI32(n);
  case ArgKind::LdX:
    return rowStride(op.getActivations());
  case ArgKind::LdY:
    return rowStride(op.getInit());
  case ArgKind::LdR:
    return rowStride(op.getResidual());
  }
  llvm_unreachable("unknown argument kind");
}

void ConvertToGPU::launch(OpBuilder &builder, SpmmOp op, const Kernel &kernel,
                          Value n) {
  Location loc = op.getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto gridSize = [&](const GridDim &dim) -> Value {
    if (dim.divisor == 0)
      return index(dim.factor);
    Value blocks =
        arith::CeilDivUIOp::create(builder, loc, n, index(dim.divisor));
    return arith::MulIOp::create(builder, loc, blocks, index(dim.factor));
  };
  const KernelManifest &manifest = kernel.manifest;
  gpu::KernelDim3 grid{gridSize(manifest.grid[0]), gridSize(manifest.grid[1]),
                       gridSize(manifest.grid[2])};
  gpu::KernelDim3 block{index(manifest.block[0]), index(manifest.block[1]),
                        index(manifest.block[2])};
  Value shared;
  if (manifest.dynamicSharedBytes > 0)
    shared = arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(manifest.dynamicSharedBytes));
  SmallVector<Value> operands;
  for (const KernelArg &arg : manifest.args)
    operands.push_back(argument(builder, op, manifest, arg, n));
  gpu::LaunchFuncOp::create(builder, loc, kernel.symbol, grid, block, shared,
                            operands);
  ++numLaunches;
}

/// Null, or why the op cannot be launched on these memrefs.
static std::string whyNotLaunchable(SpmmOp op) {
  if (!op.isPacked())
    return "it is not packed";
  if (!op.getPlanAttr())
    return "it has no plan";
  SmallVector<Value> matrices = {op.getActivations(), op.getInit()};
  if (op.getResidual())
    matrices.push_back(op.getResidual());
  for (Value matrix : matrices) {
    auto [strides, offset] =
        cast<MemRefType>(matrix.getType()).getStridesAndOffset();
    if (strides.back() != 1)
      return "a matrix has an inner stride that is not known to be 1";
  }
  return "";
}

LogicalResult ConvertToGPU::convert(SpmmOp op) {
  // Build first, so that an error leaves the op whole.
  sparsepattern::PlanAttr plan = op.getPlanAttr();
  for (StrategyAttr strategy : plan.getStrategies())
    if (!getKernel(op, strategy))
      return failure();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value n = memref::DimOp::create(builder, loc, op.getActivations(),
                                  op.getTokenDim());
  auto compare = [&](OpBuilder &at, arith::CmpIPredicate predicate,
                     int64_t bound) -> Value {
    Value limit = arith::ConstantIndexOp::create(at, loc, bound);
    return arith::CmpIOp::create(at, loc, predicate, n, limit);
  };
  auto dispatch = [&](auto &self, OpBuilder &at, size_t entry) -> void {
    const Kernel &kernel = *getKernel(op, plan.getStrategies()[entry]);
    if (entry == plan.getBounds().size())
      return launch(at, op, kernel, n);
    Value small =
        compare(at, arith::CmpIPredicate::ule, plan.getBounds()[entry]);
    auto choice = scf::IfOp::create(at, loc, small, /*withElseRegion=*/true);
    OpBuilder inThen = choice.getThenBodyBuilder();
    launch(inThen, op, kernel, n);
    OpBuilder inElse = choice.getElseBodyBuilder();
    self(self, inElse, entry + 1);
  };
  auto guard = scf::IfOp::create(builder, loc,
                                 compare(builder, arith::CmpIPredicate::ne, 0),
                                 /*withElseRegion=*/false);
  OpBuilder inside = guard.getThenBodyBuilder();
  dispatch(dispatch, inside, 0);
  op.erase();
  return success();
}

/// A token of nothing. Upstream lowers device allocations and copies only where
/// they are asynchronous.
static Value startAsync(OpBuilder &builder, Location loc) {
  return gpu::WaitOp::create(
             builder, loc, builder.getType<gpu::AsyncTokenType>(), ValueRange())
      .getAsyncToken();
}

/// A buffer may reach a kernel by many ways (a branch that yields it, a call),
/// and what frees it must know where it came from: so all of them move.
void ConvertToGPU::shareAllocations() {
  getOperation().walk([](Operation *op) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      auto shared = gpu::AllocOp::create(
          builder, loc, alloc.getType(), /*asyncToken=*/Type(), ValueRange(),
          alloc.getDynamicSizes(), alloc.getSymbolOperands(),
          /*hostShared=*/true);
      alloc.getResult().replaceAllUsesWith(shared.getMemref());
      alloc.erase();
    } else if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
      Value token = startAsync(builder, loc);
      token = gpu::DeallocOp::create(builder, loc, token.getType(), token,
                                     dealloc.getMemref())
                  .getAsyncToken();
      gpu::WaitOp::create(builder, loc, /*asyncToken=*/Type(), token);
      dealloc.erase();
    }
  });
}

void ConvertToGPU::buildInit() {
  if (uploads.empty())
    return;
  ModuleOp module = getOperation();
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(builder, loc, kInitFunction,
                                       builder.getFunctionType({}, {}));
  symbols->insert(function);
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value token = startAsync(builder, loc);
  for (auto [host, address] : uploads) {
    MemRefType type = host.getType();
    Value source =
        memref::GetGlobalOp::create(builder, loc, type, host.getSymName());
    auto alloc = gpu::AllocOp::create(builder, loc, type, token.getType(),
                                      token, ValueRange(), ValueRange());
    Value device = alloc.getMemref();
    token = gpu::MemcpyOp::create(builder, loc, token.getType(),
                                  alloc.getAsyncToken(), device, source)
                .getAsyncToken();
    Value index =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, device);
    Value integer =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    Value slot = memref::GetGlobalOp::create(builder, loc, address.getType(),
                                             address.getSymName());
    memref::StoreOp::create(builder, loc, integer, slot, zero);
  }
  gpu::WaitOp::create(builder, loc, /*asyncToken=*/Type(), token);
  func::ReturnOp::create(builder, loc);
}

void ConvertToGPU::runOnOperation() {
  ModuleOp module = getOperation();
  llvm::Expected<const Chip *> target = findChip(chip);
  if (!target) {
    module.emitError() << llvm::toString(target.takeError());
    return signalPassFailure();
  }
  computeCapability = (*target)->computeCapability;
  SymbolTable table(module);
  symbols = &table;
  kernels.clear();
  uploads.clear();
  SmallVector<SpmmOp> products;
  module.walk([&](SpmmOp op) {
    if (op.hasPureBufferSemantics())
      products.push_back(op);
  });
  for (SpmmOp op : products) {
    if (std::string reason = whyNotLaunchable(op); !reason.empty())
      emitRemark(op.getLoc()) << "no kernel launched: " << reason;
    else if (failed(convert(op)))
      return signalPassFailure();
  }
  if (!kernels.empty())
    shareAllocations();
  buildInit();
  if (!kernels.empty())
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    UnitAttr::get(&getContext()));
}
