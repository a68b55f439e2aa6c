//===- HostCheck.h - Which host code can be run -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_HOSTCHECK_H
#define SPARSEDITTO_LIB_EMULATOR_HOSTCHECK_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace sparseditto::emulator {

/// True for a function of a gpu.module that can be launched.
bool isKernel(mlir::Operation *op);

/// Fails at the first operation outside the kernels that is not of the kinds
/// that lowered models have, with its place and what to do about it.
llvm::Error checkHostCode(mlir::ModuleOp module);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_HOSTCHECK_H
