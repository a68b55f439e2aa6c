//===- MatrixMarketTest.cpp -----------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace sparseditto;
using namespace sparseditto::test;
using ::testing::HasSubstr;

static const std::string coordinate =
    "%%MatrixMarket matrix coordinate real general\n";

static std::string error(llvm::StringRef text,
                         const ReadOptions &options = {}) {
  return errorOf(text, ".mtx", options);
}

/// The matrix, row by row.
static std::vector<double> values(llvm::StringRef text) {
  auto file = openBytesOrFail(text, "f.mtx");
  if (!file)
    return {};
  Matrix matrix = loadOrFail(*file, 0);
  std::vector<double> result;
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.cols; ++c)
      result.push_back(matrix.value(r, c));
  return result;
}

using Values = std::vector<double>;

TEST(MatrixMarket, ReadsCoordinates) {
  Values want = {0, -1.5, 0, 0, 0, 2e3};
  EXPECT_EQ(values(coordinate + "2 3 2\n1 2 -1.5\n2 3 +2e3\n"), want);
  EXPECT_EQ(values(coordinate + "% note\n\n 2  3 2\n%x\n2 3 2E3\n\n1 2 -1.5"),
            want);
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate real general\r\n"
                   "2 3 2\r\n1 2 -1.5\r\n2 3 2000\r\n"),
            want);
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate real general\r"
                   "2 3 2\r1 2 -1.5\r2 3 2000\r"),
            want);
  EXPECT_EQ(values("%%matrixmarket MATRIX Coordinate Real GENERAL\n"
                   "2 3 2\n1\t2\t-1.5\n2 3 2000 \n"),
            want);
  EXPECT_EQ(values("\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n"
                   "1 1 1\n1 1 7\n"),
            Values{7});
}

TEST(MatrixMarket, ReadsArraysColumnByColumn) {
  EXPECT_EQ(values("%%MatrixMarket matrix array real general\n2 3\n"
                   "1\n2\n3\n4\n5\n6\n"),
            (Values{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(values("%%MatrixMarket matrix array integer symmetric\n3 3\n"
                   "1\n2\n3\n4\n5\n6\n"),
            (Values{1, 2, 3, 2, 4, 5, 3, 5, 6}));
  EXPECT_EQ(values("%%MatrixMarket matrix array real skew-symmetric\n3 3\n"
                   "1\n2\n3\n"),
            (Values{0, -1, -2, 1, 0, -3, 2, 3, 0}));
}

TEST(MatrixMarket, ExpandsSymmetry) {
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate real symmetric\n"
                   "2 2 2\n1 1 5\n2 1 7\n"),
            (Values{5, 7, 7, 0}));
  // Either triangle may be the stored one.
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate real symmetric\n"
                   "2 2 1\n1 2 7\n"),
            (Values{0, 7, 7, 0}));
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate integer skew-symmetric\n"
                   "2 2 1\n2 1 7\n"),
            (Values{0, -7, 7, 0}));
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate pattern symmetric\n"
                   "2 2 1\n2 1\n"),
            (Values{0, 1, 1, 0}));
}

TEST(MatrixMarket, ChoosesTheElementType) {
  auto type = [](llvm::StringRef field, llvm::StringRef comment) {
    auto file = openBytesOrFail(("%%MatrixMarket matrix coordinate " + field +
                                 " general\n" + comment + "\n1 1 0\n")
                                    .str(),
                                "f.mtx");
    return file ? name(file->tensors()[0].type).str() : std::string();
  };
  EXPECT_EQ(type("real", "%"), "f64");
  EXPECT_EQ(type("integer", "%"), "i64");
  EXPECT_EQ(type("pattern", "%"), "f32");
  EXPECT_EQ(type("real", "%%GraphBLAS type float"), "f32");
  EXPECT_EQ(type("real", "%%GraphBLAS type double"), "f64");
  EXPECT_EQ(type("integer", "%%GraphBLAS type bool"), "bool");
  EXPECT_EQ(type("integer", "%%GraphBLAS type int8_t"), "i8");
  EXPECT_EQ(type("integer", "%%GraphBLAS type int16_t"), "i16");
  EXPECT_EQ(type("pattern", "%%GraphBLAS type int32_t"), "i32");
  EXPECT_EQ(type("integer", "%%GraphBLAS type int64_t"), "i64");
  EXPECT_EQ(type("integer", "%%GraphBLAS type uint8_t"), "ui8");
  EXPECT_EQ(type("integer", "%%GraphBLAS type uint16_t"), "ui16");
  EXPECT_EQ(type("integer", "%%GraphBLAS type uint32_t"), "ui32");
  EXPECT_EQ(type("integer", "%%GraphBLAS type uint64_t"), "ui64");
  EXPECT_EQ(type("real", "%%GraphBLAS comment"), "f64");
}

