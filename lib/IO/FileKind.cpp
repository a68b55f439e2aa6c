//===- FileKind.cpp - Recognise a file by its content ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileKind.h"
#include "ReaderSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"

using namespace sparseditto;
using namespace llvm::support::endian;

namespace {
/// A format that is named and refused.
struct ForeignFormat {
  size_t offset;
  llvm::StringRef magic;
  llvm::StringRef what;
  llvm::StringRef advice;
};
} // namespace

// StringRef from an array keeps embedded zero bytes; the terminator is dropped.
template <size_t size>
static constexpr llvm::StringRef raw(const char (&s)[size]) {
  return llvm::StringRef(s, size - 1);
}

static constexpr llvm::StringRef torchAdvice =
    "save the state dict with safetensors.torch.save_file";
static constexpr llvm::StringRef decompress = "decompress it first";
static constexpr llvm::StringRef exportWeights =
    "export the weights to .safetensors or .npz";

static const ForeignFormat foreignFormats[] = {
    {0, raw("version https://git-lfs.github.com/spec/"), "a git-LFS pointer",
     "fetch the content with 'git lfs pull'"},
    {0, raw("\x89HDF\r\n\x1a\n"), "an HDF5 file (Keras, PyTables)",
     exportWeights},
    {0, raw("\x1f\x8b"), "gzip data", decompress},
    {0, raw("BZh"), "bzip2 data", decompress},
    {0,
     raw("\xfd"
         "7zXZ\0"),
     "xz data", decompress},
    {0, raw("\x28\xb5\x2f\xfd"), "zstd data", decompress},
    {4, raw("TFL3"), "a TensorFlow Lite flatbuffer", exportWeights},
    {0, raw("GGUF"), "a GGUF file", exportWeights},
    {0, raw("ML\xefR"), "MLIR bytecode", "pass it to sd-opt"},
    {0,
     raw("\x7f"
         "ELF"),
     "an ELF binary", "pass the weights"},
    {257, raw("ustar"), "a tar archive", "unpack it first"},
};

static std::string firstBytes(llvm::ArrayRef<uint8_t> bytes) {
  return llvm::toHex(bytes.take_front(8), /*LowerCase=*/true);
}

/// A header length that a safetensors file can have, then its JSON object.
/// Looked for before other magics, because the length may be any number.
static bool looksLikeSafetensors(llvm::ArrayRef<uint8_t> bytes) {
  return bytes.size() > 8 && bytes[8] == '{' &&
         read64le(bytes.data()) < (uint64_t(1) << 32);
}

/// Protobuf of an ONNX model: ir_version (field 1, varint below 128), then
/// producer_name, producer_version, domain, doc_string or graph (fields 2, 3,
/// 4, 6, 7; length-delimited).
static bool looksLikeOnnx(llvm::ArrayRef<uint8_t> bytes) {
  return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 &&
         bytes[1] < 0x20 &&
         (bytes[2] == 0x12 || bytes[2] == 0x1a || bytes[2] == 0x22 ||
          bytes[2] == 0x32 || bytes[2] == 0x3a);
}

static llvm::Error refuse(const FileBytes &file, llvm::StringRef what,
                          llvm::StringRef advice) {
  return readErrorV(file.path(), "this is {0}; {1}", what, advice);
}

llvm::Expected<FileFormat> sparseditto::recognizeFormat(const FileBytes &file) {
  llvm::ArrayRef<uint8_t> bytes = file.bytes();
  llvm::StringRef text = file.text();
  llvm::StringRef extension = llvm::sys::path::extension(file.path());
  if (bytes.empty())
    return readError(file.path(), "file is empty");

  if (looksLikeSafetensors(bytes))
    return FileFormat::Safetensors;
  if (text.starts_with("\x93NUMPY"))
    return FileFormat::Npy;
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06"))
    return FileFormat::Npz;
  for (const ForeignFormat &format : foreignFormats)
    if (text.substr(format.offset).starts_with(format.magic))
      return refuse(file, format.what, format.advice);
  if (bytes.size() > 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5 &&
      (bytes[2] != 0 || extension != ".safetensors"))
    return refuse(file, "a Python pickle (an old PyTorch checkpoint?)",
                  torchAdvice);
  if (looksLikeOnnx(bytes))
    return refuse(file, "a protobuf, probably an ONNX model", exportWeights);

  llvm::StringRef start = text.take_front(4096).ltrim();
  if (start.starts_with_insensitive("%%MatrixMarket"))
    return FileFormat::MatrixMarket;
  if (start.starts_with_insensitive("<!doctype html") ||
      start.starts_with_insensitive("<html"))
    return refuse(file, "an HTML page (a failed download?)",
                  "download the file itself");

  // Nothing in the content told; the reader that the name asks for says best
  // what is wrong.
  if (extension == ".safetensors")
    return FileFormat::Safetensors;
  if (extension == ".mtx")
    return FileFormat::MatrixMarket;
  if (extension == ".smtx")
    return FileFormat::Smtx;
  if (extension == ".tns" || start.starts_with("# Extended FROSTT"))
    return refuse(file, "a FROSTT tensor (.tns)", "convert it to .mtx or .npy");
  if (start.starts_with("{"))
    return refuse(file, "JSON text (an index of shards?)",
                  "pass the .safetensors files that it lists");
  return readErrorV(file.path(),
                    "unrecognized format: the file starts with {0}; want "
                    ".safetensors, .npy, .npz, .mtx or .smtx",
                    firstBytes(bytes));
}
