//===- NpzReader.cpp - .npz archives --------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A zip archive whose members are .npy files. Opening inflates no more than
// their headers.
//
//===----------------------------------------------------------------------===//

#include "NpyHeader.h"
#include "ReaderSupport.h"
#include "ZipArchive.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;

namespace {
class NpzFile final : public TensorFile {
public:
  NpzFile(std::shared_ptr<FileBytes> bytes, const ReadOptions &options)
      : TensorFile(bytes->path(), FileFormat::Npz, options),
        file(std::move(bytes)) {}

  llvm::Error readHeaders();

  void dropPages(size_t index) override {
    file->dropPages(
        uint64_t(arrays[index].member.data.data() - file->bytes().data()),
        arrays[index].member.data.size());
  }

protected:
  llvm::Expected<Matrix> read(size_t index) override;

private:
  struct Array {
    ZipMember member;
    NpyHeader header;
  };
  llvm::Error addMember(const ZipMember &member);
  llvm::Error memberError(const ZipMember &member, llvm::Error error) const {
    return readErrorV(filePath, "member '{0}': {1}", printable(member.name),
                      llvm::toString(std::move(error)));
  }
  llvm::Error readInto(const Array &array, Matrix &matrix) const;

  std::shared_ptr<FileBytes> file;
  std::vector<Array> arrays; ///< Parallel to infos.
};
} // namespace

static bool hasMember(llvm::ArrayRef<ZipMember> members, llvm::StringRef name) {
  return llvm::any_of(members, [&](const ZipMember &member) {
    return member.name == name || member.name.ends_with(("/" + name).str());
  });
}

static llvm::Expected<NpyHeader> readMemberHeader(const ZipMember &member) {
  ZipStream stream(member);
  std::vector<uint8_t> bytes(std::min<uint64_t>(member.size, 12));
  if (llvm::Error error = stream.read(bytes.data(), bytes.size()))
    return error;
  llvm::Expected<uint64_t> total = NpyHeader::headerBytes(bytes);
  if (!total)
    return total.takeError();
  const size_t have = bytes.size();
  if (*total > have) {
    bytes.resize(*total);
    if (llvm::Error error = stream.read(bytes.data() + have, *total - have))
      return error;
  }
  return NpyHeader::parse(bytes);
}

llvm::Error NpzFile::addMember(const ZipMember &member) {
  if (member.name.ends_with("/") && member.size == 0)
    return llvm::Error::success(); // A directory.
  Array array;
  array.member = member;
  if (member.name.ends_with(".npy")) {
    llvm::Expected<NpyHeader> header = readMemberHeader(member);
    if (!header)
      return memberError(member, header.takeError());
    if (llvm::Error error =
            header->checkDataBytes(member.size - header->dataOffset))
      return memberError(member, std::move(error));
    array.header = std::move(*header);
    array.header.info.name = member.name.drop_back(4).str();
  } else {
    TensorInfo &info = array.header.info;
    info.name = member.name.str();
    info.rows = info.cols = 0;
    info.unsupported = "archive member is not an array (.npy)";
  }
  infos.push_back(array.header.info);
  arrays.push_back(std::move(array));
  return llvm::Error::success();
}

llvm::Error NpzFile::readHeaders() {
  llvm::Expected<std::vector<ZipMember>> members =
      readZipDirectory(file->bytes());
  if (!members)
    return readError(filePath, llvm::toString(members.takeError()));
  if (hasMember(*members, "data.pkl"))
    return readError(filePath,
                     "this is a PyTorch checkpoint (zip with a pickle); save "
                     "the state dict with safetensors.torch.save_file");
  if (hasMember(*members, "format.npy") && hasMember(*members, "indptr.npy"))
    return readError(filePath, "this is a sparse matrix saved by scipy; save "
                               "it dense, or with scipy.io.mmwrite as .mtx");
  if (llvm::none_of(*members, [](const ZipMember &member) {
        return member.name.ends_with(".npy");
      }))
    return readErrorV(
        filePath, "zip archive holds no .npy array{0}; want an .npz file",
        members->empty()
            ? std::string()
            : " (first member: '" + printable(members->front().name) + "')");
  for (const ZipMember &member : *members)
    if (llvm::Error error = addMember(member))
      return error;
  return llvm::Error::success();
}

llvm::Error NpzFile::readInto(const Array &array, Matrix &matrix) const {
  const NpyHeader &header = array.header;
  ZipStream stream(array.member);
  std::vector<uint8_t> skipped(header.dataOffset);
  if (llvm::Error error = stream.read(skipped.data(), skipped.size()))
    return error;
  if (header.isPlain()) {
    if (llvm::Error error =
            stream.read(matrix.mutableData(), matrix.numBytes()))
      return error;
  } else {
    llvm::Expected<Matrix> stored = Matrix::allocate(
        header.info.name, header.info.type, header.info.rows, header.info.cols);
    if (!stored)
      return stored.takeError();
    if (llvm::Error error =
            stream.read(stored->mutableData(), stored->numBytes()))
      return error;
    header.normalize(stored->data, matrix.mutableData());
  }
  return stream.finish();
}

llvm::Expected<Matrix> NpzFile::read(size_t index) {
  if (llvm::Error error = file->checkUnchanged())
    return error;
  const Array &array = arrays[index];
  if (array.member.isStored() && array.header.isPlain()) {
    if (llvm::Error error = checkStoredMember(array.member))
      return memberError(array.member, std::move(error));
    return borrowMatrix(file, infos[index],
                        array.member.data.data() + array.header.dataOffset);
  }
  if (llvm::Error error = checkDenseLimit(
          filePath, infos[index], options,
          array.member.isStored() ? "as a copy" : "decompressed"))
    return error;
  llvm::Expected<Matrix> matrix = allocateMatrix(filePath, infos[index]);
  if (!matrix)
    return matrix;
  if (llvm::Error error = readInto(array, *matrix))
    return memberError(array.member, std::move(error));
  return matrix;
}

OpenedFile sparseditto::openNpz(std::shared_ptr<FileBytes> file,
                                const ReadOptions &options) {
  auto result = std::make_unique<NpzFile>(std::move(file), options);
  if (llvm::Error error = result->readHeaders())
    return error;
  return result;
}
