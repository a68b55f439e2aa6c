//===- Backend.h - The NVPTX backend of LLVM --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_BACKEND_H
#define SPARSEDITTO_LIB_TARGET_BACKEND_H

namespace sparseditto {

/// Registers the NVPTX backend, once. To be called before a fork whose child
/// generates code: another thread may hold the lock of the registration.
void initializeBackend();

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_BACKEND_H
