//===- TestKernel.cpp - Kernels from text ---------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestKernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace sparseditto;

llvm::Expected<std::unique_ptr<EmulatedKernel>>
sparseditto::compileText(llvm::StringRef text, const EmulatorOptions &options) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect,
                  mlir::gpu::GPUDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&context), "test.mlir");
  if (!module)
    return llvm::createStringError("the test's MLIR does not parse");
  return EmulatedKernel::create(*module, "k", options);
}

std::unique_ptr<EmulatedKernel>
sparseditto::compile(llvm::StringRef text, const EmulatorOptions &options) {
  auto kernel = compileText(text, options);
  if (!kernel) {
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return nullptr;
  }
  return std::move(*kernel);
}

EmulatorFault sparseditto::faultOf(llvm::Error error) {
  EmulatorFault result;
  bool found = false;
  llvm::handleAllErrors(
      std::move(error),
      [&](const EmulatorFault &fault) {
        result = fault;
        found = true;
      },
      [&](const llvm::ErrorInfoBase &other) {
        ADD_FAILURE() << "not a fault: " << other.message();
      });
  EXPECT_TRUE(found) << "no fault was reported";
  return result;
}

std::string sparseditto::textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}
