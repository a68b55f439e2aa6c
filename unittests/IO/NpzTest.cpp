//===- NpzTest.cpp --------------------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NpyBytes.h"
#include "TestFiles.h"
#include "gmock/gmock.h"
#include <cmath>
#include <zlib.h>

using namespace sparseditto;
using namespace sparseditto::test;
using ::testing::HasSubstr;

namespace {

/// One member of an archive under construction, with what may be falsified.
struct Member {
  std::string name, content;
  bool deflate = true;
  bool zip64 = false;
  uint16_t flags = 0;
  int method = -1;          ///< Overrides what `deflate` says.
  uint32_t crcChange = 0;   ///< Added to the true checksum.
  int64_t sizeChange = 0;   ///< Added to the true uncompressed size.
  int64_t offsetChange = 0; ///< Added to the true header offset.
};

std::string number(uint64_t value, unsigned bytes) {
  std::string result;
  for (unsigned i = 0; i < bytes; ++i)
    result += i < 8 ? char(value >> (8 * i)) : '\0';
  return result;
}

std::string deflated(const std::string &content) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string result(deflateBound(&stream, content.size()), '\0');
  stream.next_in = (Bytef *)content.data();
  stream.avail_in = unsigned(content.size());
  stream.next_out = (Bytef *)result.data();
  stream.avail_out = unsigned(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

struct Archive {
  std::string bytes;
  size_t directory = 0, end = 0;
};

Archive zip(const std::vector<Member> &members, bool zip64 = false,
            const std::string &comment = "") {
  Archive archive;
  std::string directory;
  for (const Member &member : members) {
    std::string data =
        member.deflate ? deflated(member.content) : member.content;
    uint32_t crc = uint32_t(::crc32(0, (const Bytef *)member.content.data(),
                                    unsigned(member.content.size()))) +
                   member.crcChange;
    uint64_t size = member.content.size() + member.sizeChange;
    uint64_t offset = archive.bytes.size() + member.offsetChange;
    int method = member.method >= 0 ? member.method : member.deflate ? 8 : 0;
    std::string extra;
    if (member.zip64)
      extra = number(1, 2) + number(24, 2) + number(size, 8) +
              number(data.size(), 8) + number(offset, 8);
    auto field = [&](uint64_t value) {
      return number(member.zip64 ? 0xffffffff : value, 4);
    };
    std::string common =
        number(20, 2) + number(member.flags, 2) + number(method, 2) +
        number(0, 4) + number(crc, 4) + field(data.size()) + field(size) +
        number(member.name.size(), 2) + number(extra.size(), 2);
    archive.bytes += "PK\3\4" + common + member.name + extra + data;
    directory += "PK\1\2" + number(20, 2) + common + number(0, 10) +
                 field(offset) + member.name + extra;
  }
  archive.directory = archive.bytes.size();
  archive.bytes += directory;
  archive.end = archive.bytes.size();
  if (zip64)
    archive.bytes += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) +
                     number(0, 8) + number(members.size(), 8) +
                     number(members.size(), 8) + number(directory.size(), 8) +
                     number(archive.directory, 8) + "PK\6\7" + number(0, 4) +
                     number(archive.end, 8) + number(1, 4);
  archive.bytes += "PK\5\6" + number(0, 4) +
                   number(zip64 ? 0xffff : members.size(), 2) +
                   number(zip64 ? 0xffff : members.size(), 2) +
                   number(zip64 ? 0xffffffff : directory.size(), 4) +
                   number(zip64 ? 0xffffffff : archive.directory, 4) +
                   number(comment.size(), 2) + comment;
  return archive;
}

/// A u16 array 0, 1, 2, ... of the shape.
std::string array(llvm::StringRef shape, int count,
                  llvm::StringRef fortran = "False") {
  std::string data;
  for (int i = 0; i < count; ++i)
    data += number(i, 2);
  return npyBytes(("{'descr': '<u2', 'fortran_order': " + fortran +
                   ", 'shape': " + shape + ", }")
                      .str(),
                  data);
}

std::string error(const std::string &bytes, const ReadOptions &options = {}) {
  return errorOf(bytes, ".npz", options);
}

std::string error(const Member &member, const ReadOptions &options = {}) {
  return error(zip({member}).bytes, options);
}

} // namespace