TEST(MatrixMarket, ValuesAreExact) {
  auto integer = [](llvm::StringRef type, llvm::StringRef value) {
    std::string text = ("%%MatrixMarket matrix coordinate integer general\n"
                        "%%GraphBLAS type " +
                        type + "\n1 1 1\n1 1 " + value + "\n")
                           .str();
    Matrix matrix = loadOrFail(*openBytesOrFail(text, "f.mtx"), 0);
    uint64_t bits = 0;
    std::memcpy(&bits, matrix.data, matrix.numBytes());
    return bits;
  };
  // Beyond 2^53, where a double would round.
  EXPECT_EQ(integer("int64_t", "9007199254740993"), 9007199254740993u);
  EXPECT_EQ(integer("int64_t", "-9223372036854775808"), uint64_t(1) << 63);
  EXPECT_EQ(integer("uint64_t", "18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(integer("int8_t", "-128"), 0x80u);
  EXPECT_EQ(integer("uint16_t", "65535"), 65535u);
  // Rounded once, to f32: through f64 this tie would go down.
  EXPECT_EQ(values(coordinate + "%%GraphBLAS type float\n1 1 1\n"
                                "1 1 1.00000005960464477540\n"),
            Values{1.00000011920928955078125});
  EXPECT_TRUE(std::isnan(values(coordinate + "1 1 1\n1 1 nan\n")[0]));
  EXPECT_TRUE(std::isinf(values(coordinate + "1 1 1\n1 1 -inf\n")[0]));
  // A stored negative zero and a stored zero are zeros.
  Values zeros = values(coordinate + "1 2 2\n1 1 -0.0\n1 2 0e500\n");
  EXPECT_EQ(zeros, (Values{0, 0}));
  EXPECT_TRUE(std::signbit(zeros[0]));
}

TEST(MatrixMarket, RefusesBrokenBanners) {
  auto banner = [](llvm::StringRef words) {
    return error(("%%MatrixMarket " + words + "\n1 1 1\n1 1 1\n").str());
  };
  EXPECT_EQ(error("1 1 1\n1 1 1\n"),
            "f.mtx:1: got '1 1 1'; want a banner '%%MatrixMarket matrix ...' "
            "on the first line");
  EXPECT_THAT(error("%MatrixMarket matrix coordinate real general\n"),
              HasSubstr("got '%MatrixMarket matrix coordinate real general'; "
                        "want a banner"));
  EXPECT_EQ(banner("vector coordinate real general"),
            "f.mtx:1: object is 'vector'; want matrix");
  EXPECT_EQ(banner("matrix dense real general"),
            "f.mtx:1: layout is 'dense'; want coordinate or array");
  EXPECT_EQ(banner("matrix coordinate float general"),
            "f.mtx:1: field is 'float'; want real, integer or pattern");
  EXPECT_THAT(banner("matrix coordinate complex general"),
              HasSubstr("complex weights are not supported"));
  EXPECT_EQ(banner("matrix coordinate real diagonal"),
            "f.mtx:1: symmetry is 'diagonal'; want general, symmetric or "
            "skew-symmetric");
  EXPECT_THAT(banner("matrix coordinate real hermitian"),
              HasSubstr("hermitian is for complex values"));
  EXPECT_THAT(banner("matrix coordinate real"), HasSubstr("symmetry is ''"));
  EXPECT_THAT(banner("matrix coordinate real general extra"),
              HasSubstr("after the banner's five words"));
  EXPECT_THAT(banner("matrix array pattern general"),
              HasSubstr("pattern cannot be combined with array"));
  EXPECT_THAT(banner("matrix coordinate pattern skew-symmetric"),
              HasSubstr("pattern cannot be combined with skew-symmetric"));
  EXPECT_THAT(error(coordinate + "%%GraphBLAS type gunk\n1 1 0\n"),
              HasSubstr("f.mtx:2: GraphBLAS type is 'gunk'; want bool"));
  EXPECT_THAT(error(coordinate + "%%GraphBLAS type double complex\n1 1 0\n"),
              HasSubstr("GraphBLAS type is 'double complex'"));
  EXPECT_THAT(error(coordinate + "%%GraphBLAS type float\n"
                                 "%%GraphBLAS type float\n1 1 0\n"),
              HasSubstr("f.mtx:3: second GraphBLAS type"));
}

TEST(MatrixMarket, RefusesBrokenSizes) {
  EXPECT_EQ(error(coordinate), "f.mtx:1: file ends before its size line");
  EXPECT_EQ(error(coordinate + "2 2\n"),
            "f.mtx:2: size line is '2 2'; want 'rows columns entries'");
  EXPECT_THAT(error(coordinate + "2 2 1 1\n"), HasSubstr("size line is"));
  EXPECT_THAT(error(coordinate + "-2 2 1\n"), HasSubstr("size line is"));
  EXPECT_THAT(error(coordinate + "18446744073709551617 2 1\n"),
              HasSubstr("size line is"));
  EXPECT_THAT(error("%%MatrixMarket matrix array real general\n2 2 4\n"),
              HasSubstr("size line is '2 2 4'; want 'rows columns'"));
  EXPECT_EQ(error(coordinate + "4294967296 4294967296 1\n"),
            "f.mtx:2: size of shape [4294967296, 4294967296] overflows");
  EXPECT_EQ(error(coordinate + "2 2 5\n"),
            "f.mtx:2: got 5 entries; 2 x 2 has room for 4");
  EXPECT_THAT(error("%%MatrixMarket matrix coordinate real symmetric\n3 3 7\n"),
              HasSubstr("got 7 entries; 3 x 3 has room for 6"));
  EXPECT_THAT(
      error("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 4\n"),
      HasSubstr("got 4 entries; 3 x 3 has room for 3"));
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n"),
            "f.mtx:2: a symmetric matrix is square; got 3 x 4");
  EXPECT_THAT(error("%%MatrixMarket matrix coordinate integer skew-symmetric\n"
                    "%%GraphBLAS type uint8_t\n3 3 1\n2 1 1\n"),
              HasSubstr("f.mtx:3: a skew-symmetric matrix has negative values, "
                        "which ui8 does not hold"));
  ReadOptions options;
  options.maxDenseBytes = uint64_t(1) << 20;
  EXPECT_EQ(error(coordinate + "1000000000 1000000000 0\n", options),
            "f.mtx: tensor 'f': 1000000000 x 1000000000 elements of f64 need "
            "8000000000000000000 bytes as a dense matrix; the limit is 1048576 "
            "bytes");
}

TEST(MatrixMarket, RefusesBrokenEntries) {
  auto entries = [](llvm::StringRef lines) {
    return error(coordinate + "2 3 2\n" + lines.str());
  };
  EXPECT_EQ(entries("1 1 1\n"), "f.mtx:3: file ends after 1 entries; want 2");
  EXPECT_EQ(entries("1 1 1\n2 2 2\n2 3 3\n"),
            "f.mtx:5: got '2 3 3' after the last of 2 entries");
  EXPECT_EQ(entries("0 1 1\n"),
            "f.mtx:3: row index is '0'; want a number from 1 to 2");
  EXPECT_EQ(entries("3 1 1\n"),
            "f.mtx:3: row index is '3'; want a number from 1 to 2");
  EXPECT_EQ(entries("1 4 1\n"),
            "f.mtx:3: column index is '4'; want a number from 1 to 3");
  EXPECT_THAT(entries("-1 1 1\n"), HasSubstr("row index is '-1'"));
  EXPECT_THAT(entries("1 18446744073709551617 1\n"),
              HasSubstr("column index is '18446744073709551617'"));
  EXPECT_THAT(entries("1.0 1 1\n"), HasSubstr("row index is '1.0'"));
  EXPECT_EQ(entries("1 1\n"), "f.mtx:3: value is ''; want a number");
  EXPECT_EQ(entries("1 1 2x\n"), "f.mtx:3: value is '2x'; want a number");
  EXPECT_THAT(entries("1 1 +-2\n"), HasSubstr("value is '+-2'"));
  EXPECT_EQ(entries("1 1 2 3\n"), "f.mtx:3: got '3' after the entry");
  EXPECT_EQ(entries("1 1 1e400\n"), "f.mtx:3: value '1e400' does not fit in "
                                    "f64");
  EXPECT_EQ(entries("1 1 1e-400\n"), "f.mtx:3: value '1e-400' does not fit in "
                                     "f64");
  EXPECT_EQ(entries("1 2 1\n1 2 1\n"), "f.mtx:4: entry (1, 2) occurs twice");
  EXPECT_EQ(entries("1 2 0\n1 2 1\n"), // A stored zero is an entry.
            "f.mtx:4: entry (1, 2) occurs twice");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real symmetric\n"
                  "2 2 2\n1 2 1\n2 1 1\n"),
            "f.mtx:4: entry (2, 1) occurs twice");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real skew-symmetric\n"
                  "2 2 1\n2 2 1\n"),
            "f.mtx:3: entry (2, 2) is on the diagonal, which is zero in a "
            "skew-symmetric matrix");
  EXPECT_EQ(error("%%MatrixMarket matrix array real general\n1 2\n1\n"),
            "f.mtx:3: file ends after 1 values; want 2");
  EXPECT_EQ(error("%%MatrixMarket matrix array real general\n1 2\n1 2\n"),
            "f.mtx:3: got '2' after the value");
  EXPECT_EQ(error("%%MatrixMarket matrix array real general\n1 1\n1\n2\n"),
            "f.mtx:4: got '2' after the last of 1 entries");
}

