//===- Toolkit.cpp - Finding the programs of a CUDA toolkit ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Toolkit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace sparseditto;

bool sparseditto::isProgram(llvm::StringRef path) {
  return llvm::sys::fs::can_execute(path) && !llvm::sys::fs::is_directory(path);
}

std::string sparseditto::findToolkitProgram(llvm::StringRef name) {
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"}) {
    const char *root = std::getenv(variable);
    if (!root || !*root)
      continue;
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, "bin", name);
    if (isProgram(path))
      return std::string(path);
  }
  if (auto path = llvm::sys::findProgramByName(name))
    return *path;
  std::string usual = "/usr/local/cuda/bin/" + name.str();
  return isProgram(usual) ? usual : "";
}

llvm::Expected<TemporaryDirectory> TemporaryDirectory::create() {
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("sparseditto", path))
    return llvm::createStringError(error, "cannot make a temporary directory");
  return TemporaryDirectory(path);
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path.empty())
    llvm::sys::fs::remove_directories(path);
}

std::string TemporaryDirectory::file(llvm::StringRef name) const {
  llvm::SmallString<128> result(path);
  llvm::sys::path::append(result, name);
  return std::string(result);
}

llvm::Error sparseditto::writeFile(llvm::StringRef path,
                                   llvm::StringRef contents) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  os << contents;
  os.close();
  if (os.has_error() && !error)
    error = os.error();
  os.clear_error();
  if (error)
    return llvm::createStringError(error, "cannot write '" + path + "'");
  return llvm::Error::success();
}
