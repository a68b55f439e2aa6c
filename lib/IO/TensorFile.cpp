//===- TensorFile.cpp - Weight files of every accepted format -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/IO/TensorFile.h"
#include "FileKind.h"
#include "ReaderSupport.h"
#include "llvm/Support/ErrorHandling.h"

using namespace sparseditto;

llvm::StringRef sparseditto::name(FileFormat format) {
  switch (format) {
  case FileFormat::Safetensors:
    return "safetensors";
  case FileFormat::Npy:
    return "npy";
  case FileFormat::Npz:
    return "npz";
  case FileFormat::MatrixMarket:
    return "mtx";
  case FileFormat::Smtx:
    return "smtx";
  }
  llvm_unreachable("unknown file format");
}

TensorFile::~TensorFile() = default;

static OpenedFile openBytes(std::shared_ptr<FileBytes> file,
                            const ReadOptions &options) {
  llvm::Expected<FileFormat> format = recognizeFormat(*file);
  if (!format)
    return format.takeError();
  switch (*format) {
  case FileFormat::Safetensors:
    return openSafetensors(std::move(file), options);
  case FileFormat::Npy:
    return openNpy(std::move(file), options);
  case FileFormat::Npz:
    return openNpz(std::move(file), options);
  case FileFormat::MatrixMarket:
    return openMatrixMarket(std::move(file), options);
  case FileFormat::Smtx:
    return openSmtx(std::move(file), options);
  }
  llvm_unreachable("unknown file format");
}

llvm::Expected<std::unique_ptr<TensorFile>>
TensorFile::open(llvm::StringRef path, const ReadOptions &options) {
  llvm::Expected<std::shared_ptr<FileBytes>> file = FileBytes::map(path);
  if (!file)
    return file.takeError();
  return openBytes(std::move(*file), options);
}

llvm::Expected<std::unique_ptr<TensorFile>>
TensorFile::openBuffer(std::vector<uint8_t> bytes, llvm::StringRef path,
                       const ReadOptions &options) {
  return openBytes(FileBytes::own(std::move(bytes), path), options);
}

std::optional<size_t> TensorFile::find(llvm::StringRef name) const {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name)
      return i;
  return std::nullopt;
}

llvm::Expected<Matrix> TensorFile::load(size_t index) {
  if (index >= infos.size())
    return readErrorV(filePath, "no tensor number {0}; the file holds {1}",
                      index, infos.size());
  const TensorInfo &info = infos[index];
  if (!info.unsupported.empty())
    return readErrorV(filePath, "tensor '{0}': {1}", printable(info.name),
                      info.unsupported);
  return read(index);
}
