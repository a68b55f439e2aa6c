//===- Translate.cpp - Kernel MLIR to LLVM IR -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation gets its number as a line, so that debug locations lead from
// any LLVM instruction back to the operation it came from.
//
//===----------------------------------------------------------------------===//

#include "Translate.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "sparseditto/Emulator/Fault.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;
using namespace sparseditto::emulator;

bool emulator::needsLowering(mlir::ModuleOp module) {
  return module
      ->walk([&](mlir::Operation *op) {
        llvm::StringRef dialect = op->getName().getDialectNamespace();
        bool lowered = dialect == "llvm" || dialect == "nvvm" ||
                       op->getName().getStringRef() == "gpu.module" ||
                       op->getName().getStringRef() == "builtin.module";
        return lowered ? mlir::WalkResult::advance()
                       : mlir::WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// The module-like operation whose body holds the kernel, or null.
static mlir::Operation *findHolder(mlir::ModuleOp module,
                                   llvm::StringRef symbol) {
  mlir::Operation *holder = nullptr;
  module.walk([&](mlir::LLVM::LLVMFuncOp func) {
    if (func.getName() != symbol || func.isExternal())
      return mlir::WalkResult::advance();
    holder = func->getParentOp();
    return mlir::WalkResult::interrupt();
  });
  return holder;
}

static std::string printed(mlir::Location location) {
  std::string text;
  llvm::raw_string_ostream os(text);
  location.print(os);
  return text;
}

/// Numbers the operations; a fault for the first one that cannot be executed.
static llvm::Error numberOperations(mlir::ModuleOp module,
                                    llvm::StringRef symbol,
                                    std::vector<OperationRecord> &operations) {
  mlir::MLIRContext *context = module.getContext();
  auto file = mlir::StringAttr::get(context, "kernel");
  operations.push_back({"", ""});
  std::unique_ptr<EmulatorFault> fault;
  module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    OperationRecord record{op->getName().getStringRef().str(),
                           printed(op->getLoc())};
    if (op != module.getOperation() && dialect != "llvm" && dialect != "nvvm") {
      fault = std::make_unique<EmulatorFault>();
      fault->kind = FaultKind::Unsupported;
      fault->kernel = symbol.str();
      fault->operation = record.name;
      fault->location = record.location;
      fault->message = "operation is not of the LLVM or NVVM dialect; lower "
                       "the kernel first";
      return mlir::WalkResult::interrupt();
    }
    op->setLoc(mlir::FileLineColLoc::get(file, operations.size(), 1));
    operations.push_back(std::move(record));
    return mlir::WalkResult::advance();
  });
  if (fault)
    return llvm::Error(std::unique_ptr<llvm::ErrorInfoBase>(std::move(fault)));
  return llvm::Error::success();
}

llvm::Expected<TranslatedKernel>
emulator::translateKernel(mlir::ModuleOp module, llvm::StringRef symbol,
                          llvm::LLVMContext &llvmContext) {
  mlir::Operation *holder = findHolder(module, symbol);
  if (!holder)
    return llvm::createStringError(
        "no llvm.func '%s' with a body in the module", symbol.str().c_str());
  mlir::MLIRContext *context = module.getContext();
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);

  mlir::OwningOpRef<mlir::ModuleOp> clone =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(clone->getBody());
  for (mlir::Operation &op : holder->getRegion(0).front()) {
    if (op.getName().getStringRef() == "gpu.module_end")
      continue;
    builder.clone(op);
  }
  TranslatedKernel result;
  if (llvm::Error error = numberOperations(*clone, symbol, result.operations))
    return error;

  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &d) {
    if (!diagnostics.empty())
      diagnostics += "; ";
    diagnostics += d.str();
    // Locations are numbers by now: say the operation instead.
    if (auto loc = mlir::dyn_cast<mlir::FileLineColLoc>(d.getLocation()))
      if (loc.getLine() < result.operations.size())
        diagnostics += " ('" + result.operations[loc.getLine()].name + "' " +
                       result.operations[loc.getLine()].location + ")";
    return mlir::success();
  });
  mlir::PassManager pipeline(context);
  pipeline.addPass(mlir::createConvertNVVMToLLVMPass());
  pipeline.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass());
  if (mlir::failed(pipeline.run(*clone)))
    return llvm::createStringError("cannot prepare kernel '%s': %s",
                                   symbol.str().c_str(), diagnostics.c_str());
  result.module = mlir::translateModuleToLLVMIR(*clone, llvmContext, symbol);
  if (!result.module)
    return llvm::createStringError(
        "cannot translate kernel '%s' to LLVM IR: %s", symbol.str().c_str(),
        diagnostics.c_str());
  return result;
}
