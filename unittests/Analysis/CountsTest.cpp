//===- CountsTest.cpp - Every count against its definition ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include "Naive.h"
#include "sparseditto/Analysis/NonZeroMask.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace sparseditto;

namespace {

constexpr ElementType allTypes[] = {
    ElementType::F64,  ElementType::F32,    ElementType::F16,
    ElementType::BF16, ElementType::F8E4M3, ElementType::F8E5M2,
    ElementType::I64,  ElementType::I32,    ElementType::I16,
    ElementType::I8,   ElementType::U64,    ElementType::U32,
    ElementType::U16,  ElementType::U8,     ElementType::Bool};

void check(const Matrix &matrix) {
  PatternReport report = analyzed(matrix);
  expectCountsByDefinition(matrix, report);
  PatternReport portable =
      llvm::cantFail(analyze(matrix, {.threads = 1, .portable = true}));
  EXPECT_EQ(report.toJSON(), portable.toJSON());
  EXPECT_EQ(report.rowNnz, portable.rowNnz);
  EXPECT_EQ(report.colNnz, portable.colNnz);
}

TEST(Counts, EveryShapeClass) {
  const int64_t shapes[][2] = {{1, 1},    {1, 7},     {7, 1},     {1, 1000},
                               {1000, 1}, {2, 2},     {3, 8},     {64, 64},
                               {65, 63},  {127, 129}, {128, 128}, {129, 257},
                               {131, 97}, {200, 320}, {61, 4099}, {300, 12}};
  Coin coin(1);
  for (auto [rows, cols] : shapes)
    for (double density : {0.0, 0.02, 0.5, 0.97, 1.0})
      check(generate(ElementType::F16, rows, cols,
                     [&](int64_t, int64_t) { return coin(density); }));
}

TEST(Counts, PanelsAreJoined) {
  // Wider than one panel of 4096 columns, with ragged edges on both sides.
  Coin coin(2);
  check(generate(ElementType::I8, 150, 8321,
                 [&](int64_t, int64_t) { return coin(0.3); }));
  check(generate(ElementType::I8, 130, 4096 + 256,
                 [&](int64_t, int64_t j) { return j % 5 != 0; }));
}

TEST(Counts, EveryElementType) {
  Coin coin(3);
  for (ElementType type : allTypes)
    check(generate(type, 67, 133, [&](int64_t, int64_t) { return coin(0.4); }));
}

TEST(Counts, EveryBitPatternOfNarrowTypes) {
  // Every encoding once: zeros of both signs, subnormals, infinities, NaNs.
  for (ElementType type : allTypes) {
    if (byteSize(type) > 2)
      continue;
    int64_t total = byteSize(type) == 1 ? 256 : 65536;
    Matrix matrix =
        llvm::cantFail(Matrix::allocate("bits", type, total / 64, 64));
    for (int64_t i = 0; i < total; ++i)
      std::memcpy(matrix.mutableData() + i * byteSize(type), &i,
                  byteSize(type));
    check(matrix);
  }
}

TEST(Counts, SpecialValuesOfWideFloats) {
  for (ElementType type : {ElementType::F32, ElementType::F64}) {
    Matrix matrix = llvm::cantFail(Matrix::allocate("special", type, 9, 131));
    const double limitsOf[] = {0.0,
                               -0.0,
                               std::numeric_limits<double>::quiet_NaN(),
                               -std::numeric_limits<double>::infinity(),
                               std::ldexp(1.0, -140),
                               -std::ldexp(1.0, -1040),
                               std::ldexp(1.0, -126),
                               3.5e38,
                               -2.0};
    for (int64_t i = 0; i < matrix.numElements(); ++i)
      storeFromDouble(type, limitsOf[(i * 7 + i / 11) % 9],
                      matrix.mutableData() + i * byteSize(type));
    check(matrix);
  }
}

TEST(Counts, NegativeZeroIsZeroAndNaNIsNot) {
  Matrix matrix = llvm::cantFail(Matrix::allocate("z", ElementType::F32, 1, 4));
  const float values[4] = {-0.0f, NAN, 0.0f, std::ldexp(1.0f, -149)};
  std::memcpy(matrix.mutableData(), values, sizeof(values));
  PatternReport report = analyzed(matrix);
  EXPECT_EQ(report.nnz, 2);
  EXPECT_EQ(report.negativeZeros, 1);
  EXPECT_EQ(report.nanCount, 1);
  EXPECT_EQ(report.subnormalCount, 1);
  llvm::Expected<NonZeroMask> mask = NonZeroMask::of(matrix);
  ASSERT_TRUE(bool(mask));
  EXPECT_EQ(mask->row(0)[0], 0b1010u);
}

TEST(Counts, MisalignedBytes) {
  Coin coin(4);
  Matrix aligned = generate(ElementType::F32, 20, 70,
                            [&](int64_t, int64_t) { return coin(0.5); });
  std::vector<uint8_t> shifted(aligned.numBytes() + 3);
  std::memcpy(shifted.data() + 3, aligned.data, aligned.numBytes());
  Matrix matrix = aligned;
  matrix.data = shifted.data() + 3;
  EXPECT_EQ(analyzed(matrix).fingerprint, analyzed(aligned).fingerprint);
  EXPECT_EQ(analyzed(matrix).nnz, analyzed(aligned).nnz);
}

TEST(Counts, EmptyMatrices) {
  for (auto [rows, cols] :
       {std::pair<int64_t, int64_t>{0, 0}, {0, 5}, {5, 0}}) {
    Matrix matrix;
    matrix.type = ElementType::F16;
    matrix.rows = rows;
    matrix.cols = cols;
    PatternReport report = analyzed(matrix);
    EXPECT_EQ(report.pattern, Pattern::Zero);
    EXPECT_EQ(report.nnz, 0);
    EXPECT_EQ(report.density(), 0);
    EXPECT_EQ(report.rowNnz.size(), size_t(rows));
    EXPECT_EQ(report.colNnz.size(), size_t(cols));
  }
}

TEST(Counts, DimensionsBeyond32BitsAreRefused) {
  Matrix matrix;
  matrix.rows = int64_t(1) << 31;
  matrix.cols = 1;
  llvm::Expected<PatternReport> report = analyze(matrix);
  ASSERT_FALSE(bool(report));
  EXPECT_EQ(llvm::toString(report.takeError()),
            "expected a matrix of at most 2147483647 rows and columns, got "
            "2147483648x1");
}

TEST(Counts, ThreadsDoNotChangeTheReport) {
  Coin coin(5);
  Matrix matrix = generate(ElementType::F16, 1100, 1030,
                           [&](int64_t, int64_t) { return coin(0.3); });
  PatternReport one = analyzed(matrix, 1), many = analyzed(matrix, 5);
  EXPECT_EQ(one.toJSON(), many.toJSON());
  EXPECT_EQ(one.rowNnz, many.rowNnz);
  EXPECT_EQ(one.colNnz, many.colNnz);
  expectCountsByDefinition(matrix, many);
}

TEST(Counts, FingerprintSeesShapeTypeAndZerosOnly) {
  auto kept = [](int64_t i, int64_t j) { return (i * 3 + j) % 4 == 0; };
  Matrix matrix = generate(ElementType::F16, 32, 48, kept);
  std::string fingerprint = analyzed(matrix).fingerprint;
  EXPECT_EQ(fingerprint.size(), 16u);
  Matrix other = generate(ElementType::F16, 32, 48, kept);
  storeFromDouble(ElementType::F16, 77, other.mutableData());
  EXPECT_EQ(analyzed(other).fingerprint, fingerprint);
  storeFromDouble(ElementType::F16, 77, other.mutableData() + 2);
  EXPECT_NE(analyzed(other).fingerprint, fingerprint);
  EXPECT_NE(analyzed(generate(ElementType::BF16, 32, 48, kept)).fingerprint,
            fingerprint);
  EXPECT_NE(analyzed(generate(ElementType::F16, 48, 32, kept)).fingerprint,
            fingerprint);
}

TEST(Counts, MaskCountsRanges) {
  Coin coin(6);
  Matrix matrix = generate(ElementType::U8, 2, 200,
                           [&](int64_t, int64_t) { return coin(0.5); });
  llvm::Expected<NonZeroMask> mask = NonZeroMask::of(matrix);
  ASSERT_TRUE(bool(mask));
  for (int64_t begin = 0; begin <= 200; begin += 7)
    for (int64_t end = begin; end <= 200; ++end) {
      int64_t expected = 0;
      for (int64_t j = begin; j < end; ++j)
        expected += matrix.value(1, j) != 0;
      ASSERT_EQ(mask->count(1, begin, end), expected) << begin << ".." << end;
    }
}

} // namespace
