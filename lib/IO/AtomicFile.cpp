//===- AtomicFile.cpp - Files that appear whole or not at all -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AtomicFile.h"
#include "ReaderSupport.h"
#include "llvm/Support/FileSystem.h"
#include <atomic>
#include <unistd.h>

using namespace sparseditto;
namespace fs = llvm::sys::fs;

llvm::Error sparseditto::writeFileAtomically(
    llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  static std::atomic<unsigned> counter = 0;
  const std::string temporary =
      llvm::formatv("{0}.tmp-{1}-{2}", path, ::getpid(), counter++);
  int descriptor;
  if (std::error_code error =
          fs::openFileForWrite(temporary, descriptor, fs::CD_CreateNew))
    return readError(path, "cannot write: " + error.message());
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  write(os);
  os.flush();
  std::error_code error = os.error();
  // The rename must not reach the disk before the bytes do.
  if (!error && ::fsync(descriptor) != 0)
    error = std::error_code(errno, std::generic_category());
  os.close();
  if (!error)
    error = os.error();
  if (!error)
    error = fs::rename(temporary, path);
  if (error) {
    os.clear_error();
    fs::remove(temporary);
    return readError(path, "cannot write: " + error.message());
  }
  return llvm::Error::success();
}