TEST(MatrixMarket, RefusesValuesThatDoNotFit) {
  auto value = [](llvm::StringRef field, llvm::StringRef type,
                  llvm::StringRef text) {
    return error(("%%MatrixMarket matrix coordinate " + field +
                  " general\n%%GraphBLAS type " + type + "\n1 1 1\n1 1 " +
                  text + "\n")
                     .str());
  };
  EXPECT_EQ(value("integer", "int8_t", "128"),
            "f.mtx:4: value '128' does not fit in i8");
  EXPECT_EQ(value("integer", "int8_t", "-129"),
            "f.mtx:4: value '-129' does not fit in i8");
  EXPECT_EQ(value("integer", "uint8_t", "-1"),
            "f.mtx:4: value '-1' does not fit in ui8");
  EXPECT_EQ(value("integer", "bool", "2"),
            "f.mtx:4: value '2' does not fit in bool");
  EXPECT_EQ(value("integer", "int64_t", "9223372036854775808"),
            "f.mtx:4: value '9223372036854775808' does not fit in i64");
  EXPECT_EQ(value("integer", "uint64_t", "18446744073709551616"),
            "f.mtx:4: value '18446744073709551616' does not fit in ui64");
  EXPECT_EQ(value("integer", "float", "1.5"),
            "f.mtx:4: value is '1.5'; want an integer");
  EXPECT_EQ(value("integer", "float", "inf"),
            "f.mtx:4: value is 'inf'; want an integer");
  EXPECT_EQ(value("real", "int8_t", "1.5"),
            "f.mtx:4: value '1.5' does not fit in i8");
  EXPECT_EQ(value("real", "int64_t", "9223372036854775808"),
            "f.mtx:4: value '9223372036854775808' does not fit in i64");
  EXPECT_EQ(value("real", "uint8_t", "nan"),
            "f.mtx:4: value 'nan' does not fit in ui8");
  EXPECT_EQ(value("real", "uint8_t", "255.0"), "");
  EXPECT_EQ(value("real", "float", "1e39"),
            "f.mtx:4: value '1e39' does not fit in f32");
  EXPECT_EQ(value("real", "float", "1e-50"),
            "f.mtx:4: value '1e-50' does not fit in f32");
  EXPECT_EQ(value("real", "float", "1e-45"), ""); // The smallest subnormal.
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate integer skew-symmetric\n"
                  "%%GraphBLAS type int8_t\n2 2 1\n2 1 -128\n"),
            "f.mtx:4: the negative of entry (2, 1) does not fit in i8");
}

