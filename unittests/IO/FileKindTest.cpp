//===- FileKindTest.cpp ---------------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "llvm/Support/Endian.h"
#include "gmock/gmock.h"
#include <sys/stat.h>

using namespace sparseditto;
using namespace sparseditto::test;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// What opening a file with this content says, under several names.
static void expectForeign(const std::string &content, llvm::StringRef what) {
  for (llvm::StringRef extension :
       {".bin", ".safetensors", ".npy", ".npz", ".mtx", ".smtx"})
    EXPECT_THAT(errorOf(content, extension), HasSubstr(what.str()))
        << extension.str();
}

template <size_t size> static std::string raw(const char (&text)[size]) {
  return std::string(text, size - 1) + std::string(600, '\0');
}

TEST(FileKind, NamesForeignFormats) {
  expectForeign(raw("version https://git-lfs.github.com/spec/v1\noid sha256:"),
                "this is a git-LFS pointer; fetch the content with 'git lfs "
                "pull'");
  expectForeign(raw("\x89HDF\r\n\x1a\n"), "this is an HDF5 file");
  expectForeign(raw("\x1f\x8b\x08"), "this is gzip data; decompress it first");
  expectForeign(raw("BZh9"), "this is bzip2 data");
  expectForeign(raw("\xfd\x37zXZ\0"), "this is xz data");
  expectForeign(raw("\x28\xb5\x2f\xfd"), "this is zstd data");
  expectForeign(raw("\x1c\0\0\0TFL3"), "this is a TensorFlow Lite flatbuffer");
  expectForeign(raw("GGUF\3\0\0\0"), "this is a GGUF file");
  expectForeign(raw("ML\xefR"), "this is MLIR bytecode; pass it to sd-opt");
  expectForeign(raw("\x7f"
                    "ELF"),
                "this is an ELF binary");
  expectForeign(raw("\x80\x02}q\1"), "this is a Python pickle (an old PyTorch "
                                     "checkpoint?); save the state dict with "
                                     "safetensors.torch.save_file");
  expectForeign(raw("\x80\x04\x95\x10"), "this is a Python pickle");
  expectForeign(raw("\x08\x07\x12\x07pytorch"),
                "this is a protobuf, probably an ONNX model");
  expectForeign("\n<!DOCTYPE html><html>", "this is an HTML page (a failed "
                                           "download?)");
  expectForeign("<HTML>", "this is an HTML page");
  std::string tar(1024, '\0');
  tar.replace(257, 5, "ustar");
  tar[0] = 'w';
  expectForeign(tar, "this is a tar archive; unpack it first");
}

TEST(FileKind, NamesTextFormats) {
  EXPECT_THAT(errorOf("# Extended FROSTT format\n2 1\n", ".txt"),
              HasSubstr("this is a FROSTT tensor (.tns); convert it"));
  EXPECT_THAT(errorOf("1 1 1.0\n", ".tns"), HasSubstr("this is a FROSTT"));
  EXPECT_THAT(errorOf("{\"weight_map\": {}}", ".json"),
              HasSubstr("this is JSON text (an index of shards?); pass the "
                        ".safetensors files that it lists"));
  EXPECT_EQ(errorOf("hello world", ".txt"),
            "f.txt: unrecognized format: the file starts with "
            "68656c6c6f20776f; want .safetensors, .npy, .npz, .mtx or .smtx");
}

TEST(FileKind, ContentDecidesNotTheName) {
  const char *mtx = "%%MatrixMarket matrix array real general\n1 1\n7\n";
  for (llvm::StringRef extension : {".mtx", ".smtx", ".bin", ".npy"}) {
    auto file = openBytesOrFail(mtx, ("f" + extension).str());
    ASSERT_TRUE(file);
    EXPECT_EQ(file->format(), FileFormat::MatrixMarket);
    EXPECT_EQ(loadOrFail(*file, 0).value(0, 0), 7);
  }
  EXPECT_EQ(name(FileFormat::MatrixMarket), "mtx");
  EXPECT_EQ(name(FileFormat::Smtx), "smtx");
  EXPECT_EQ(name(FileFormat::Safetensors), "safetensors");
  EXPECT_EQ(name(FileFormat::Npy), "npy");
  EXPECT_EQ(name(FileFormat::Npz), "npz");
}

// The length field of a safetensors file may look like any other magic.
TEST(FileKind, HeaderLengthIsNotAMagic) {
  for (unsigned length : {0x0280u, 0x8b1fu, 0x0580u}) {
    std::string header = R"({"w":{"dtype":"U8","shape":[1],)"
                         R"("data_offsets":[0,1]}})";
    header.resize(length, ' ');
    char prefix[8];
    llvm::support::endian::write64le(prefix, length);
    std::string content = std::string(prefix, 8) + header + "x";
    EXPECT_EQ(errorOf(content, ".safetensors"), "") << length;
    EXPECT_EQ(errorOf(content, ".bin"), "") << length;
  }
}

TEST(FileKind, RefusesWhatIsNotAFile) {
  TempDir dir;
  auto error = [&](llvm::StringRef path) {
    return errorOf(TensorFile::open(path));
  };
  std::string missing = dir.path("none.npy");
  EXPECT_EQ(error(missing),
            missing + ": cannot open: No such file or directory");
  EXPECT_THAT(error(dir.path(".")),
              HasSubstr("is a directory; want a file with weights"));
  EXPECT_EQ(error(dir.write("empty.npy", "")),
            dir.path("empty.npy") + ": file is empty");
  // Opening this the ordinary way would wait for a writer.
  std::string pipe = dir.path("pipe.npy");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error(pipe), HasSubstr("is not a regular file"));
  EXPECT_THAT(error("/dev/null"), HasSubstr("is not a regular file"));
}

TEST(FileKind, RefusesRealForeignFiles) {
  REQUIRE_REAL_DATA(
      pickle, "distiller/checkpoint_trained_ch_regularized_dense.pth.tar");
  EXPECT_THAT(
      errorOf(TensorFile::open(pickle)),
      HasSubstr("this is a Python pickle (an old PyTorch checkpoint?)"));
  for (const char *tns : {"coordinate_above_dimension", "coordinate_narrow",
                          "coordinate_negative", "coordinate_overflow",
                          "coordinate_zero", "rank_511"}) {
    REQUIRE_REAL_DATA(path,
                      (llvm::Twine("mlir-tensors/") + tns + ".tns").str());
    EXPECT_EQ(errorOf(TensorFile::open(path)),
              path + ": this is a FROSTT tensor (.tns); convert it to .mtx or "
                     ".npy");
  }
  REQUIRE_REAL_DATA(csv, "ncu/copy_blocked.csv");
  EXPECT_THAT(errorOf(TensorFile::open(csv)), HasSubstr("unrecognized format"));
}
