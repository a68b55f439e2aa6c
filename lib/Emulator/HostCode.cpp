//===- HostCode.cpp - Host MLIR to LLVM IR --------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches become calls while the host is still in its own dialects, where
// their operands have the types that the module gave them. The rest is the
// lowering that real host code gets, with checks of bounds and shapes put in
// first.
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"
#include "HostCheck.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/RuntimeOpVerification.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/RuntimeOpVerification.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Target/ElementTypes.h"
#include "sparseditto/Target/HostToLLVM.h"
#include "sparseditto/Target/Place.h"

using namespace sparseditto;
using namespace sparseditto::emulator;
using namespace mlir;

/// The function that uploads the packed weights.
static constexpr StringLiteral kInitFunction = "sparsepattern_init";

namespace {
class HostLowering {
public:
  HostLowering(ModuleOp module, llvm::LLVMContext &context)
      : module(module), builder(module.getContext()), llvmContext(context) {}

  llvm::Expected<HostCode> run(StringRef entry);

private:
  llvm::Error findEntry(StringRef wanted);
  llvm::Error describe(TypeRange types, StringRef what,
                       std::vector<HostTensorType> &out);
  llvm::Error replaceLaunches();
  llvm::Error replaceLaunch(gpu::LaunchFuncOp launch);
  llvm::Expected<Value> word(gpu::LaunchFuncOp launch, unsigned index);
  llvm::Error lower();
  void buildEntry();
  LLVM::LLVMFuncOp declare(StringRef name, ArrayRef<Type> parameters);

  ModuleOp module;
  OpBuilder builder;
  llvm::LLVMContext &llvmContext;
  HostCode result;
  func::FuncOp entry;
};
} // namespace

//===----------------------------------------------------------------------===//
// The entry function
//===----------------------------------------------------------------------===//

llvm::Error HostLowering::findEntry(StringRef wanted) {
  std::vector<func::FuncOp> candidates;
  std::string names;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (function.getName() == kInitFunction) {
      if (function.getNumArguments() || function.getNumResults())
        return makeError("{0}: '{1}' has arguments or results",
                         placeOf(function.getLoc()), kInitFunction);
      result.hasInit = true;
      continue;
    }
    if (!wanted.empty() ? function.getName() != wanted : !function.isPublic())
      continue;
    candidates.push_back(function);
    names += (names.empty() ? "" : ", ") + function.getName().str();
  }
  if (candidates.empty())
    return wanted.empty()
               ? makeError("the module has no public function to run")
               : makeError("the module has no function '{0}'", wanted);
  if (candidates.size() > 1)
    return makeError("the module has several public functions ({0}): say "
                     "which one to run",
                     names);
  entry = candidates.front();
  result.entry = entry.getName().str();
  if (llvm::Error error =
          describe(entry.getArgumentTypes(), "argument", result.arguments))
    return error;
  return describe(entry.getResultTypes(), "result", result.results);
}

llvm::Error HostLowering::describe(TypeRange types, StringRef what,
                                   std::vector<HostTensorType> &out) {
  for (auto [i, type] : llvm::enumerate(types)) {
    auto memref = dyn_cast<MemRefType>(type);
    std::optional<ElementType> element =
        memref ? toElementType(memref.getElementType()) : std::nullopt;
    if (!element || !memref.getLayout().isIdentity() || memref.getMemorySpace())
      return makeError("{0}: {1} {2} of '{3}' is {4}, expected a contiguous "
                       "memref of floats or integers of whole bytes",
                       placeOf(entry.getLoc()), what, i, result.entry, type);
    HostTensorType described;
    described.type = *element;
    for (int64_t side : memref.getShape())
      described.shape.push_back(ShapedType::isDynamic(side) ? -1 : side);
    out.push_back(std::move(described));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp HostLowering::declare(StringRef name,
                                       ArrayRef<Type> parameters) {
  OpBuilder atTop = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(module.getContext()), parameters);
  return LLVM::LLVMFuncOp::create(atTop, module.getLoc(), name, type);
}

/// The bits of operand `index` in the low bytes of an i64.
llvm::Expected<Value> HostLowering::word(gpu::LaunchFuncOp launch,
                                         unsigned index) {
  Location loc = launch.getLoc();
  Value value = launch.getKernelOperands()[index];
  Type type = value.getType(), i64 = builder.getI64Type();
  if (isa<LLVM::LLVMPointerType>(type))
    return Value(LLVM::PtrToIntOp::create(builder, loc, i64, value));
  // Kernels take memrefs as bare pointers.
  if (auto memref = dyn_cast<MemRefType>(type);
      memref && memref.getLayout().isIdentity())
    value = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, value);
  type = value.getType();
  if (type.isIndex())
    return Value(arith::IndexCastOp::create(builder, loc, i64, value));
  unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  if (bits == 0 || bits > 64)
    return makeError("{0}: operand {1} of the launch is {2}, which the "
                     "emulator cannot pass",
                     placeOf(loc), index, type);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, builder.getIntegerType(bits),
                                     value);
  if (bits < 64)
    value = arith::ExtUIOp::create(builder, loc, i64, value);
  return value;
}

