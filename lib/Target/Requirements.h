//===- Requirements.h - What kernel operations need from a chip -*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_REQUIREMENTS_H
#define SPARSEDITTO_LIB_TARGET_REQUIREMENTS_H

#include "sparseditto/Target/Chips.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace sparseditto {

/// Checks that everything in a lowered kernel module can be selected for the
/// chip and PTX version: LLVM aborts the process where it cannot. The error
/// names the operation, what it needs and what it got.
llvm::Error checkRequirements(mlir::Operation *gpuModule, const Chip &chip,
                              unsigned ptxVersion);

/// True for an NVVM instruction that some chip is known to have: the key of the
/// operation "nvvm.KEY" or the intrinsic "llvm.nvvm.KEY".
bool isKnownInstruction(llvm::StringRef key);

/// True for an intrinsic of LLVM itself that NVPTX selects: "fma", "fma.f32".
bool isSelectableIntrinsic(llvm::StringRef name);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_REQUIREMENTS_H
