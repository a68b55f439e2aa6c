//===- NpyReader.cpp - .npy files -----------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NpyHeader.h"
#include "ReaderSupport.h"
#include "llvm/Support/Path.h"

using namespace sparseditto;

namespace {
class NpyFile final : public TensorFile {
public:
  NpyFile(std::shared_ptr<FileBytes> bytes, const ReadOptions &options)
      : TensorFile(bytes->path(), FileFormat::Npy, options),
        file(std::move(bytes)) {}

  llvm::Error readHeader();

  void dropPages(size_t) override {
    file->dropPages(header.dataOffset, header.info.numBytes());
  }

protected:
  llvm::Expected<Matrix> read(size_t index) override;

private:
  std::shared_ptr<FileBytes> file;
  NpyHeader header;
};
} // namespace

llvm::Error NpyFile::readHeader() {
  llvm::Expected<NpyHeader> parsed = NpyHeader::parse(file->bytes());
  if (!parsed)
    return readError(filePath, llvm::toString(parsed.takeError()));
  header = std::move(*parsed);
  header.info.name = llvm::sys::path::stem(filePath).str();
  if (llvm::Error error =
          header.checkDataBytes(file->size() - header.dataOffset))
    return readError(filePath, llvm::toString(std::move(error)));
  infos.push_back(header.info);
  return llvm::Error::success();
}

llvm::Expected<Matrix> NpyFile::read(size_t index) {
  if (llvm::Error error = file->checkUnchanged())
    return error;
  const uint8_t *data = file->bytes().data() + header.dataOffset;
  if (header.isPlain())
    return borrowMatrix(file, infos[index], data);
  if (llvm::Error error =
          checkDenseLimit(filePath, infos[index], options,
                          header.swapBytes ? "as a little-endian copy"
                                           : "as a copy in C order"))
    return error;
  llvm::Expected<Matrix> matrix = allocateMatrix(filePath, infos[index]);
  if (matrix)
    header.normalize(data, matrix->mutableData());
  return matrix;
}

OpenedFile sparseditto::openNpy(std::shared_ptr<FileBytes> file,
                                const ReadOptions &options) {
  auto result = std::make_unique<NpyFile>(std::move(file), options);
  if (llvm::Error error = result->readHeader())
    return error;
  return result;
}
