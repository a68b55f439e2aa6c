//===- HostCheck.cpp - Which host code can be run -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCheck.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Target/Place.h"

using namespace sparseditto;
using namespace mlir;

bool emulator::isKernel(Operation *op) {
  if (auto function = dyn_cast<gpu::GPUFuncOp>(op))
    return function.isKernel();
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  return function && !function.isExternal() &&
         (op->hasAttr(gpu::GPUDialect::getKernelFuncAttrName()) ||
          op->hasAttr("nvvm.kernel"));
}

/// Allowed in functions besides the operations below.
static constexpr StringLiteral hostDialects[] = {
    "affine", "arith", "cf",     "func", "index",
    "linalg", "math",  "memref", "scf",  "ub"};

static bool isHostOperation(Operation *op) {
  if (isa<gpu::LaunchFuncOp, gpu::AllocOp, gpu::DeallocOp, gpu::MemcpyOp,
          gpu::MemsetOp, gpu::WaitOp>(op))
    return true;
  // How launches make addresses.
  if (isa<LLVM::IntToPtrOp, LLVM::PtrToIntOp>(op))
    return true;
  return llvm::is_contained(hostDialects, op->getName().getDialectNamespace());
}

static llvm::Error checkFunction(func::FuncOp function) {
  if (function.isExternal())
    return makeError("{0}: '{1}' has no body: host code may call no other code",
                     placeOf(function.getLoc()), function.getName());
  llvm::Error error = llvm::Error::success();
  function.walk([&](Operation *op) {
    auto isTensor = llvm::IsaPred<TensorType>;
    if (!isHostOperation(op))
      error = makeError("{0}: '{1}' is not supported in host code",
                        placeOf(op->getLoc()), op->getName());
    else if (llvm::any_of(op->getOperandTypes(), isTensor) ||
             llvm::any_of(op->getResultTypes(), isTensor))
      error = makeError("{0}: '{1}' is on tensors: host code has to be "
                        "bufferized",
                        placeOf(op->getLoc()), op->getName());
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return error;
}

llvm::Error emulator::checkHostCode(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      if (llvm::Error error = checkFunction(function))
        return error;
      continue;
    }
    if (isa<memref::GlobalOp, gpu::GPUModuleOp>(op))
      continue;
    std::string place = placeOf(op.getLoc());
    if (auto binary = dyn_cast<gpu::BinaryOp>(op))
      return makeError("{0}: '{1}' is a gpu.binary, which holds no MLIR to "
                       "emulate; keep the kernels with "
                       "--sparse-agent-lower=format=module or "
                       "--sparse-to-ptx=\"format=module host-to-llvm=false\"",
                       place, binary.getName());
    if (isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
      return makeError("{0}: '{1}' is in the LLVM dialect already, which hides "
                       "the shapes of arguments; keep the host as it is "
                       "with --sparse-to-ptx=\"format=module "
                       "host-to-llvm=false\"",
                       place, SymbolTable::getSymbolName(&op).getValue());
    return makeError("{0}: '{1}' is not supported in host code", place,
                     op.getName());
  }
  return llvm::Error::success();
}
