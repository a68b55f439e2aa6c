//===- Families.h - The families by name ------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_FAMILIES_H
#define SPARSEDITTO_KERNELS_FAMILIES_H

#include "sparseditto/Kernels/Family.h"

namespace sparseditto {

const KernelFamily &nmFamily();
const KernelFamily &blockFamily();
const KernelFamily &channelFamily();
const KernelFamily &denseFamily();
const KernelFamily &csrFamily();

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_FAMILIES_H
