//===- NpyTest.cpp --------------------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NpyBytes.h"
#include "TestFiles.h"
#include "sparseditto/IO/NpyWriter.h"
#include "gmock/gmock.h"

using namespace sparseditto;
using namespace sparseditto::test;
using ::testing::HasSubstr;

static std::string header(llvm::StringRef descr, llvm::StringRef fortran,
                          llvm::StringRef shape) {
  return ("{'descr': " + descr + ", 'fortran_order': " + fortran +
          ", 'shape': " + shape + ", }")
      .str();
}

static std::string error(llvm::StringRef dict, size_t dataBytes = 0) {
  return errorOf(npyBytes(dict, std::string(dataBytes, '\0')), ".npy");
}

/// 0, 1, 2, ... as u16, little-endian unless asked otherwise.
static std::string counting(int count, bool bigEndian = false) {
  std::string data;
  for (int i = 0; i < count; ++i) {
    data += char(bigEndian ? i >> 8 : i);
    data += char(bigEndian ? i : i >> 8);
  }
  return data;
}

TEST(Npy, ReadsAllVersionsAndPythonSpellings) {
  for (int version : {1, 2, 3}) {
    auto file = openBytesOrFail(
        npyBytes(header("'<u2'", "False", "(2, 3)"), counting(6), version),
        "dir/fc1.weight.npy");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->format(), FileFormat::Npy);
    Matrix matrix = loadOrFail(*file, 0);
    EXPECT_EQ(matrix.name, "fc1.weight");
    EXPECT_EQ(matrix.type, ElementType::U16);
    EXPECT_EQ(matrix.value(1, 2), 5);
  }
  for (llvm::StringRef dict :
       {"{'descr':'<u2','fortran_order':False,'shape':(2,3)}",
        "{\"shape\": (2L, 3L), \"descr\": \"=u2\", \"fortran_order\": False}",
        " { 'shape' : ( 2 , 3 , ) ,\n'descr':'<u2' , 'fortran_order':False, }"})
    EXPECT_EQ(errorOf(npyBytes(dict, counting(6)), ".npy"), "") << dict.str();
}

TEST(Npy, ReadsEveryType) {
  for (auto [descr, type] :
       {std::pair<const char *, ElementType>{"'<f8'", ElementType::F64},
        {"'<f4'", ElementType::F32},
        {"'<f2'", ElementType::F16},
        {"'<i8'", ElementType::I64},
        {"'<i4'", ElementType::I32},
        {"'<i2'", ElementType::I16},
        {"'|i1'", ElementType::I8},
        {"'<u8'", ElementType::U64},
        {"'<u4'", ElementType::U32},
        {"'<u2'", ElementType::U16},
        {"'|u1'", ElementType::U8},
        {"'|b1'", ElementType::Bool}}) {
    auto file = openBytesOrFail(npyBytes(header(descr, "False", "(3,)"),
                                         std::string(3 * byteSize(type), '\1')),
                                "a.npy");
    ASSERT_TRUE(file) << descr;
    EXPECT_EQ(file->tensors()[0].type, type) << descr;
    EXPECT_EQ(loadOrFail(*file, 0).cols, 3);
  }
}

TEST(Npy, PutsFortranOrderAndBigEndianRight) {
  // Element (r, c) of a 2 x 3 Fortran-order count is r + 2 c.
  auto file = openBytesOrFail(
      npyBytes(header("'<u2'", "True", "(2, 3)"), counting(6)), "f.npy");
  Matrix matrix = loadOrFail(*file, 0);
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 3; ++c)
      EXPECT_EQ(matrix.value(r, c), r + 2 * c);

  // Rank 4, 3 x 2 x 5 x 4: strides 1, 3, 6, 30.
  file = openBytesOrFail(
      npyBytes(header("'>u2'", "True", "(3, 2, 5, 4)"), counting(120, true)),
      "f.npy");
  matrix = loadOrFail(*file, 0);
  ASSERT_EQ(matrix.rows, 3);
  ASSERT_EQ(matrix.cols, 40);
  for (int o = 0; o < 3; ++o)
    for (int i = 0; i < 2; ++i)
      for (int h = 0; h < 5; ++h)
        for (int w = 0; w < 4; ++w)
          ASSERT_EQ(matrix.value(o, (i * 5 + h) * 4 + w),
                    o + 3 * i + 6 * h + 30 * w);

  // Rank 1 has one order only.
  file = openBytesOrFail(npyBytes(header("'<u2'", "True", "(4,)"), counting(4)),
                         "f.npy");
  EXPECT_EQ(loadOrFail(*file, 0).value(0, 3), 3);
}

