//===- PlanSyntax.h - Parsing and printing of plans ------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_DIALECT_SPARSEPATTERN_IR_PLANSYNTAX_H
#define SPARSEDITTO_LIB_DIALECT_SPARSEPATTERN_IR_PLANSYNTAX_H

#include "mlir/IR/OpImplementation.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"

namespace mlir::sparsepattern::detail {

/// Parses the bracketed list of a plan; null after a diagnostic.
Attribute parsePlanBody(AsmParser &parser);

/// Prints it with `quote` around each bound: the attribute's own syntax needs
/// quotes because of the unbalanced '<', the op's does not.
void printPlanBody(AsmPrinter &printer, PlanAttr plan, StringRef quote);

} // namespace mlir::sparsepattern::detail

#endif // SPARSEDITTO_LIB_DIALECT_SPARSEPATTERN_IR_PLANSYNTAX_H
