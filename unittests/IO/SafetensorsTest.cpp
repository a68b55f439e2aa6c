//===- SafetensorsTest.cpp ------------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "sparseditto/IO/SafetensorsWriter.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include <cmath>
#include <fstream>
#include <limits>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::test;
using ::testing::HasSubstr;

namespace {

std::string withLength(uint64_t length, llvm::StringRef rest) {
  char bytes[8];
  llvm::support::endian::write64le(bytes, length);
  return std::string(bytes, 8) + rest.str();
}

std::string file(llvm::StringRef header, size_t dataBytes) {
  return withLength(header.size(), header) + std::string(dataBytes, '\1');
}

std::string error(llvm::StringRef header, size_t dataBytes = 0) {
  return errorOf(file(header, dataBytes), ".safetensors");
}

template <typename T> llvm::ArrayRef<uint8_t> rawBytes(const T &values) {
  return {reinterpret_cast<const uint8_t *>(values.data()),
          values.size() * sizeof(values[0])};
}

} // namespace

TEST(Safetensors, RoundTripsEveryType) {
  TempDir dir;
  std::vector<uint8_t> bytes(3 * 5 * 8);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i * 37 + 11);
  std::vector<SafetensorsEntry> entries;
  for (int t = int(ElementType::F64); t <= int(ElementType::Bool); ++t) {
    ElementType type = ElementType(t);
    entries.push_back({"t." + name(type).str(),
                       type,
                       {3, 5},
                       llvm::ArrayRef(bytes).take_front(15 * byteSize(type))});
  }
  std::string path = dir.path("all.safetensors");
  ASSERT_FALSE(llvm::errorToBool(writeSafetensors(
      path, entries, {{"format", "csr"}, {"quote", "a \"b\"\n"}})));

  auto opened = openOrFail(path);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->format(), FileFormat::Safetensors);
  EXPECT_EQ(opened->tensors().size(), entries.size());
  EXPECT_EQ(opened->metadata().at("format"), "csr");
  EXPECT_EQ(opened->metadata().at("quote"), "a \"b\"\n");
  for (const SafetensorsEntry &entry : entries) {
    auto index = opened->find(entry.name);
    ASSERT_TRUE(index) << entry.name;
    Matrix matrix = loadOrFail(*opened, *index);
    EXPECT_EQ(matrix.type, entry.type);
    EXPECT_EQ(matrix.name, entry.name);
    EXPECT_EQ(matrix.sourceFile, path);
    EXPECT_EQ(matrix.rows, 3);
    EXPECT_EQ(matrix.cols, 5);
    EXPECT_EQ(matrix.bytes(), entry.bytes) << entry.name;
    EXPECT_EQ(uintptr_t(matrix.data) % byteSize(entry.type), 0u);
  }
  EXPECT_FALSE(opened->find("absent"));
  EXPECT_THAT(llvm::toString(opened->load(99).takeError()),
              HasSubstr("no tensor number 99; the file holds 15"));
}

TEST(Safetensors, FlattensShapes) {
  auto opened = openBytesOrFail(
      file(R"({"scalar":{"dtype":"U8","shape":[],"data_offsets":[0,1]},)"
           R"("bias":{"dtype":"U8","shape":[7],"data_offsets":[1,8]},)"
           R"("conv":{"dtype":"U8","shape":[2,3,2,2],"data_offsets":[8,32]},)"
           R"("none":{"dtype":"F32","shape":[4,0],"data_offsets":[32,32]}})",
           32),
      "f.safetensors");
  ASSERT_TRUE(opened);
  auto shape = [&](llvm::StringRef name) {
    Matrix m = loadOrFail(*opened, *opened->find(name));
    return std::make_pair(m.rows, m.cols);
  };
  EXPECT_EQ(shape("scalar"), std::make_pair(int64_t(1), int64_t(1)));
  EXPECT_EQ(shape("bias"), std::make_pair(int64_t(1), int64_t(7)));
  EXPECT_EQ(shape("conv"), std::make_pair(int64_t(2), int64_t(12)));
  EXPECT_EQ(shape("none"), std::make_pair(int64_t(4), int64_t(0)));
  Matrix conv = loadOrFail(*opened, *opened->find("conv"));
  EXPECT_EQ(conv.originalShape, (std::vector<int64_t>{2, 3, 2, 2}));
  EXPECT_EQ(opened->tensors()[0].name, "scalar"); // Order of the data.
}

