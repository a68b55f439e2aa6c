//===- InitAll.h - Registers everything of the project ---------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_INITALL_H
#define SPARSEDITTO_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sparseditto {

/// Our dialect with its external models and the check of strategies against
/// the kernel families.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Our passes and pipelines. Call once a process.
void registerAllPasses();

} // namespace sparseditto

#endif // SPARSEDITTO_INITALL_H