TEST(Npy, CopiesObeyTheLimit) {
  ReadOptions options;
  options.maxDenseBytes = 10;
  EXPECT_EQ(errorOf(npyBytes(header("'<u2'", "False", "(2, 3)"), counting(6)),
                    ".npy", options),
            "");
  EXPECT_EQ(errorOf(npyBytes(header("'<u2'", "True", "(2, 3)"), counting(6)),
                    ".npy", options),
            "f.npy: tensor 'f': 2 x 3 elements of ui16 need 12 bytes as a copy "
            "in C order; the limit is 10 bytes");
  EXPECT_THAT(errorOf(npyBytes(header("'>u2'", "False", "(2, 3)"), counting(6)),
                      ".npy", options),
              HasSubstr("as a little-endian copy; the limit is 10 bytes"));
}

TEST(Npy, RefusesBrokenHeaders) {
  const std::string good =
      npyBytes(header("'<u2'", "False", "(2, 3)"), counting(6));
  ASSERT_EQ(errorOf(good, ".npy"), "");
  for (size_t length = 6; length < good.size(); ++length)
    EXPECT_NE(errorOf(good.substr(0, length), ".npy"), "") << length;

  EXPECT_THAT(errorOf(good.substr(0, 9), ".npy"),
              HasSubstr("f.npy: npy header is cut off after 9 bytes"));
  EXPECT_THAT(errorOf(good.substr(0, 40), ".npy"),
              HasSubstr("is cut off after 40"));
  EXPECT_THAT(errorOf(good.substr(0, good.size() - 1), ".npy"),
              HasSubstr("got 11 bytes of data; want 12 for shape [2, 3] of "
                        "ui16; truncated?"));
  EXPECT_THAT(errorOf(good + good, ".npy"),
              HasSubstr("for shape [2, 3] of ui16; one array a file"));
  std::string version = good;
  version[6] = 9;
  EXPECT_THAT(errorOf(version, ".npy"),
              HasSubstr("npy version 9.0 is not known; want 1.0, 2.0 or 3.0"));
  std::string huge = good;
  huge[6] = 2;
  huge.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(errorOf(huge, ".npy"),
              HasSubstr("npy header length 4294967295 is over the limit of "
                        "1048576 bytes"));

  EXPECT_THAT(error("[]"), HasSubstr("got '[]"));
  EXPECT_THAT(error("{'descr': <f4}"), HasSubstr("want a quoted string"));
  EXPECT_THAT(error("{'descr': '<f4}"), HasSubstr("want a closing quote"));
  EXPECT_THAT(error("{'descr' '<f4'}"), HasSubstr("want ':'"));
  EXPECT_THAT(error(header("'<f4'", "Maybe", "(1,)")),
              HasSubstr("want True or False"));
  EXPECT_THAT(error(header("'<f4'", "False", "3")),
              HasSubstr("want '(' of the shape"));
  EXPECT_THAT(error(header("'<f4'", "False", "(-1,)")),
              HasSubstr("want a dimension from 0 to 2^63 - 1"));
  EXPECT_THAT(error(header("'<f4'", "False", "(18446744073709551616,)")),
              HasSubstr("want a dimension from 0 to 2^63 - 1"));
  EXPECT_THAT(error(header("'<f4'", "False", "(2 3)")),
              HasSubstr("want ',' or ')' in the shape"));
  EXPECT_THAT(error(header("'<f4'", "False", "(4611686018427387904, 4)")),
              HasSubstr("size of shape [4611686018427387904, 4] overflows"));
  EXPECT_THAT(error(header("'<f4'", "False", "(2,)") + "x"),
              HasSubstr("want nothing after the dict"));
  EXPECT_THAT(error("{'descr': '<f4' 'shape': (1,)}"),
              HasSubstr("want ',' or '}'"));
  EXPECT_THAT(error("{'descr': '<f4', 'descr': '<f8'}"),
              HasSubstr("key 'descr' is repeated"));
  EXPECT_THAT(error("{'order': 'C'}"), HasSubstr("key 'order' is unknown"));
  EXPECT_THAT(error("{'descr': '<f4', 'shape': ()}"),
              HasSubstr("key 'fortran_order' is missing"));
}

