//===- Toolkit.h - Finding the programs of a CUDA toolkit -------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_TOOLKIT_H
#define SPARSEDITTO_LIB_TARGET_TOOLKIT_H

#include "sparseditto/Target/Programs.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace sparseditto {

/// A directory for the files handed to such a program, removed with this.
class TemporaryDirectory {
public:
  static llvm::Expected<TemporaryDirectory> create();
  TemporaryDirectory(TemporaryDirectory &&other) : path(std::move(other.path)) {
    other.path.clear();
  }
  TemporaryDirectory &operator=(TemporaryDirectory &&) = delete;
  ~TemporaryDirectory();

  std::string file(llvm::StringRef name) const;

private:
  explicit TemporaryDirectory(llvm::StringRef path) : path(path) {}
  std::string path;
};

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef contents);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_TOOLKIT_H
