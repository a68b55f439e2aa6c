//===- InitAll.cpp - Registers everything of the project ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.h"
#include "sparseditto/Dialect/SparsePattern/Transforms/BufferizableOpInterfaceImpl.h"
#include "sparseditto/Dialect/SparsePattern/Transforms/Passes.h"
#include "sparseditto/Target/Passes.h"
#include "sparseditto/Transforms/Passes.h"
#include "sparseditto/Transforms/Pipelines.h"
#include "sparseditto/Transforms/Strategies.h"

void sparseditto::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::sparsepattern::SparsePatternDialect>();
  mlir::sparsepattern::registerBufferizableOpInterfaceExternalModels(registry);
  registerStrategyVerifier(registry);
}

void sparseditto::registerAllPasses() {
  mlir::sparsepattern::registerSparsePatternPasses();
  registerSparseDittoTargetPasses();
  registerSparseDittoTransformsPasses();
  registerPipelines();
}
