//===- KernelFacts.h - What a built kernel tells ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TUNING_KERNELFACTS_H
#define SPARSEDITTO_LIB_TUNING_KERNELFACTS_H

#include "sparseditto/Tuning/KernelCache.h"

namespace sparseditto {

/// What sources learn about a kernel from ptxas and, if asked for, from its
/// machine code.
KernelFacts collectFacts(const CachedKernel &kernel, const PtxasReport &report,
                         bool readSass);

/// Hash of what a launch executes: machine code and constants (the PTX without
/// ptxas), grid, block and dynamic shared memory, but not the kernel's name.
std::string binaryHash(const CachedKernel &kernel);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TUNING_KERNELFACTS_H
