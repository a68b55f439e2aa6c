//===- SmtxTest.cpp -------------------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace sparseditto;
using namespace sparseditto::test;
using ::testing::HasSubstr;

static std::string error(llvm::StringRef text,
                         const ReadOptions &options = {}) {
  return errorOf(text, ".smtx", options);
}

TEST(Smtx, ReadsTheThreeLines) {
  for (llvm::StringRef text :
       {"3, 4, 4\n0 2 2 4 \n0 3 1 2 \n", "3,4,4\r\n0 2 2 4\r\n0 3 1 2\r\n",
        "3 4 4\n0 2 2 4\n0 3 1 2"}) {
    auto file = openBytesOrFail(text, "layer0.smtx");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->format(), FileFormat::Smtx);
    EXPECT_TRUE(file->tensors()[0].valuesGenerated);
    Matrix matrix = loadOrFail(*file, 0);
    EXPECT_EQ(matrix.name, "layer0");
    EXPECT_EQ(matrix.rows, 3);
    EXPECT_EQ(matrix.cols, 4);
    std::string mask;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 4; ++c)
        mask += matrix.value(r, c) != 0 ? '1' : '0';
    EXPECT_EQ(mask, "100100000110");
  }
}

TEST(Smtx, ReadsMatricesWithoutNonZeros) {
  for (llvm::StringRef text :
       {"2, 3, 0\n0 0 0 \n\n", "2, 3, 0\n0 0 0\n", "2, 3, 0\n0 0 0"}) {
    Matrix matrix = loadOrFail(*openBytesOrFail(text, "z.smtx"), 0);
    EXPECT_EQ(matrix.rows, 2);
    EXPECT_EQ(countNonZeros(matrix), 0);
  }
}

// Any order of reading and any element type must see the same non-zeros.
TEST(Smtx, ValuesFollowFromSeedAndPlace) {
  const int size = 200;
  std::string text = llvm::formatv("{0}, {0}, {1}\n", size, size * size);
  for (int r = 0; r <= size; ++r)
    text += std::to_string(r * size) + " ";
  text += "\n";
  for (int i = 0; i < size * size; ++i)
    text += std::to_string(i % size) + " ";
  Matrix all = loadOrFail(*openBytesOrFail(text, "a.smtx"), 0);
  int64_t negative = 0;
  double sum = 0;
  for (int r = 0; r < size; ++r)
    for (int c = 0; c < size; ++c) {
      double value = all.value(r, c);
      EXPECT_GE(std::fabs(value), 0.0625);
      EXPECT_LE(std::fabs(value), 1.0);
      negative += value < 0;
      sum += std::fabs(value);
    }
  EXPECT_NEAR(double(negative) / (size * size), 0.5, 0.02);
  EXPECT_NEAR(sum / (size * size), 0.53125, 0.01);
  for (ElementType type : {ElementType::F16, ElementType::BF16,
                           ElementType::F8E4M3, ElementType::F8E5M2}) {
    int64_t changed = -1;
    llvm::cantFail(all.convertedTo(type, &changed));
    EXPECT_EQ(changed, 0) << name(type).str();
  }

  // One element alone has the value that it has among the others.
  Matrix one = loadOrFail(*openBytesOrFail(
                              "200, 200, 1\n" +
                                  [] {
                                    std::string offsets;
                                    for (int r = 0; r <= 200; ++r)
                                      offsets += r > 7 ? "1 " : "0 ";
                                    return offsets;
                                  }() +
                                  "\n31\n",
                              "b.smtx"),
                          0);
  EXPECT_EQ(one.value(7, 31), all.value(7, 31));
  EXPECT_EQ(countNonZeros(one), 1);

  ReadOptions other;
  other.valuesSeed = 1;
  Matrix reseeded = loadOrFail(*openBytesOrFail(text, "a.smtx", other), 0);
  EXPECT_NE(reseeded.value(0, 0), all.value(0, 0));
}

