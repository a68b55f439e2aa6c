//===- ColdRead.h - The floor, measured -------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_COLDREAD_H
#define SPARSEDITTO_RUNTIME_COLDREAD_H

#include <string>

namespace sparseditto {

/// PTX of the kernel that only reads: entry sd_cold_read(source, 16-byte words,
/// sink). For sm_80 and newer.
std::string coldReadPtx();

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_COLDREAD_H