// Each of the published broken files is refused, for its own reason.
TEST(MatrixMarket, RefusesTheMangledFiles) {
  const std::pair<const char *, const char *> files[] = {
      {"mangled1", ":1: object is 'mangled'"},
      {"mangled2", ":1: layout is 'mangled'"},
      {"mangled3", ":1: field is 'mangled'"},
      {"mangled4", ":1: symmetry is 'mangled'"},
      {"mangled5", ":1: symmetry is 'hermitian'"},
      {"mangled6", ":1: symmetry is 'hermitian'"},
      {"mangled7", ":2: GraphBLAS type is 'gunk'"},
      {"mangled8", ":4: size line is '3'"},
      {"mangled9", ":4: a symmetric matrix is square; got 3 x 4"},
      {"mangled10", ":6: file ends after 2 entries; want 3"},
      {"mangled11", ":5: column index is 'zero'"},
      {"mangled12", ":5: value is ''"},
      {"mangled13", ":7: column index is '9999'"},
      {"mangled14", ":8: entry (2, 2) occurs twice"},
      {"mangled15", ":2: GraphBLAS type is 'float complex'"},
      {"mangled16", ":2: GraphBLAS type is 'double complex'"},
      {"mangled_bool", ":10: value '2' does not fit in bool"},
      {"mangled_format", ":1: pattern cannot be combined with array"},
      {"mangled_int8", ":8: value '-129' does not fit in i8"},
      {"mangled_int16", ":8: value '-32769' does not fit in i16"},
      {"mangled_int32", ":8: value '-2147483649' does not fit in i32"},
      {"mangled_uint8", ":9: value '256' does not fit in ui8"},
      {"mangled_uint16", ":9: value '65536' does not fit in ui16"},
      {"mangled_uint32", ":9: value '4294967296' does not fit in ui32"},
      {"mangled_skew", ":3: a skew-symmetric matrix has negative values, which "
                       "ui8 does not hold"},
  };
  EXPECT_EQ(std::size(files), 25u);
  for (auto [name, message] : files) {
    REQUIRE_REAL_DATA(path,
                      (llvm::Twine("suitesparse/") + name + ".mtx").str());
    std::string got = errorOf(TensorFile::open(path));
    EXPECT_THAT(got, HasSubstr(path + message));
    EXPECT_EQ(got.find('\n'), std::string::npos) << got;
  }
}