TEST(Safetensors, MisalignedDataIsCopiedToItsAlignment) {
  // A header of odd length puts the f32 data at an odd address.
  for (llvm::StringRef pad : {"", " ", "  ", "   "}) {
    std::string header =
        R"({"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})" +
        pad.str();
    auto opened = openBytesOrFail(file(header, 8), "f.safetensors");
    Matrix matrix = loadOrFail(*opened, 0);
    EXPECT_EQ(uintptr_t(matrix.data) % 4, 0u);
    EXPECT_EQ(matrix.bytes(),
              llvm::ArrayRef<uint8_t>(std::vector<uint8_t>(8, uint8_t(1))));
  }
}

TEST(Safetensors, MatricesOutliveTheFile) {
  TempDir dir;
  std::vector<float> values = {1, 2, 3, 4};
  std::string path = dir.path("w.safetensors");
  ASSERT_FALSE(llvm::errorToBool(writeSafetensors(
      path, {{"w", ElementType::F32, {2, 2}, rawBytes(values)}})));
  auto opened = openOrFail(path);
  Matrix matrix = loadOrFail(*opened, 0);
  opened->release(0);
  opened.reset();
  EXPECT_EQ(matrix.value(1, 0), 3);
}

TEST(Safetensors, RefusesBrokenHeaders) {
  const std::string one =
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  ASSERT_EQ(error(one, 8), "");

  EXPECT_THAT(errorOf("abc", ".safetensors"),
              HasSubstr("f.safetensors: file has 3 bytes; a safetensors file"));
  EXPECT_THAT(errorOf(withLength(UINT64_MAX, "{}"), ".safetensors"),
              HasSubstr("header length 18446744073709551615 is over the limit "
                        "of 100000000 bytes"));
  EXPECT_THAT(errorOf(withLength(3000, "{}"), ".safetensors"),
              HasSubstr("header length 3000 runs past the end of the file, "
                        "which has 10 bytes; truncated?"));
  EXPECT_THAT(error("[]"), HasSubstr("header starts with '[]'; want '{'"));
  EXPECT_THAT(error("{\"a\": }"), HasSubstr("header is not valid JSON: "));
  EXPECT_THAT(error("{\"a\xff\":1}"), HasSubstr("header is not valid JSON: "));
  // A million brackets would overflow the stack of a recursive parser.
  EXPECT_THAT(error("{\"a\":" + std::string(1000000, '[')),
              HasSubstr("header nests 1000001 levels deep; want at most 3"));
  EXPECT_THAT(error(one + one, 8), HasSubstr("header is not valid JSON: "));
  EXPECT_THAT(error(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                    8),
              HasSubstr("header names tensor 'w' twice"));
  // The same name in another spelling, and a repeated inner key.
  EXPECT_THAT(
      error(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("\u0077":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            8),
      HasSubstr("header repeats a key"));
  EXPECT_THAT(error(R"({"w":{"dtype":"F32","dtype":"U8","shape":[2],)"
                    R"("data_offsets":[0,8]}})",
                    8),
              HasSubstr("header repeats a key"));
  EXPECT_THAT(error(R"({"__metadata__":7})"),
              HasSubstr("'__metadata__' is not an object"));
  EXPECT_THAT(error(R"({"__metadata__":{"k":7}})"),
              HasSubstr("'__metadata__' key 'k' is not a string"));
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string good =
      file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  ASSERT_EQ(errorOf(good, ".safetensors"), "");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(errorOf(good.substr(0, length), ".safetensors"), "") << length;
}

TEST(Safetensors, RefusesBrokenEntries) {
  auto entry = [](llvm::StringRef body, size_t data = 8) {
    return error(("{\"w\":" + body + "}").str(), data);
  };
  EXPECT_THAT(entry("7"), HasSubstr("tensor 'w': header entry is not an "
                                    "object"));
  EXPECT_THAT(entry(R"({"shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("tensor 'w': header entry has no string 'dtype'"));
  EXPECT_THAT(entry(R"({"dtype":"F32","data_offsets":[0,8]})"),
              HasSubstr("tensor 'w': header entry has no array 'shape'"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"),
              HasSubstr("has no 'data_offsets' of two numbers"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[-1,8]})"),
              HasSubstr("'data_offsets' are not two non-negative integers"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("data_offsets [8, 0] are not a range within the 8 "
                        "bytes of data that the file holds"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,16]})"),
              HasSubstr("data_offsets [0, 16] are not a range within the 8"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
              HasSubstr("'shape' is not an array of non-negative integers"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,8]})"),
              HasSubstr("'shape' is not an array of non-negative integers"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("data_offsets [0, 8] span 8 bytes, but shape [3] of "
                        "F32 takes 12"));
  // 2^62 x 2 x 4 bytes is 2^65; as a 64-bit product it would be 0.
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[4611686018427387904,2,2],)"
                    R"("data_offsets":[0,0]})",
                    0),
              HasSubstr("size of shape [4611686018427387904, 2, 2] overflows"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[0,4611686018427387904,4],)"
                    R"("data_offsets":[0,0]})",
                    0),
              HasSubstr("overflows"));
}

