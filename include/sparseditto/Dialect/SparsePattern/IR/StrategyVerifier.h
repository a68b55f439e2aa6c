//===- StrategyVerifier.h - Checks strategies against families -*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect does not link the kernel families. Tools that do register an
// implementation of this interface, and from then on every
// `#sparsepattern.strategy` that is parsed or built with getChecked() names a
// declared family, declared knobs and legal values.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_STRATEGYVERIFIER_H
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_STRATEGYVERIFIER_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectInterface.h"

namespace mlir::sparsepattern {

class StrategyVerifierInterface
    : public DialectInterface::Base<StrategyVerifierInterface> {
public:
  StrategyVerifierInterface(Dialect *dialect) : Base(dialect) {}

  /// Fails with a diagnostic that names the constraint (C12: unknown family,
  /// C13: unknown knob, C14: illegal value). `knobs` maps names to IntegerAttr
  /// (i64) or StringAttr. Called concurrently.
  virtual LogicalResult
  verifyStrategy(StringRef family, DictionaryAttr knobs,
                 function_ref<InFlightDiagnostic()> emitError) const = 0;
};

} // namespace mlir::sparsepattern

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_STRATEGYVERIFIER_H
