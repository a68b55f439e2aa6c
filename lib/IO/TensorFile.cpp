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
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstring>

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

static OpenedFile openReader(std::shared_ptr<FileBytes> file,
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
  llvm::Expected<std::shared_ptr<FileBytes>> bytes = FileBytes::map(path);
  if (!bytes)
    return bytes.takeError();
  OpenedFile file = openReader(std::move(*bytes), options);
  if (file)
    (*file)->listTensors();
  return file;
}

llvm::Expected<std::unique_ptr<TensorFile>>
TensorFile::openBuffer(std::vector<uint8_t> bytes, llvm::StringRef path,
                       const ReadOptions &options) {
  OpenedFile file = openReader(FileBytes::own(std::move(bytes), path), options);
  if (file)
    (*file)->listTensors();
  return file;
}

void TensorFile::listTensors() {
  llvm::StringMap<size_t> places;
  for (size_t i = 0; i < infos.size(); ++i)
    places[infos[i].name] = i;
  // The place of a tensor with this name and the shape of another.
  auto findAlike = [&](const llvm::Twine &name,
                       const TensorInfo &other) -> std::optional<size_t> {
    auto found = places.find(name.str());
    if (found == places.end() || infos[found->second].shape != other.shape)
      return std::nullopt;
    return found->second;
  };
  for (size_t i = 0; i < infos.size(); ++i) {
    TensorInfo info = infos[i];
    Source source = {i, std::nullopt};
    llvm::StringRef base = infos[i].name;
    if (base.consume_back("_mask") && !places.count(base) &&
        findAlike(base + "_orig", infos[i]))
      continue; // Part of the pair.
    base = infos[i].name;
    if (base.consume_back("_orig") && !places.count(base))
      if ((source.mask = findAlike(base + "_mask", infos[i]))) {
        const TensorInfo &mask = infos[*source.mask];
        info.mask = mask.name;
        info.name = base.str();
        if (info.unsupported.empty() && !mask.unsupported.empty())
          info.unsupported = "its mask: " + mask.unsupported;
      }
    listed.push_back(std::move(info));
    sources.push_back(source);
  }
}

std::optional<size_t> TensorFile::find(llvm::StringRef name) const {
  for (size_t i = 0; i < listed.size(); ++i)
    if (listed[i].name == name)
      return i;
  return std::nullopt;
}

llvm::Expected<size_t> TensorFile::select(llvm::StringRef name) const {
  if (name.empty()) {
    if (listed.size() == 1)
      return 0;
    return readErrorV(filePath, "holds {0} tensors, name one as \"{1}#NAME\"",
                      listed.size(), filePath);
  }
  if (std::optional<size_t> index = find(name))
    return *index;
  return readErrorV(filePath, "no tensor '{0}'", printable(name));
}

llvm::Expected<Matrix> TensorFile::load(size_t index) {
  if (index >= listed.size())
    return readErrorV(filePath, "no tensor number {0}; the file holds {1}",
                      index, listed.size());
  const TensorInfo &info = listed[index];
  if (!info.unsupported.empty())
    return readErrorV(filePath, "tensor '{0}': {1}", printable(info.name),
                      info.unsupported);
  return sources[index].mask ? readMasked(info, sources[index])
                             : read(sources[index].values);
}

void TensorFile::release(size_t index) {
  if (index >= listed.size())
    return;
  dropPages(sources[index].values);
  if (sources[index].mask)
    dropPages(*sources[index].mask);
}

llvm::Expected<Matrix> TensorFile::readMasked(const TensorInfo &info,
                                              const Source &source) {
  if (llvm::Error error =
          checkDenseLimit(filePath, info, options, "as a masked copy"))
    return error;
  llvm::Expected<Matrix> values = read(source.values);
  if (!values)
    return values;
  llvm::Expected<Matrix> mask = read(*source.mask);
  if (!mask)
    return mask;
  llvm::Expected<Matrix> result = allocateMatrix(filePath, info);
  if (!result)
    return result;
  // Selected, not multiplied: a product would leave -0.0, and NaN from Inf.
  const unsigned size = byteSize(info.type), maskSize = byteSize(mask->type);
  for (int64_t i = 0; i < result->numElements(); ++i) {
    const double keep = loadAsDouble(mask->type, mask->data + i * maskSize);
    if (keep != 0 && keep != 1)
      return readErrorV(filePath,
                        "tensor '{0}': element {1} of its mask is {2}; want 0 "
                        "or 1",
                        printable(info.name), i, keep);
    if (keep == 1)
      std::memcpy(result->mutableData() + i * size, values->data + i * size,
                  size);
  }
  return result;
}