TEST(Safetensors, RefusesOverlapsGapsAndTrailingBytes) {
  auto two = [](int b0, int e0, int b1, int e1, size_t data) {
    return error(
        llvm::formatv(R"({{"a":{{"dtype":"U8","shape":[{0}],)"
                      R"("data_offsets":[{1},{2}]},"b":{{"dtype":)"
                      R"("U8","shape":[{3}],"data_offsets":[{4},{5}]}})",
                      e0 - b0, b0, e0, e1 - b1, b1, e1)
            .str(),
        data);
  };
  EXPECT_EQ(two(0, 4, 4, 8, 8), "");
  EXPECT_EQ(two(4, 8, 0, 4, 8), "");
  EXPECT_THAT(two(0, 5, 4, 8, 8),
              HasSubstr("tensor 'b': data_offsets [4, 8] overlap tensor 'a', "
                        "which ends at 5"));
  EXPECT_THAT(two(0, 3, 4, 8, 8),
              HasSubstr("tensor 'b': 1 bytes before its data, at offset 3, "
                        "belong to no tensor"));
  EXPECT_THAT(two(0, 4, 4, 8, 10),
              HasSubstr("2 bytes after the last tensor, at offset 8, belong to "
                        "no tensor"));
  EXPECT_THAT(error("{}", 1), HasSubstr("1 bytes after the last tensor"));
  EXPECT_EQ(error("{}", 0), "");
}

TEST(Safetensors, UnknownTypeHidesNoOtherTensor) {
  auto opened = openBytesOrFail(
      file(R"({"a":{"dtype":"F4","shape":[16],"data_offsets":[0,8]},)"
           R"("b":{"dtype":"U8","shape":[2,2],"data_offsets":[8,12]}})",
           12),
      "f.safetensors");
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->tensors()[0].unsupported.empty());
  std::string message = llvm::toString(opened->load(0).takeError());
  EXPECT_THAT(message, HasSubstr("f.safetensors: tensor 'a': dtype 'F4' (data "
                                 "at byte "));
  EXPECT_EQ(loadOrFail(*opened, 1).numBytes(), 4u);
  // Spellings are exact: this is not the format's name for half.
  EXPECT_THAT(
      error(R"({"a":{"dtype":"f16","shape":[4],"data_offsets":[0,8]}})", 8),
      HasSubstr("dtype 'f16'"));
}