TEST(Npy, NamesUnsupportedTypes) {
  auto type = [](llvm::StringRef descr) {
    return error(header(descr, "False", "(2,)"), 32);
  };
  EXPECT_THAT(type("'|O'"),
              HasSubstr("f.npy: tensor 'f': element type '|O' is not "
                        "supported; it holds pickled Python objects"));
  EXPECT_THAT(type("'<c8'"), HasSubstr("'<c8' is not supported; it holds "
                                       "complex numbers"));
  EXPECT_THAT(type("'|V2'"), HasSubstr("numpy has no name for bfloat16"));
  EXPECT_THAT(type("'<U4'"), HasSubstr("'<U4' is not supported; want f2"));
  EXPECT_THAT(type("[('a', '<f4')]"), HasSubstr("element type is a record"));
}

TEST(Npy, ReadsRealFiles) {
  REQUIRE_REAL_DATA(path, "lyra/lyra_16khz_conv1d.npy");
  auto file = openOrFail(path);
  ASSERT_TRUE(file);
  Matrix matrix = loadOrFail(*file, 0);
  EXPECT_EQ(matrix.name, "lyra_16khz_conv1d");
  EXPECT_EQ(matrix.type, ElementType::F32);
  EXPECT_EQ(matrix.rows, 512);
  EXPECT_EQ(matrix.cols, 480);
  EXPECT_EQ(countNonZeros(matrix), 19664);
  file->release(0);
  EXPECT_EQ(countNonZeros(matrix), 19664); // Read again, not lost.

  REQUIRE_REAL_DATA(conv, "squeezenet/fire9_expand3x3.oihw.f32.npy");
  matrix = loadOrFail(*openOrFail(conv), 0);
  EXPECT_EQ(matrix.originalShape, (std::vector<int64_t>{256, 64, 3, 3}));
  EXPECT_EQ(matrix.rows, 256);
  EXPECT_EQ(matrix.cols, 576);
  EXPECT_EQ(countNonZeros(matrix), 44173);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

TEST(Npy, WritesWhatIsRead) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("array", "npy", path));
  for (ElementType type :
       {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::I64,
        ElementType::I32, ElementType::I16, ElementType::I8, ElementType::U64,
        ElementType::U32, ElementType::U16, ElementType::U8, ElementType::Bool})
    for (std::vector<int64_t> shape : std::vector<std::vector<int64_t>>{
             {}, {3}, {2, 3}, {2, 0, 5}, std::vector<int64_t>(12, 1)}) {
      size_t count = 1;
      for (int64_t side : shape)
        count *= size_t(side);
      std::vector<uint8_t> bytes(count * byteSize(type));
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = uint8_t(i % 2);
      ASSERT_EQ(llvm::toString(writeNpy(path, type, shape, bytes)), "");
      auto file = TensorFile::open(path);
      ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
      const TensorInfo &info = (*file)->tensors()[0];
      EXPECT_EQ(info.type, type);
      EXPECT_EQ(info.shape, shape);
      EXPECT_EQ(loadOrFail(**file, 0).bytes(), llvm::ArrayRef<uint8_t>(bytes));
    }
  llvm::sys::fs::remove(path);
}

TEST(Npy, WritesNothingItCannot) {
  EXPECT_THAT(llvm::toString(writeNpy("x.npy", ElementType::BF16, {1}, {0, 0})),
              HasSubstr("x.npy: cannot write: numpy has no name for bf16; a "
                        ".safetensors file can hold it"));
  EXPECT_THAT(llvm::toString(writeNpy("x.npy", ElementType::F16, {2}, {0, 0})),
              HasSubstr("x.npy: cannot write: got 2 bytes for shape"));
  EXPECT_THAT(llvm::toString(writeNpy("none/x.npy", ElementType::U8, {1}, {0})),
              HasSubstr("none/x.npy: cannot write: "));
  EXPECT_FALSE(llvm::sys::fs::exists("x.npy"));
}
