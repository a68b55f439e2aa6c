//===- SparsePatternDialect.h - The sparsepattern dialect ------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNDIALECT_H
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNDIALECT_H

#include "mlir/IR/Dialect.h"

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.h.inc"

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNDIALECT_H
