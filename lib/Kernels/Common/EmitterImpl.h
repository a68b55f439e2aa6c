//===- EmitterImpl.h - State of the kernel emitter --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_KERNELS_COMMON_EMITTERIMPL_H
#define SPARSEDITTO_LIB_KERNELS_COMMON_EMITTERIMPL_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "sparseditto/Kernels/Common/Emitter.h"

namespace sparseditto {

struct KernelEmitter::Impl {
  Impl(mlir::MLIRContext &context)
      : builder(&context), loc(mlir::UnknownLoc::get(&context)) {}

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::gpu::GPUModuleOp gpuModule;
  mlir::gpu::GPUFuncOp func;
  unsigned threads = 0;
  unsigned sharedBytes = 0;
  mlir::LLVM::GlobalOp dynamicShared;

  mlir::LLVM::LLVMPointerType pointerType(unsigned space) {
    return mlir::LLVM::LLVMPointerType::get(builder.getContext(), space);
  }
  /// Adds a shared-memory global in front of the function.
  mlir::LLVM::GlobalOp addGlobal(llvm::StringRef name, mlir::Type type,
                                 mlir::LLVM::Linkage linkage,
                                 unsigned alignment) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(gpuModule.getBody());
    return mlir::LLVM::GlobalOp::create(builder, loc, type,
                                        /*isConstant=*/false, linkage, name,
                                        mlir::Attribute(), alignment,
                                        /*addrSpace=*/3);
  }
};

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_KERNELS_COMMON_EMITTERIMPL_H