// What torch.nn.utils.prune leaves in a state dict.
TEST(Safetensors, AppliesPruningMasks) {
  TempDir dir;
  std::vector<float> weight = {1, -2, std::numeric_limits<float>::infinity(),
                               -4};
  std::vector<float> mask = {1, 0, 0, 1};
  std::vector<uint8_t> bits = {0, 1, 1, 0};
  std::vector<SafetensorsEntry> entries = {
      {"fc.weight_orig", ElementType::F32, {2, 2}, rawBytes(weight)},
      {"fc.weight_mask", ElementType::F32, {2, 2}, rawBytes(mask)},
      {"out.weight_orig", ElementType::F32, {2, 2}, rawBytes(weight)},
      {"out.weight_mask", ElementType::Bool, {2, 2}, bits},
      // No pairs: another shape, a name that is taken, a mask alone.
      {"a_orig", ElementType::F32, {4}, rawBytes(weight)},
      {"a_mask", ElementType::Bool, {2, 2}, bits},
      {"b_orig", ElementType::F32, {4}, rawBytes(weight)},
      {"b_mask", ElementType::Bool, {4}, bits},
      {"b", ElementType::F32, {4}, rawBytes(weight)},
      {"attention_mask", ElementType::Bool, {4}, bits}};
  std::string path = dir.path("pruned.safetensors");
  ASSERT_FALSE(llvm::errorToBool(writeSafetensors(path, entries)));
  auto opened = openOrFail(path);
  std::vector<std::string> names;
  for (const TensorInfo &info : opened->tensors())
    names.push_back(info.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre(
                         "fc.weight", "out.weight", "a_orig", "a_mask",
                         "b_orig", "b_mask", "b", "attention_mask"));
  size_t fc = *opened->find("fc.weight");
  EXPECT_EQ(opened->tensors()[fc].mask, "fc.weight_mask");
  EXPECT_EQ(opened->tensors()[*opened->find("b")].mask, "");
  Matrix matrix = loadOrFail(*opened, fc);
  EXPECT_EQ(matrix.name, "fc.weight");
  EXPECT_EQ(matrix.value(0, 0), 1);
  EXPECT_EQ(matrix.value(0, 1), 0);
  EXPECT_FALSE(std::signbit(matrix.value(0, 1)));
  EXPECT_EQ(matrix.value(1, 0), 0); // Not NaN.
  EXPECT_EQ(matrix.value(1, 1), -4);
  opened->release(fc);
  matrix = loadOrFail(*opened, *opened->find("out.weight"));
  EXPECT_EQ(matrix.value(0, 1), -2);
  EXPECT_EQ(countNonZeros(matrix), 2);

  mask[3] = 0.5;
  ASSERT_FALSE(llvm::errorToBool(writeSafetensors(path, entries)));
  EXPECT_THAT(errorOf(TensorFile::open(path)),
              HasSubstr("tensor 'fc.weight': element 3 of its mask is 0.50; "
                        "want 0 or 1"));
  ReadOptions options;
  options.maxDenseBytes = 15;
  EXPECT_THAT(errorOf(TensorFile::open(path, options)),
              HasSubstr("need 16 bytes as a masked copy; the limit is 15"));
}

TEST(Safetensors, NamesInMessagesArePrintable) {
  std::string message =
      error(R"({"a\u001b[31m\n)" + std::string(200, 'x') +
                R"(":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
            8);
  EXPECT_THAT(message, HasSubstr("tensor 'a\\1B[31m\\0Axxx"));
  EXPECT_THAT(message, HasSubstr("...'"));
}

TEST(Safetensors, ShrinkingFileIsAnErrorNotASignal) {
  TempDir dir;
  std::vector<float> values(1 << 16, 1.0f);
  std::string path = dir.path("w.safetensors");
  ASSERT_FALSE(llvm::errorToBool(writeSafetensors(
      path, {{"w", ElementType::F32, {256, 256}, rawBytes(values)}})));
  auto opened = openOrFail(path);
  ASSERT_EQ(::truncate(path.c_str(), 4096), 0);
  EXPECT_THAT(llvm::toString(opened->load(0).takeError()),
              HasSubstr("file shrank to 4096 bytes while it was being read"));
}

