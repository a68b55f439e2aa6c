//===- FileBytes.h - The bytes of an input file -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file mapped read-only, or a buffer in memory, behind one class.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_FILEBYTES_H
#define SPARSEDITTO_LIB_IO_FILEBYTES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include <memory>
#include <string>
#include <vector>

namespace sparseditto {

class FileBytes {
public:
  /// Maps a regular file. Fails on directories, devices and pipes, and on what
  /// the system refuses.
  static llvm::Expected<std::shared_ptr<FileBytes>> map(llvm::StringRef path);
  static std::shared_ptr<FileBytes> own(std::vector<uint8_t> bytes,
                                        llvm::StringRef path);
  ~FileBytes();

  llvm::ArrayRef<uint8_t> bytes() const { return view; }
  llvm::StringRef text() const {
    return {reinterpret_cast<const char *>(view.data()), view.size()};
  }
  uint64_t size() const { return view.size(); }
  const std::string &path() const { return filePath; }

  /// Fails if the mapped file is shorter now than when it was mapped: reading
  /// the missing part would end the process.
  llvm::Error checkUnchanged() const;

  /// Lets the system drop the resident pages of a range.
  void dropPages(uint64_t begin, uint64_t length) const;

private:
  FileBytes() = default;
  std::string filePath;
  std::vector<uint8_t> buffer;
  llvm::sys::fs::mapped_file_region region;
  int descriptor = -1;
  llvm::ArrayRef<uint8_t> view;
};

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_FILEBYTES_H
