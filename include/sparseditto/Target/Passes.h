//===- Passes.h - Passes from kernel MLIR to PTX ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_PASSES_H
#define SPARSEDITTO_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace mlir {
class ModuleOp;
namespace gpu {
class GPUModuleOp;
} // namespace gpu
} // namespace mlir

namespace sparseditto {

#define GEN_PASS_DECL
#include "sparseditto/Target/Passes.h.inc"

/// Registers the passes of Target with sd-opt and the pass pipeline parser.
#define GEN_PASS_REGISTRATION
#include "sparseditto/Target/Passes.h.inc"

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_PASSES_H