static size_t residentBytes() {
  size_t total, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * size_t(::sysconf(_SC_PAGESIZE));
}

// A checkpoint far larger than what may stay resident: 28 tensors of 512 MiB,
// in a file without blocks on disk. The first part of each is read; together
// these parts are more than what is allowed.
TEST(Safetensors, LargeFilesStayOutOfMemory) {
  constexpr uint64_t tensorBytes = uint64_t(512) << 20;
  constexpr uint64_t readBytes = uint64_t(32) << 20;
  constexpr int tensors = 28;
  std::string header = "{";
  for (int i = 0; i < tensors; ++i)
    header +=
        llvm::formatv("{0}\"layer.{1}\":{{\"dtype\":\"F16\",\"shape\":"
                      "[16384,16384],\"data_offsets\":[{2},{3}]}",
                      i ? "," : "", i, i * tensorBytes, (i + 1) * tensorBytes)
            .str();
  header += "}";
  header.resize(llvm::alignTo(header.size(), 8), ' ');
  TempDir dir;
  std::string path =
      dir.write("big.safetensors", withLength(header.size(), header));
  if (::truncate(path.c_str(),
                 off_t(8 + header.size() + tensors * tensorBytes)))
    GTEST_SKIP() << "the file system has no sparse files of this size";

  auto opened = openOrFail(path);
  ASSERT_TRUE(opened);
  ASSERT_EQ(opened->tensors().size(), size_t(tensors));
  const size_t before = residentBytes();
  size_t peak = 0, sum = 0;
  for (size_t i = 0; i < tensors; ++i) {
    Matrix matrix = loadOrFail(*opened, i);
    ASSERT_EQ(matrix.numBytes(), tensorBytes);
    for (size_t offset = 0; offset < readBytes; offset += 4096)
      sum += matrix.data[offset];
    peak = std::max(peak, residentBytes());
    opened->release(i);
  }
  EXPECT_EQ(sum, 0u);
  EXPECT_GT(peak - before, size_t(readBytes / 2)); // The pages were touched.
  EXPECT_LT(peak - before, size_t(8 * readBytes));
}

TEST(SafetensorsWriter, IsDeterministicAndAligned) {
  TempDir dir;
  std::vector<uint8_t> bytes(1024, 7);
  llvm::ArrayRef<uint8_t> all = bytes;
  std::vector<SafetensorsEntry> entries = {
      {"odd", ElementType::U8, {3}, all.take_front(3)},
      {"rows", ElementType::U32, {5}, all.take_front(20)},
      {"half", ElementType::F16, {7}, all.take_front(14)},
      {"values", ElementType::F16, {8, 8}, all.take_front(128)},
      {"meta", ElementType::U8, {192}, all.take_front(192)}};
  std::string first = dir.path("a.safetensors");
  std::string second = dir.path("b.safetensors");
  ASSERT_FALSE(llvm::errorToBool(writeSafetensors(first, entries)));
  std::reverse(entries.begin(), entries.end());
  ASSERT_FALSE(llvm::errorToBool(writeSafetensors(second, entries)));
  auto a = llvm::MemoryBuffer::getFile(first);
  auto b = llvm::MemoryBuffer::getFile(second);
  ASSERT_TRUE(a && b);
  EXPECT_EQ((*a)->getBuffer(), (*b)->getBuffer());

  auto opened = openOrFail(first);
  std::vector<std::string> order;
  for (size_t i = 0; i < opened->tensors().size(); ++i) {
    order.push_back(opened->tensors()[i].name);
    Matrix matrix = loadOrFail(*opened, i);
    // The file is mapped at a page, so this is the offset in the file.
    EXPECT_EQ(uintptr_t(matrix.data) %
                  (matrix.numBytes() % 64 == 0 ? 64 : byteSize(matrix.type)),
              0u)
        << matrix.name;
  }
  EXPECT_EQ(order, (std::vector<std::string>{"values", "meta", "rows", "half",
                                             "odd"}));
}

