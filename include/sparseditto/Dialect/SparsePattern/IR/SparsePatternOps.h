//===- SparsePatternOps.h - Operations of sparsepattern --------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNOPS_H
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"

#define GET_OP_CLASSES
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h.inc"

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNOPS_H