llvm::Error HostLowering::replaceLaunch(gpu::LaunchFuncOp launch) {
  Location loc = launch.getLoc();
  HostKernel kernel{launch.getKernelModuleName().str(),
                    launch.getKernelName().str()};
  auto known = llvm::find_if(result.kernels, [&](const HostKernel &other) {
    return other.module == kernel.module && other.function == kernel.function;
  });
  LaunchSite site;
  site.kernel = size_t(known - result.kernels.begin());
  site.location = placeOf(loc);
  if (known == result.kernels.end())
    return makeError("{0}: the module has no kernel '{1}' in a gpu.module "
                     "'{2}'",
                     site.location, kernel.function, kernel.module);
  if (launch.getAsyncToken() || launch.getAsyncObject() ||
      !launch.getAsyncDependencies().empty() || launch.hasClusterSize())
    return makeError("{0}: an asynchronous launch or one of clusters, which "
                     "the emulator cannot do",
                     site.location);

  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  unsigned count = launch.getNumKernelOperands();
  auto constant = [&](Type type, int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  };
  // On entry to the function: a launch in a loop must not eat the stack.
  auto function = launch->getParentOfType<func::FuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  Value words = LLVM::AllocaOp::create(builder, loc, pointer, i64,
                                       constant(i64, std::max(count, 1u)));
  builder.setInsertionPoint(launch);
  for (unsigned i = 0; i < count; ++i) {
    llvm::Expected<Value> bits = word(launch, i);
    if (!bits)
      return bits.takeError();
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, i64, words,
                                     ArrayRef<LLVM::GEPArg>(int32_t(i)));
    LLVM::StoreOp::create(builder, loc, *bits, slot);
  }
  auto size = [&](Value value) -> Value {
    if (value.getType().isIndex())
      return arith::IndexCastOp::create(builder, loc, i64, value);
    return value.getType() == i64
               ? value
               : arith::ExtUIOp::create(builder, loc, i64, value);
  };
  gpu::KernelDim3 grid = launch.getGridSizeOperandValues(),
                  block = launch.getBlockSizeOperandValues();
  Value shared = launch.getDynamicSharedMemorySize();
  SmallVector<Value> operands = {constant(i32, int64_t(result.sites.size())),
                                 size(grid.x),
                                 size(grid.y),
                                 size(grid.z),
                                 size(block.x),
                                 size(block.y),
                                 size(block.z),
                                 shared ? shared : constant(i32, 0),
                                 words,
                                 constant(i32, count)};
  LLVM::CallOp::create(builder, loc, TypeRange(), hostLaunch, operands);
  result.sites.push_back(std::move(site));
  launch.erase();
  return llvm::Error::success();
}

llvm::Error HostLowering::replaceLaunches() {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  declare(hostLaunch, {i32, i64, i64, i64, i64, i64, i64, i32, pointer, i32});
  SmallVector<gpu::LaunchFuncOp> launches;
  SmallVector<gpu::GPUModuleOp> kernels;
  for (Operation &op : *module.getBody()) {
    if (auto kernelModule = dyn_cast<gpu::GPUModuleOp>(op)) {
      kernels.push_back(kernelModule);
      for (Operation &inner : kernelModule.getOps())
        if (isKernel(&inner))
          result.kernels.push_back({kernelModule.getName().str(),
                                    SymbolTable::getSymbolName(&inner).str()});
      continue;
    }
    op.walk([&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
  }
  for (gpu::LaunchFuncOp launch : launches)
    if (llvm::Error error = replaceLaunch(launch))
      return error;
  for (gpu::GPUModuleOp kernelModule : kernels)
    kernelModule.erase();
  module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

/// hostEntry: takes its pointers out of an array and calls the entry function's
/// C interface.
void HostLowering::buildEntry() {
  Location loc = module.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  size_t count = result.arguments.size() + !result.results.empty();
  LLVM::LLVMFuncOp function = declare(hostEntry, {pointer});
  OpBuilder at = OpBuilder::atBlockBegin(function.addEntryBlock(builder));
  SmallVector<Value> operands;
  for (size_t i = 0; i < count; ++i) {
    Value slot =
        LLVM::GEPOp::create(at, loc, pointer, pointer, function.getArgument(0),
                            ArrayRef<LLVM::GEPArg>(int32_t(i)));
    operands.push_back(LLVM::LoadOp::create(at, loc, pointer, slot));
  }
  LLVM::CallOp::create(at, loc, TypeRange(), "_mlir_ciface_" + result.entry,
                       operands);
  LLVM::ReturnOp::create(at, loc, ValueRange());
  if (!result.hasInit)
    return;
  LLVM::LLVMFuncOp init = declare(hostInit, {});
  at = OpBuilder::atBlockBegin(init.addEntryBlock(builder));
  LLVM::CallOp::create(at, loc, TypeRange(), kInitFunction, ValueRange());
  LLVM::ReturnOp::create(at, loc, ValueRange());
}

llvm::Error HostLowering::lower() {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  memref::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  linalg::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);

  std::string first;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (first.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      first = placeOf(diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
  auto fail = [&](const char *what) {
    return makeError("host code cannot be {0}: {1}", what,
                     first.empty() ? "no reason was given" : first);
  };
  entry->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                 builder.getUnitAttr());
  PassManager pm(context);
  pm.addPass(createGenerateRuntimeVerificationPass());
  buildHostToLLVM(pm);
  if (failed(pm.run(module)))
    return fail("lowered to LLVM");
  buildEntry();
  result.module = translateModuleToLLVMIR(module, llvmContext, "host");
  if (!result.module)
    return fail("translated to LLVM IR");
  return llvm::Error::success();
}

llvm::Expected<HostCode> HostLowering::run(StringRef wanted) {
  // What is built below; a module need not have used them.
  module.getContext()
      ->loadDialect<arith::ArithDialect, LLVM::LLVMDialect,
                    memref::MemRefDialect>();
  if (llvm::Error error = checkHostCode(module))
    return error;
  if (llvm::Error error = findEntry(wanted))
    return error;
  if (llvm::Error error = replaceLaunches())
    return error;
  if (llvm::Error error = lower())
    return error;
  return std::move(result);
}

llvm::Expected<HostCode> emulator::lowerHostCode(ModuleOp module,
                                                 StringRef entry,
                                                 llvm::LLVMContext &context) {
  return HostLowering(module, context).run(entry);
}
