//===- FileBytes.cpp - The bytes of an input file -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileBytes.h"
#include "ReaderSupport.h"
#include <sys/mman.h>
#include <unistd.h>

using namespace sparseditto;
namespace fs = llvm::sys::fs;

llvm::Expected<std::shared_ptr<FileBytes>>
FileBytes::map(llvm::StringRef path) {
  // Looked at before it is opened: opening a pipe would wait for its writer.
  fs::file_status status;
  if (std::error_code error = fs::status(path, status))
    return readError(path, "cannot open: " + error.message());
  if (status.type() == fs::file_type::directory_file)
    return readError(path, "is a directory; want a file with weights");
  if (status.type() != fs::file_type::regular_file)
    return readError(path, "is not a regular file; copy the data to a file");

  std::shared_ptr<FileBytes> file(new FileBytes);
  file->filePath = path.str();
  llvm::Expected<fs::file_t> opened =
      fs::openNativeFileForRead(path, fs::OF_None);
  if (!opened)
    return readError(path,
                     "cannot open: " + llvm::toString(opened.takeError()));
  file->descriptor = *opened;
  if (std::error_code error = fs::status(*opened, status))
    return readError(path, "cannot open: " + error.message());
  if (status.getSize() == 0)
    return file;
  std::error_code error;
  file->region = fs::mapped_file_region(
      *opened, fs::mapped_file_region::readonly, status.getSize(), 0, error);
  if (error)
    return readError(path, "cannot map: " + error.message());
  file->view = {reinterpret_cast<const uint8_t *>(file->region.const_data()),
                file->region.size()};
  return file;
}

std::shared_ptr<FileBytes> FileBytes::own(std::vector<uint8_t> bytes,
                                          llvm::StringRef path) {
  std::shared_ptr<FileBytes> file(new FileBytes);
  file->filePath = path.str();
  file->buffer = std::move(bytes);
  file->view = file->buffer;
  return file;
}

FileBytes::~FileBytes() {
  if (descriptor >= 0)
    ::close(descriptor);
}

llvm::Error FileBytes::checkUnchanged() const {
  if (descriptor < 0)
    return llvm::Error::success();
  fs::file_status status;
  if (std::error_code error = fs::status(descriptor, status))
    return readError(filePath, "cannot read: " + error.message());
  if (status.getSize() < size())
    return readErrorV(filePath,
                      "file shrank to {0} bytes while it was being "
                      "read; it had {1}",
                      status.getSize(), size());
  return llvm::Error::success();
}

void FileBytes::dropPages(uint64_t begin, uint64_t length) const {
  if (!region)
    return;
  const uint64_t page = uint64_t(::sysconf(_SC_PAGESIZE));
  uint64_t first = begin / page * page;
  uint64_t last = std::min(begin + length, size());
  if (first < last)
    ::madvise(const_cast<uint8_t *>(view.data()) + first, last - first,
              MADV_DONTNEED);
}