TEST(Npz, ReadsStoredAndDeflatedMembers) {
  for (bool zip64 : {false, true})
    for (bool deflate : {false, true}) {
      Member a{"fc1.weight.npy", array("(3, 4)", 12), deflate, zip64};
      Member b{"blocks/0/conv.npy", array("(2, 3, 2, 1)", 12, "True"), deflate,
               zip64};
      Member directory{"blocks/", "", false, zip64};
      auto file = openBytesOrFail(
          zip({a, directory, b}, zip64, "a comment").bytes, "m.npz");
      ASSERT_TRUE(file);
      EXPECT_EQ(file->format(), FileFormat::Npz);
      ASSERT_EQ(file->tensors().size(), 2u);
      EXPECT_EQ(file->tensors()[1].name, "blocks/0/conv");
      Matrix matrix = loadOrFail(*file, 0);
      EXPECT_EQ(matrix.name, "fc1.weight");
      EXPECT_EQ(matrix.value(2, 3), 11);
      EXPECT_EQ(uintptr_t(matrix.data) % 2, 0u);
      file->release(0);
      EXPECT_EQ(matrix.value(2, 3), 11);
      matrix = loadOrFail(*file, 1);
      EXPECT_EQ(matrix.rows, 2);
      EXPECT_EQ(matrix.cols, 6);
      // Fortran order of 2 x 3 x 2 x 1: strides 1, 2, 6.
      EXPECT_EQ(matrix.value(1, 5), 1 + 2 * 2 + 6);
      EXPECT_EQ(matrix.value(0, 1), 6);
    }
}

// A bomb and a lie about the size cost nothing.
TEST(Npz, BoundsDecompression) {
  Member big{"w.npy", npyBytes("{'descr': '|u1', 'fortran_order': False, "
                               "'shape': (1000, 1000)}",
                               std::string(1000000, '\0'))};
  ReadOptions options;
  options.maxDenseBytes = 999999;
  EXPECT_EQ(error(big, options),
            "f.npz: tensor 'w': 1000 x 1000 elements of ui8 need 1000000 bytes "
            "decompressed; the limit is 999999 bytes");
  options.maxDenseBytes = 1000000;
  EXPECT_EQ(error(big, options), "");

  Member lie = big;
  lie.sizeChange = int64_t(1) << 31;
  EXPECT_THAT(error(lie), HasSubstr("member 'w.npy': 2148483776 bytes cannot "
                                    "come from"));
  // The header promises more than the member may hold, and the reverse.
  Member longer{"w.npy", array("(3, 4)", 12)};
  longer.sizeChange = 2;
  EXPECT_THAT(error(longer), HasSubstr("got 26 bytes of data; want 24"));
  Member hidden{"w.npy", array("(3, 4)", 12) + "tail"};
  hidden.sizeChange = -4;
  EXPECT_THAT(error(hidden), HasSubstr("compressed data does not end after"));
  Member missing{"w.npy", array("(3, 4)", 11)};
  missing.sizeChange = 2;
  EXPECT_THAT(error(missing), HasSubstr("compressed data is damaged after"));
}

TEST(Npz, VerifiesChecksums) {
  for (bool deflate : {false, true})
    for (const char *order : {"False", "True"}) {
      Member member{"w.npy", array("(3, 4)", 12, order), deflate};
      ASSERT_EQ(error(member), "");
      member.crcChange = 1;
      EXPECT_THAT(error(member),
                  HasSubstr("f.npz: member 'w.npy': checksum is "));
    }
}

TEST(Npz, RefusesBrokenMembers) {
  Member good{"w.npy", array("(3, 4)", 12)};
  Member member = good;
  member.flags = 1;
  EXPECT_EQ(error(member), "f.npz: member 'w.npy': is encrypted");
  member = good;
  member.method = 12;
  EXPECT_EQ(error(member), "f.npz: member 'w.npy': compression method 12 is "
                           "not supported; want 0 (stored) or 8 (deflate)");
  member = good;
  member.offsetChange = 5;
  EXPECT_EQ(error(member), "f.npz: member 'w.npy': no member header at byte 5");
  member.offsetChange = 1 << 30;
  EXPECT_THAT(error(member), HasSubstr("no member header at byte"));
  member = good;
  member.deflate = false;
  member.sizeChange = 1;
  EXPECT_THAT(error(member), HasSubstr("cannot come from"));
  member = good;
  member.content = "not an array";
  EXPECT_THAT(error(member), HasSubstr("member 'w.npy': got first bytes "
                                       "6e6f7420616e; want the npy magic"));
  member.content = "\x93NUM";
  EXPECT_THAT(error(member), HasSubstr("want the npy magic"));
  EXPECT_THAT(error(zip({good, good}).bytes),
              HasSubstr("member 'w.npy': occurs twice"));
  // One strange member does not hide the arrays, and says what it is.
  auto file =
      openBytesOrFail(zip({{"notes.txt", "hello"}, good}).bytes, "m.npz");
  ASSERT_TRUE(file);
  EXPECT_EQ(llvm::toString(file->load(0).takeError()),
            "m.npz: tensor 'notes.txt': archive member is not an array (.npy)");
  EXPECT_EQ(loadOrFail(*file, 1).value(2, 3), 11);
}

