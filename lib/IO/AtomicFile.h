//===- AtomicFile.h - Files that appear whole or not at all -----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_ATOMICFILE_H
#define SPARSEDITTO_LIB_IO_ATOMICFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace sparseditto {

/// Writes what `write` prints to a temporary file beside `path` and renames it.
/// Errors start with the path.
llvm::Error
writeFileAtomically(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_ostream &os)> write);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_ATOMICFILE_H
