//===- Limits.h - Checks that families share --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_LIMITS_H
#define SPARSEDITTO_KERNELS_LIMITS_H

#include "sparseditto/Kernels/Family.h"

namespace sparseditto {

/// Most shared memory a block may use on a compute capability, in bytes; that
/// of sm_86 for an unknown one, which every chip since has.
unsigned maxSharedBytes(unsigned computeCapability);

/// Success if problem.type is one of the declaration's types.
llvm::Error checkType(const FamilyDeclaration &declaration,
                      const Problem &problem);

/// Success if kernels can store problem.outputType: f16, bf16 or f32.
llvm::Error checkOutputType(const FamilyDeclaration &declaration,
                            const Problem &problem);

/// Success if a block may use `bytes` of shared memory. The error names the
/// family, the knob to lower, what is needed and what there is.
llvm::Error checkSharedMemory(llvm::StringRef family, int64_t bytes,
                              unsigned computeCapability, llvm::StringRef knob);

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_LIMITS_H
