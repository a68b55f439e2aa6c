//===- TranslateToPtx.cpp - Lowered kernels to PTX text -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The NVPTX backend is called in process on the translated module: no files, no
// second tool, and its diagnostics stay ours.
//
//===----------------------------------------------------------------------===//

#include "Backend.h"
#include "Diagnostics.h"
#include "Dialects.h"
#include "LowerToNVVM.h"
#include "Requirements.h"
#include "sparseditto/Target/Compile.h"

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;
using namespace sparseditto;

namespace {
/// Keeps the first LLVM error. Without a handler LLVM would print it and exit.
struct FirstError : llvm::DiagnosticHandler {
  explicit FirstError(std::string &text) : text(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error && text.empty()) {
      llvm::raw_string_ostream os(text);
      llvm::DiagnosticPrinterRawOStream printer(os);
      info.print(printer);
    }
    return true;
  }
  std::string &text;
};
} // namespace

llvm::Error sparseditto::lowerKernelToNVVM(ModuleOp module) {
  loadKernelDialects(module.getContext());
  ErrorCollector errors(module.getContext());
  for (auto gpuModule : module.getOps<gpu::GPUModuleOp>())
    if (failed(lowerGpuModule(gpuModule)))
      return errors.error("lowering to NVVM");
  return llvm::Error::success();
}

static bool isLowered(gpu::GPUModuleOp module) {
  return !module
              .walk([&](Operation *op) {
                StringRef dialect = op->getName().getDialectNamespace();
                return op == module || dialect == "llvm" || dialect == "nvvm"
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

void sparseditto::initializeBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const Chip &chip, unsigned ptxVersion) {
  initializeBackend();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError("LLVM has no NVPTX target: " + error);
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, chip.name, "+ptx" + std::to_string(ptxVersion), options,
      /*RM=*/std::nullopt, /*CM=*/std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return llvm::createStringError(
        "cannot create an NVPTX target machine for " + chip.name);
  return machine;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = true;
  // A thread of a kernel is scalar: these only widen live ranges.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

/// The functions a device runtime provides to every kernel.
static bool isProvidedByDriver(llvm::StringRef name) {
  return name == "vprintf" || name == "__assertfail";
}

static llvm::Error checkExternals(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty() && !isProvidedByDriver(function.getName()))
      return llvm::createStringError(
          "the kernel calls '" + function.getName().str() +
          "', which nothing defines" +
          (function.getName().starts_with("__nv_")
               ? " (a libdevice function; libdevice is not linked)"
               : ""));
  return llvm::Error::success();
}

static llvm::Expected<std::string> generatePtx(gpu::GPUModuleOp gpuModule,
                                               llvm::TargetMachine &machine) {
  std::string diagnostic;
  llvm::LLVMContext llvmContext;
  llvmContext.setDiagnosticHandler(std::make_unique<FirstError>(diagnostic));
  auto failed = [&](llvm::StringRef what) {
    return llvm::createStringError(what + " failed: " + diagnostic);
  };

  ErrorCollector errors(gpuModule.getContext());
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(gpuModule, llvmContext, gpuModule.getName());
  if (!module)
    return errors.error("translation to LLVM IR");
  if (!diagnostic.empty())
    return failed("translation to LLVM IR");
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  if (llvm::Error error = checkExternals(*module))
    return error;

  optimize(*module, machine);
  if (!diagnostic.empty())
    return failed("LLVM optimization");

  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream os(ptx);
  llvm::legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, os, nullptr,
                                  llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("NVPTX cannot emit assembly");
  codegen.run(*module);
  if (!diagnostic.empty())
    return failed("PTX generation");
  return std::string(ptx);
}

llvm::Expected<std::string> sparseditto::translateToPtx(ModuleOp module,
                                                        const Chip &chip,
                                                        unsigned ptxVersion) {
  if (ptxVersion < chip.minPtx || ptxVersion > chip.maxPtx)
    return llvm::createStringError(
        "PTX version " + std::to_string(ptxVersion) + " is outside " +
        std::to_string(chip.minPtx) + ".." + std::to_string(chip.maxPtx) +
        ", what " + chip.name + " takes");
  if (!isPtxVersion(ptxVersion))
    return llvm::createStringError("there is no PTX version " +
                                   std::to_string(ptxVersion));
  MLIRContext *context = module.getContext();
  loadKernelDialects(context);
  // A clone: the last step turns operations that the emulator knows into inline
  // assembly, and the caller keeps its module.
  OwningOpRef<ModuleOp> clone = module.clone();
  auto gpuModules = llvm::to_vector(clone->getOps<gpu::GPUModuleOp>());
  if (gpuModules.size() != 1)
    return llvm::createStringError(
        "expected one gpu.module to translate, got " +
        std::to_string(gpuModules.size()));
  gpu::GPUModuleOp gpuModule = gpuModules.front();
  if (!isLowered(gpuModule))
    if (llvm::Error error = lowerKernelToNVVM(*clone))
      return error;
  if (llvm::Error error = checkRequirements(gpuModule, chip, ptxVersion))
    return error;
  {
    ErrorCollector errors(context);
    RewritePatternSet patterns(context);
    populateNVVMToLLVMConversionPatterns(patterns);
    GreedyRewriteConfig config;
    config.enableFolding(false)
        .enableConstantCSE(false)
        .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(gpuModule, std::move(patterns), config)))
      return errors.error("lowering NVVM to LLVM");
  }
  auto machine = createTargetMachine(chip, ptxVersion);
  if (!machine)
    return machine.takeError();
  return generatePtx(gpuModule, **machine);
}