TEST(MatrixMarket, RefusesOtherRealFiles) {
  for (auto [name, message] :
       {std::pair<const char *, const char *>{"complex", "field is 'complex'"},
        {"west0067_noheader", ":1: got '67 67 294'; want a banner"},
        {"full_noheader", ":1: got '3 3'; want a banner"},
        {"matrix_fp32", ":7: value is '-inf'; want an integer"}}) {
    REQUIRE_REAL_DATA(path,
                      (llvm::Twine("suitesparse/") + name + ".mtx").str());
    EXPECT_THAT(errorOf(TensorFile::open(path)), HasSubstr(message)) << name;
  }
}

TEST(MatrixMarket, ReadsRealFiles) {
  struct Row {
    const char *path;
    int64_t rows, cols, nonZeros;
    ElementType type;
  };
  for (Row row : {
           Row{"suitesparse/bcsstk13", 2003, 2003, 83883, ElementType::F64},
           Row{"suitesparse/west0067", 67, 67, 294, ElementType::F64},
           Row{"suitesparse/west0067_jumbled", 67, 67, 294, ElementType::F64},
           Row{"suitesparse/comments_west0067", 67, 67, 295, ElementType::F64},
           Row{"suitesparse/olm1000", 1000, 1000, 3996, ElementType::F64},
           Row{"suitesparse/LFAT5", 14, 14, 46, ElementType::F64},
           Row{"suitesparse/LFAT5_hypersparse", 2000, 2000, 46,
               ElementType::F64},
           Row{"suitesparse/lp_afiro", 27, 51, 102, ElementType::F64},
           Row{"suitesparse/lp_afiro_structure", 27, 51, 102, ElementType::F32},
           Row{"suitesparse/karate", 34, 34, 156, ElementType::F32},
           Row{"suitesparse/zenios", 2873, 2873, 1314, ElementType::F64},
           Row{"suitesparse/full", 3, 3, 9, ElementType::F64},
           Row{"suitesparse/full_symmetric", 4, 4, 16, ElementType::F64},
           Row{"suitesparse/empty", 3, 4, 0, ElementType::I32},
           Row{"suitesparse/skew_fp32", 6, 6, 20, ElementType::F32},
           Row{"suitesparse/matrix_int8", 7, 7, 11, ElementType::I8},
           Row{"suitesparse/matrix_bool", 7, 7, 7, ElementType::Bool},
           Row{"suitesparse/structure", 7, 7, 12, ElementType::I32},
           Row{"suitesparse/cover", 7, 7, 12, ElementType::I32},
           Row{"suitesparse/test_BF", 7, 7, 12, ElementType::F64},
           Row{"suitesparse/dnn_data/n1024-l1", 1024, 1024, 32768,
               ElementType::F32},
           Row{"suitesparse/dnn_data/n1024-l6", 1024, 1024, 32768,
               ElementType::F32},
           Row{"mlir-tensors/ds", 3, 8, 12, ElementType::F64},
           Row{"mlir-tensors/block", 4, 6, 8, ElementType::F64},
           Row{"mlir-tensors/wide", 4, 256, 17, ElementType::I64},
       }) {
    REQUIRE_REAL_DATA(path, (llvm::Twine(row.path) + ".mtx").str());
    auto file = openOrFail(path);
    ASSERT_TRUE(file) << row.path;
    Matrix matrix = loadOrFail(*file, 0);
    EXPECT_EQ(matrix.rows, row.rows) << row.path;
    EXPECT_EQ(matrix.cols, row.cols) << row.path;
    EXPECT_EQ(countNonZeros(matrix), row.nonZeros) << row.path;
    EXPECT_EQ(matrix.type, row.type) << row.path;
  }

  // Symmetric files are mirrored; the jumbled twin has the same values.
  REQUIRE_REAL_DATA(symmetric, "suitesparse/bcsstk13.mtx");
  Matrix matrix = loadOrFail(*openOrFail(symmetric), 0);
  Matrix transposed = llvm::cantFail(matrix.transposed());
  EXPECT_EQ(matrix.bytes(), transposed.bytes());
  REQUIRE_REAL_DATA(ordered, "suitesparse/west0067.mtx");
  REQUIRE_REAL_DATA(jumbled, "suitesparse/west0067_jumbled.mtx");
  Matrix first = loadOrFail(*openOrFail(ordered), 0);
  Matrix second = loadOrFail(*openOrFail(jumbled), 0);
  EXPECT_EQ(first.bytes(), second.bytes());
}
