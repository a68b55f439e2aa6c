//===- Jit.cpp - Compiling for this machine -------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Jit.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace sparseditto;
using namespace sparseditto::emulator;

void emulator::initializeNativeBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

llvm::Expected<llvm::orc::JITTargetMachineBuilder> emulator::hostMachine() {
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  if (builder->getTargetTriple().isX86())
    builder->addFeatures({"-avx512bf16", "-avxneconvert"});
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  return builder;
}

llvm::Error emulator::optimize(llvm::Module &module,
                               llvm::orc::JITTargetMachineBuilder machine) {
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> target =
      machine.createTargetMachine();
  if (!target)
    return target.takeError();
  module.setTargetTriple((*target)->getTargetTriple());
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(target->get());
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1)
      .run(module, mam);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
emulator::compileWithJit(llvm::orc::JITTargetMachineBuilder machine,
                         std::unique_ptr<llvm::Module> module,
                         std::unique_ptr<llvm::LLVMContext> context,
                         llvm::ArrayRef<RuntimeSymbol> symbols) {
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> jit =
      llvm::orc::LLJITBuilder()
          .setJITTargetMachineBuilder(std::move(machine))
          .setLinkProcessSymbolsByDefault(false)
          .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
          .create();
  if (!jit)
    return jit.takeError();
  llvm::orc::SymbolMap map;
  for (const RuntimeSymbol &symbol : symbols)
    map[(*jit)->mangleAndIntern(symbol.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported};
  if (llvm::Error error = (*jit)->getMainJITDylib().define(
          llvm::orc::absoluteSymbols(std::move(map))))
    return error;
  if (llvm::Error error = (*jit)->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return error;
  return jit;
}
