//===- SparsePatternAttributes.h - Attributes of sparsepattern -*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNATTRIBUTES_H
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TensorEncoding.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.h"
#include <optional>

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h.inc"

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNATTRIBUTES_H