TEST(Npz, RefusesBrokenDirectories) {
  const Member good{"w.npy", array("(3, 4)", 12)};
  for (bool zip64 : {false, true}) {
    Archive archive = zip({good}, zip64);
    ASSERT_EQ(error(archive.bytes), "");
    for (size_t length = 4; length < archive.bytes.size(); ++length)
      EXPECT_NE(error(archive.bytes.substr(0, length)), "") << length;
    // Whatever byte of the directory is damaged: an error, or the right data
    // (the time stamps and attributes are not used).
    for (size_t i = archive.directory; i < archive.bytes.size(); ++i) {
      std::string damaged = archive.bytes;
      damaged[i] ^= 0x40;
      auto file = TensorFile::openBuffer({damaged.begin(), damaged.end()}, "f");
      if (!file) {
        llvm::consumeError(file.takeError());
        continue;
      }
      llvm::Expected<Matrix> matrix = (*file)->load(0);
      if (matrix)
        EXPECT_EQ(matrix->value(2, 3), 11) << i;
      else
        llvm::consumeError(matrix.takeError());
    }
  }
  Archive archive = zip({good});
  EXPECT_EQ(
      error(archive.bytes + "x"),
      "f.npz: zip directory not found at the end of the file; truncated?");
  std::string damaged = archive.bytes;
  damaged[archive.end + 4] = 1;
  EXPECT_THAT(error(damaged), HasSubstr("zip archive has several parts"));
  damaged = archive.bytes;
  damaged[archive.end + 10] = 2;
  EXPECT_THAT(error(damaged), HasSubstr("zip directory has 1 members; its end "
                                        "record says 2"));
  damaged = archive.bytes;
  damaged[archive.end + 16] ^= 1;
  EXPECT_THAT(error(damaged), HasSubstr("does not reach its end record at"));
  damaged = archive.bytes;
  damaged[archive.directory] = 'X';
  EXPECT_THAT(error(damaged), HasSubstr("zip directory entry 0 is damaged"));
  damaged = archive.bytes;
  damaged[archive.directory + 28] = char(200);
  EXPECT_THAT(error(damaged), HasSubstr("zip directory entry 0 is cut off"));
  archive = zip({good}, true);
  damaged = archive.bytes;
  damaged[archive.end] = 'X';
  EXPECT_THAT(error(damaged), HasSubstr("zip64 record expected at byte"));
}

TEST(Npz, NamesOtherArchives) {
  EXPECT_THAT(
      error(zip({{"archive/data.pkl", "x"}, {"archive/data/0", "x"}}).bytes),
      HasSubstr("this is a PyTorch checkpoint (zip with a pickle); save "
                "the state dict with safetensors.torch.save_file"));
  EXPECT_THAT(error(zip({{"indptr.npy", array("(2,)", 2)},
                         {"format.npy", array("(2,)", 2)}})
                        .bytes),
              HasSubstr("this is a sparse matrix saved by scipy"));
  EXPECT_EQ(error(zip({{"word/document.xml", "x"}}).bytes),
            "f.npz: zip archive holds no .npy array (first member: "
            "'word/document.xml'); want an .npz file");
  EXPECT_EQ(error(zip({}).bytes),
            "f.npz: zip archive holds no .npy array; want an .npz file");
}

TEST(Npz, ReadsRealFiles) {
  struct Row {
    const char *path, *tensor;
    int64_t rows, cols, nonZeros;
  };
  for (Row row :
       {Row{"lyra/lyra_16khz_gru_layer", "weight", 3072, 1024, 196608},
        Row{"lyra/lyra_16khz_conv_to_gates", "weight", 3072, 1024, 251664},
        Row{"lyra/lyra_16khz_means", "weight", 512, 32, 16384},
        Row{"lyra/lyra_16khz_transpose_0", "weight", 1024, 512, 41936},
        Row{"distiller/checkpoint_trained_ch_regularized_dense",
            "module.layer2.1.conv2.weight", 32, 288, 5184},
        Row{"distiller/checkpoint_trained_ch_regularized_dense",
            "module.layer3.1.conv2.weight", 64, 576, 29952}}) {
    REQUIRE_REAL_DATA(path, (llvm::Twine(row.path) + ".npz").str());
    auto file = openOrFail(path);
    ASSERT_TRUE(file);
    auto index = file->find(row.tensor);
    ASSERT_TRUE(index) << row.path;
    Matrix matrix = loadOrFail(*file, *index);
    EXPECT_EQ(matrix.rows, row.rows) << row.path;
    EXPECT_EQ(matrix.cols, row.cols) << row.path;
    EXPECT_EQ(countNonZeros(matrix), row.nonZeros) << row.path;
  }
  // The pruned zeros of a masked layer keep their signs.
  REQUIRE_REAL_DATA(path,
                    "distiller/checkpoint_trained_ch_regularized_dense.npz");
  auto file = openOrFail(path);
  Matrix matrix =
      loadOrFail(*file, *file->find("module.layer2.1.conv2.weight"));
  int64_t negativeZeros = 0;
  for (int64_t i = 0; i < matrix.numElements(); ++i) {
    double value = matrix.value(0, i);
    negativeZeros += value == 0 && std::signbit(value);
  }
  EXPECT_EQ(negativeZeros, 1942);
}
