//===- JSONFile.h - JSON files that nobody vouches for ----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_JSONFILE_H
#define SPARSEDITTO_RUNTIME_JSONFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace sparseditto {

/// Parses JSON text of limited nesting (the parser is recursive, so depth is
/// stack). Errors start with `where`.
llvm::Expected<llvm::json::Value> parseJSON(llvm::StringRef text,
                                            llvm::StringRef where);

/// Reads a regular file of at most `maxBytes`; errors start with the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegularFile(llvm::StringRef path, uint64_t maxBytes);

/// Reads and parses a regular file of at most `maxBytes`.
llvm::Expected<llvm::json::Value> readJSONFile(llvm::StringRef path,
                                               uint64_t maxBytes);

/// Writes pretty-printed JSON to a new file that replaces `path` in one step.
llvm::Error writeJSONFile(llvm::StringRef path, const llvm::json::Value &value);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_JSONFILE_H
