//===- LowerToNVVM.cpp - Kernel MLIR to the LLVM and NVVM dialects --------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Two steps inside one pass. First the operations that have no lowering of
// their own (transfers, multi-dimensional vectors, subviews, math functions,
// warp reductions) are rewritten to simpler ones and structured control flow
// becomes blocks. Then one dialect conversion with one type converter takes all
// the rest: running the upstream passes one after another mixes converters that
// disagree about `index` and leaves casts behind.
//
//===----------------------------------------------------------------------===//

#include "LowerToNVVM.h"
#include "MathLowering.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sparseditto;

/// Threads of a warp on every chip we know.
static constexpr unsigned warpSize = 32;

/// Rewrites what has no direct LLVM lowering into operations that have one.
static LogicalResult simplify(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateVectorToSCFConversionPatterns(
      patterns, VectorTransferToSCFOptions().enableFullUnroll());
  vector::populateVectorTransferLoweringPatterns(patterns, /*maxRank=*/1);
  vector::populateVectorMaskLoweringPatternsForSideEffectingOps(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  vector::populateVectorBitCastLoweringPatterns(patterns);
  vector::populateVectorRankReducingFMAPattern(patterns);
  vector::populateVectorTransposeLoweringPatterns(
      patterns, vector::VectorTransposeLowering::EltWise);
  vector::populateVectorContractLoweringPatterns(
      patterns, vector::VectorContractLowering::OuterProduct);
  vector::populateVectorOuterProductLoweringPatterns(patterns);
  vector::populateVectorMultiReductionLoweringPatterns(
      patterns, vector::VectorMultiReductionLowering::InnerParallel);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorFromElementsUnrollPatterns(patterns);
  vector::populateVectorToElementsUnrollPatterns(patterns);
  vector::populateVectorGatherLoweringPatterns(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  memref::populateExpandOpsPatterns(patterns);
  memref::populateExpandStridedMetadataPatterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  populateGpuRewritePatterns(patterns);
  populateGpuBreakDownSubgroupReducePatterns(patterns);
  populateGpuLowerSubgroupReduceToShufflePatterns(patterns, warpSize);
  populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns, warpSize);
  populateMathWithoutLibdevicePatterns(patterns);
  // Folding here would also reorder and merge what a builder placed with care;
  // LLVM folds later with full knowledge of the target.
  GreedyRewriteConfig config;
  config.enableFolding(false)
      .enableConstantCSE(false)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return applyPatternsGreedily(module, std::move(patterns), config);
}

/// Structured control flow and affine maps to blocks and arithmetic.
static LogicalResult flatten(gpu::GPUModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateAffineToStdConversionPatterns(patterns);
  populateAffineToVectorConversionPatterns(patterns);
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*module.getContext());
  target.addIllegalDialect("affine", "scf");
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

/// The handles of nvgpu as what NVVM operations take.
static void addHandleConversions(LLVMTypeConverter &converter) {
  MLIRContext *context = &converter.getContext();
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  converter.addConversion([=](nvgpu::DeviceAsyncTokenType) { return i32; });
  converter.addConversion([=](nvgpu::MBarrierTokenType) { return i64; });
  converter.addConversion(
      [=](nvgpu::WarpgroupMatrixDescriptorType) { return i64; });
  converter.addConversion([&converter](nvgpu::MBarrierGroupType type) {
    return converter.convertType(
        nvgpu::getMBarrierMemrefType(type.getContext(), type));
  });
  converter.addConversion([=](nvgpu::TensorMapDescriptorType) -> Type {
    return LLVM::LLVMPointerType::get(context);
  });
  // One struct for each 64 rows, of a thread's share of them: 64 x N elements
  // over 128 threads.
  converter.addConversion(
      [=](nvgpu::WarpgroupAccumulatorType type) -> std::optional<Type> {
        VectorType fragment = type.getFragmented();
        Type element = fragment.getElementType();
        if (!element.isF32() && !element.isInteger(32))
          return std::nullopt;
        SmallVector<Type> share(fragment.getDimSize(1) / 2, element);
        SmallVector<Type> parts(
            llvm::divideCeil(fragment.getDimSize(0), 64),
            LLVM::LLVMStructType::getLiteral(context, share));
        return LLVM::LLVMStructType::getLiteral(context, parts);
      });
}

static bool isSharedSpace(Attribute space) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(space))
    return number.getInt() == 3;
  auto named = dyn_cast_or_null<gpu::AddressSpaceAttr>(space);
  return named && named.getValue() == gpu::AddressSpace::Workgroup;
}

