//===- SparsePatternDialect.cpp - The sparsepattern dialect ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Dialect/SparsePattern/IR/StrategyVerifier.h"
#include "sparseditto/Support/Printable.h"

using namespace mlir;
using namespace mlir::sparsepattern;

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.cpp.inc"

void SparsePatternDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.cpp.inc"
      >();
}

/// Discardable attribute with the plans of a package by layer and chip.
static constexpr StringLiteral kPlansAttrName = "sparsepattern.plans";

/// C32 to C35: what the discardable attributes may hold and be put on.
/// `type` is the type of the annotated value, or null if it is not known.
static LogicalResult
verifyAnnotation(NamedAttribute attribute, Type type, bool onArgument,
                 function_ref<InFlightDiagnostic()> emitError) {
  StringRef name = attribute.getName();
  if (name == SparsePatternDialect::kEncodingAttrName) {
    auto encoding = dyn_cast<EncodingAttr>(attribute.getValue());
    if (!encoding)
      return emitError() << "'" << name
                         << "' must be a #sparsepattern.encoding, got "
                         << attribute.getValue() << " (C32)";
    auto shaped = dyn_cast_or_null<ShapedType>(type);
    if (type && (!shaped || !shaped.hasRank()))
      return emitError() << "'" << name
                         << "' annotates a ranked shaped value, got " << type
                         << " (C32)";
    return success();
  }
  if (name == SparsePatternDialect::kSourceAttrName) {
    if (!onArgument)
      return emitError() << "'" << name
                         << "' belongs on a function argument (C33)";
    auto source = dyn_cast<StringAttr>(attribute.getValue());
    if (!source || source.getValue().split('#').first.empty())
      return emitError()
             << "'" << name
             << "' must be a string \"file\" or \"file#tensor\", got "
             << attribute.getValue() << " (C33)";
    return success();
  }
  if (name == kPlansAttrName) {
    auto plans = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (plans && llvm::all_of(plans, [](NamedAttribute plan) {
          return isa<PlanAttr>(plan.getValue());
        }))
      return success();
    return emitError() << "'" << name
                       << "' must be a dictionary of #sparsepattern.plan, got "
                       << attribute.getValue() << " (C35)";
  }
  return emitError() << "unknown attribute '" << sparseditto::printable(name)
                     << "' of the sparsepattern dialect (C34)";
}

LogicalResult
SparsePatternDialect::verifyOperationAttribute(Operation *op,
                                               NamedAttribute attribute) {
  Type type = op->getNumResults() == 1 ? op->getResult(0).getType() : Type();
  return verifyAnnotation(attribute, type, /*onArgument=*/false,
                          [&] { return op->emitOpError(); });
}

LogicalResult SparsePatternDialect::verifyRegionArgAttribute(
    Operation *op, unsigned regionIndex, unsigned argIndex,
    NamedAttribute attribute) {
  Type type;
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    if (argIndex < function.getNumArguments())
      type = function.getArgumentTypes()[argIndex];
  return verifyAnnotation(attribute, type, /*onArgument=*/true, [&] {
    return op->emitOpError() << "argument " << argIndex << ": ";
  });
}
