//===- Dialects.h - Dialects that kernels use -------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_DIALECTS_H
#define SPARSEDITTO_LIB_TARGET_DIALECTS_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace sparseditto {

/// Makes sure that every dialect of registerKernelDialects is loaded. Changes
/// nothing when they are: safe inside a pass that depends on them.
void loadKernelDialects(mlir::MLIRContext *context);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_DIALECTS_H