/// Shared memory made by these is silently wrong: an alloca in address space 3
/// becomes local memory, and the dynamic area starts at the same address as the
/// static buffers (or the mbarriers) of the kernel.
static LogicalResult checkSharedMemory(gpu::GPUModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    bool isShared = isa<gpu::DynamicSharedMemoryOp>(op);
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      isShared = isSharedSpace(
          cast<MemRefType>(op->getResult(0).getType()).getMemorySpace());
    if (!isShared)
      return WalkResult::advance();
    op->emitError("'") << op->getName().getStringRef()
                       << "' does not make usable shared memory; declare a "
                          "global in address space 3";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// The bare pointer of a memref has no sizes: they must be in the type.
static LogicalResult checkArguments(gpu::GPUModuleOp module) {
  for (auto func : module.getOps<gpu::GPUFuncOp>())
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
      if (auto memref = dyn_cast<MemRefType>(type);
          memref && !memref.hasStaticShape())
        return func.emitError("argument ")
               << i << " of kernel '" << func.getName()
               << "' is passed as a bare pointer and needs a static shape or "
                  "rank 0, got "
               << type;
  return success();
}

static LogicalResult convert(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  options.useBarePtrCallConv = true;
  LLVMTypeConverter converter(context, options);
  configureGpuToNVVMTypeConverter(converter);
  nvgpu::populateCommonGPUTypeAndAttributeConversions(converter);
  addHandleConversions(converter);

  RewritePatternSet patterns(context);
  // Ours first: upstream sends every math function to libdevice.
  populateMathToLLVMConversionPatterns(converter, patterns,
                                       /*approximateLog1p=*/true,
                                       /*benefit=*/10);
  populateGpuToNVVMConversionPatterns(converter, patterns, /*benefit=*/5);
  populateGpuSubgroupReduceOpLoweringPattern(converter, patterns);
  populateGpuWMMAToNVVMConversionPatterns(converter, patterns);
  populateNVGPUToNVVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  cf::populateAssertToLLVMConversionPattern(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);

  LLVMConversionTarget target(*context);
  target.addLegalDialect("llvm", "nvvm");
  target.addLegalOp<gpu::GPUModuleOp>();
  target.addIllegalDialect("gpu", "nvgpu", "arith", "math", "vector", "memref",
                           "index", "cf", "ub");
  target.addLegalOp<UnrealizedConversionCastOp>();
  return applyPartialConversion(module, target, std::move(patterns));
}

namespace {
/// Argument attributes of the kernels, by name: the upstream lowering of
/// gpu.func keeps only some of them (it drops llvm.byval).
class ArgumentAttributes {
public:
  explicit ArgumentAttributes(gpu::GPUModuleOp module) {
    for (auto func : module.getOps<gpu::GPUFuncOp>()) {
      auto &list = attributes[func.getName()];
      for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
        list.push_back(func.getArgAttrDict(i));
    }
  }

  void restore(gpu::GPUModuleOp module) {
    Builder builder(module.getContext());
    for (auto func : module.getOps<FunctionOpInterface>()) {
      auto it = attributes.find(func.getName());
      if (it == attributes.end() || it->second.size() != func.getNumArguments())
        continue;
      for (auto [i, dict] : llvm::enumerate(it->second)) {
        if (!dict)
          continue;
        for (NamedAttribute attr : dict)
          if (attr.getName().strref().starts_with("llvm."))
            func.setArgAttr(i, attr.getName(), attr.getValue());
        // gpu.func's verifier refuses this attribute, and a by-value kernel
        // parameter without it would be copied to local memory.
        if (dict.contains("llvm.byval"))
          func.setArgAttr(i, "nvvm.grid_constant", builder.getUnitAttr());
      }
    }
  }

private:
  llvm::StringMap<SmallVector<DictionaryAttr>> attributes;
};
} // namespace

LogicalResult sparseditto::lowerGpuModule(gpu::GPUModuleOp module) {
  if (failed(checkArguments(module)) || failed(checkSharedMemory(module)))
    return failure();
  ArgumentAttributes attributes(module);
  if (failed(simplify(module)))
    return module.emitError("rewriting to simpler operations did not finish");
  if (failed(flatten(module)) || failed(convert(module)))
    return failure();
  attributes.restore(module);

  SmallVector<UnrealizedConversionCastOp> casts, left;
  module.walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
  reconcileUnrealizedCasts(casts, &left);
  // Not only casts: an operation of a dialect without a lowering passes the
  // conversion untouched and would fail much later, without a location.
  WalkResult result = module.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (op == module || dialect == "llvm" || dialect == "nvvm")
      return WalkResult::advance();
    op->emitError("no lowering to the llvm and nvvm dialects for '")
        << op->getName().getStringRef() << "' in a kernel";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