TEST(SafetensorsWriter, ReplacesAtomicallyAndLeavesNothingBehind) {
  TempDir dir;
  std::vector<uint8_t> bytes(64, 1);
  std::string path = dir.path("100%.safetensors");
  ASSERT_FALSE(llvm::errorToBool(
      writeSafetensors(path, {{"a", ElementType::U8, {64}, bytes}})));
  auto old = openOrFail(path);
  Matrix before = loadOrFail(*old, 0);
  ASSERT_FALSE(llvm::errorToBool(
      writeSafetensors(path, {{"b", ElementType::U8, {8, 8}, bytes}})));
  EXPECT_EQ(before.value(0, 63), 1); // The old content is still mapped.
  EXPECT_EQ(openOrFail(path)->tensors()[0].name, "b");

  std::error_code error;
  int files = 0;
  llvm::sys::fs::directory_iterator it(dir.path("."), error), end;
  for (; it != end && !error; it.increment(error))
    ++files;
  EXPECT_EQ(files, 1);
}

TEST(SafetensorsWriter, RefusesWhatItCouldNotReadBack) {
  TempDir dir;
  std::vector<uint8_t> bytes(8, 1);
  std::string path = dir.path("x.safetensors");
  auto error = [&](std::vector<SafetensorsEntry> entries,
                   std::map<std::string, std::string> metadata = {}) {
    return llvm::toString(writeSafetensors(path, entries, metadata));
  };
  EXPECT_THAT(error({{"a", ElementType::U8, {8}, bytes},
                     {"a", ElementType::U8, {8}, bytes}}),
              HasSubstr("cannot write tensor 'a': name occurs twice"));
  EXPECT_THAT(error({{"__metadata__", ElementType::U8, {8}, bytes}}),
              HasSubstr("name is reserved or not UTF-8"));
  EXPECT_THAT(error({{"\xff", ElementType::U8, {8}, bytes}}),
              HasSubstr("name is reserved or not UTF-8"));
  EXPECT_THAT(error({{"a", ElementType::F32, {3}, bytes}}),
              HasSubstr("got 8 bytes, but shape [3] of F32 takes 12"));
  EXPECT_THAT(error({{"a", ElementType::U8, {-8}, bytes}}),
              HasSubstr("shape [-8] is negative or overflows"));
  EXPECT_THAT(error({}, {{"k", "\xc3"}}),
              HasSubstr("metadata 'k' is not UTF-8"));
  EXPECT_FALSE(llvm::sys::fs::exists(path));
  EXPECT_THAT(llvm::toString(writeSafetensors(dir.path("no/such/dir"), {})),
              HasSubstr("cannot write: No such file or directory"));
}

// Values computed with an independent reader of the same file.
TEST(Safetensors, ReadsSqueezeNet) {
  REQUIRE_REAL_DATA(path,
                    "squeezenet/squeezenet_deep_compression.f32.safetensors");
  auto opened = openOrFail(path);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->tensors().size(), 26u);
  struct Row {
    const char *name;
    int64_t rows, cols, nonZeros;
  };
  for (Row row :
       {Row{"conv1", 96, 147, 13902}, Row{"fire8_expand1x1", 256, 64, 8187},
        Row{"fire9_squeeze1x1", 64, 512, 16370},
        Row{"fire9_expand3x3", 256, 576, 44173},
        Row{"conv10", 1000, 512, 102323}}) {
    auto index = opened->find(row.name);
    ASSERT_TRUE(index) << row.name;
    Matrix matrix = loadOrFail(*opened, *index);
    EXPECT_EQ(matrix.rows, row.rows) << row.name;
    EXPECT_EQ(matrix.cols, row.cols) << row.name;
    EXPECT_EQ(countNonZeros(matrix), row.nonZeros) << row.name;
  }
}
