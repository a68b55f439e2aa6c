//===- NpyWriter.h - Write one array ----------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_IO_NPYWRITER_H
#define SPARSEDITTO_IO_NPYWRITER_H

#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace sparseditto {

/// Writes an array, row-major, as a .npy file of version 1.0: whole or not at
/// all. `bytes` holds product(shape) * byteSize(type) bytes. Fails for types
/// that numpy has no name for (bf16, f8). Errors start with the path.
llvm::Error writeNpy(llvm::StringRef path, ElementType type,
                     llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<uint8_t> bytes);

} // namespace sparseditto

#endif // SPARSEDITTO_IO_NPYWRITER_H