TEST(Smtx, RefusesBrokenFiles) {
  EXPECT_EQ(error("3, 4\n"), "f.smtx:1: got '3, 4'; want three counts 'rows, "
                             "columns, nonzeros'");
  EXPECT_THAT(error("-3, 4, 1\n"), HasSubstr("want three counts"));
  EXPECT_THAT(error("3, 4, 1, 9\n"), HasSubstr("want three counts"));
  EXPECT_THAT(error("99999999999999999999, 4, 1\n"),
              HasSubstr("want three counts"));
  EXPECT_THAT(error("4611686018427387904, 4, 1\n"),
              HasSubstr("size of shape [4611686018427387904, 4] overflows"));
  EXPECT_EQ(error("2, 2, 5\n"),
            "f.smtx:1: 5 nonzeros do not fit in 2 x 2 elements");
  EXPECT_EQ(error("2, 2, 1\n"),
            "f.smtx:1: file ends here; want 3 row offsets on the next line");
  EXPECT_EQ(error("2000000, 2, 1\n0 1\n"),
            "f.smtx:2: line is too short for 2000001 row offsets");
  EXPECT_EQ(error("2, 2, 1\n0     1\n0\n"),
            "f.smtx:2: got 2 row offsets, want 3");
  EXPECT_EQ(error("2, 2, 1\n0 1 1 1\n0\n"),
            "f.smtx:2: got more than 3 row offsets");
  EXPECT_EQ(error("2, 2, 2\n0 2 1\n0 1\n"),
            "f.smtx:2: row offset 2 is '1'; want a number from 2 to 2");
  EXPECT_EQ(error("2, 2, 2\n0 3 2\n0 1\n"),
            "f.smtx:2: row offset 1 is '3'; want a number from 0 to 2");
  EXPECT_EQ(error("2, 2, 2\n0 x 2\n0 1\n"),
            "f.smtx:2: row offset 1 is 'x'; want a number from 0 to 2");
  EXPECT_EQ(error("2, 2, 2\n1 1 2\n0 1\n"),
            "f.smtx:2: row offsets run from 1 to 2; want 0 to 2");
  EXPECT_EQ(error("2, 2, 2\n0 1 1\n0 1\n"),
            "f.smtx:2: row offsets run from 0 to 1; want 0 to 2");
  EXPECT_EQ(error("2, 2, 2\n0 1 2\n0\n"),
            "f.smtx:3: got 1 column indices, want 2");
  // The offsets must not be taken for the missing third line.
  EXPECT_THAT(error("2, 2, 2\n0 1 2"),
              HasSubstr("got 0 column indices, want 2"));
  EXPECT_EQ(error("2, 2, 2\n0 1 2\n0 2\n"),
            "f.smtx:3: column index 1 (row 1) is '2'; want a number from 0 to "
            "1");
  EXPECT_THAT(error("2, 2, 2\n0 1 2\n0 -1\n"), HasSubstr("is '-1'; want"));
  EXPECT_EQ(error("2, 2, 2\n0 2 2\n1 1\n"),
            "f.smtx:3: column index 1 repeats column 1 of row 0");
  EXPECT_EQ(error("2, 2, 2\n0 1 2\n0 1 1\n"),
            "f.smtx:3: got more than 2 column indices");
  EXPECT_EQ(error("2, 2, 2\n0 1 2\n0 1\n7\n"),
            "f.smtx:4: got '7' after the column indices");
  ReadOptions options;
  options.maxDenseBytes = 15;
  EXPECT_EQ(error("2, 2, 2\n0 1 2\n0 1\n", options),
            "f.smtx: tensor 'f': 2 x 2 elements of f32 need 16 bytes as a "
            "dense matrix; the limit is 15 bytes");
}

TEST(Smtx, ReadsRealFiles) {
  struct Row {
    const char *path;
    int64_t rows, cols, nonZeros;
  };
  for (Row row :
       {Row{"rn50/variational_dropout/0.5/initial_conv", 64, 147, 9043},
        Row{"rn50/magnitude_pruning/0.9/bottleneck_2_block_group4_1_1", 512,
            4608, 235929},
        Row{"transformer/variational_dropout/0.98/"
            "body_encoder_layer_0_ffn_conv1",
            2048, 512, 0},
        Row{"transformer/variational_dropout/0.98/"
            "body_encoder_layer_2_ffn_conv1",
            2048, 512, 159},
        Row{"transformer/magnitude_pruning/0.98/symbol_modality_33288_512_"
            "shared_",
            33288, 512, 340867}}) {
    REQUIRE_REAL_DATA(path, (llvm::Twine("dlmc/") + row.path + ".smtx").str());
    auto file = openOrFail(path);
    ASSERT_TRUE(file);
    Matrix matrix = loadOrFail(*file, 0);
    EXPECT_EQ(matrix.rows, row.rows) << row.path;
    EXPECT_EQ(matrix.cols, row.cols) << row.path;
    EXPECT_EQ(countNonZeros(matrix), row.nonZeros) << row.path;
  }
}
