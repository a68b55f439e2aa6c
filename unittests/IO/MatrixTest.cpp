//===- MatrixTest.cpp -----------------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/IO/Matrix.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace sparseditto;

static Matrix make(ElementType type, int64_t rows, int64_t cols,
                   llvm::ArrayRef<double> values = {}) {
  Matrix matrix = llvm::cantFail(Matrix::allocate("m", type, rows, cols));
  for (size_t i = 0; i < values.size(); ++i)
    storeFromDouble(type, values[i], matrix.mutableData() + i * byteSize(type));
  return matrix;
}

TEST(Matrix, AllocatesZeroedAndAligned) {
  for (int64_t cols : {1, 3, 64, 1000}) {
    Matrix matrix = make(ElementType::F16, 7, cols);
    EXPECT_EQ(uintptr_t(matrix.data) % 64, 0u);
    EXPECT_EQ(matrix.numBytes(), size_t(14 * cols));
    for (uint8_t byte : matrix.bytes())
      ASSERT_EQ(byte, 0);
  }
  EXPECT_EQ(make(ElementType::F32, 0, 5).numBytes(), 0u);
}

TEST(Matrix, RefusesSizesThatOverflow) {
  auto error = [](int64_t rows, int64_t cols) {
    return llvm::toString(
        Matrix::allocate("w", ElementType::F64, rows, cols).takeError());
  };
  EXPECT_EQ(error(int64_t(1) << 62, 4),
            "matrix 'w': size 4611686018427387904 x 4 of f64 overflows");
  EXPECT_EQ(error(int64_t(1) << 61, 1),
            "matrix 'w': size 2305843009213693952 x 1 of f64 overflows");
  EXPECT_EQ(error(-1, 4), "matrix 'w': size -1 x 4 of f64 overflows");
}

TEST(Matrix, ConversionKeepsNamesAndShape) {
  Matrix matrix = make(ElementType::F32, 2, 6, {1, 2, 3});
  matrix.sourceFile = "a.safetensors";
  matrix.originalShape = {2, 2, 3};
  Matrix half = llvm::cantFail(matrix.convertedTo(ElementType::F16));
  EXPECT_EQ(half.name, "m");
  EXPECT_EQ(half.sourceFile, "a.safetensors");
  EXPECT_EQ(half.originalShape, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(half.type, ElementType::F16);
  EXPECT_EQ(half.value(0, 2), 3);
  // The same type refers to the same bytes.
  EXPECT_EQ(llvm::cantFail(matrix.convertedTo(ElementType::F32)).data,
            matrix.data);
}

TEST(Matrix, ConversionCountsUnderflowAndOverflow) {
  const double tiny = 1e-9, subnormal = 5.2e-7, huge = 1e6;
  const double inf = std::numeric_limits<double>::infinity();
  Matrix matrix = make(ElementType::F32, 2, 5,
                       {0.0, -0.0, tiny, -tiny, subnormal, huge, -huge, inf,
                        std::nan(""), 65519});
  int64_t zeros = -1, overflowed = -1;
  Matrix half =
      llvm::cantFail(matrix.convertedTo(ElementType::F16, &zeros, &overflowed));
  EXPECT_EQ(zeros, 2);
  EXPECT_EQ(overflowed, 2);
  EXPECT_NE(half.value(0, 4), 0); // Kept as a subnormal.
  EXPECT_TRUE(std::signbit(half.value(0, 1)));
  EXPECT_TRUE(std::isnan(half.value(1, 3)));
  EXPECT_EQ(half.value(1, 4), 65504);
  llvm::cantFail(matrix.convertedTo(ElementType::BF16, &zeros, &overflowed));
  EXPECT_EQ(zeros, 0);
  EXPECT_EQ(overflowed, 0);
  // The general path counts the same way.
  llvm::cantFail(matrix.convertedTo(ElementType::F8E5M2, &zeros, &overflowed));
  EXPECT_EQ(zeros, 3);
  EXPECT_EQ(overflowed, 3);
  llvm::cantFail(matrix.convertedTo(ElementType::F32, &zeros, &overflowed));
  EXPECT_EQ(zeros, 0);
  EXPECT_EQ(overflowed, 0);
}

// All paths (bit arithmetic, tables, one by one) give what one element through
// double gives, on sizes either side of the switch to tables.
TEST(Matrix, ConversionPathsAgree) {
  std::mt19937_64 random(7);
  for (int64_t count : {int64_t(1000), int64_t(300000)})
    for (int from = 0; from <= int(ElementType::Bool); ++from)
      for (ElementType to :
           {ElementType::F32, ElementType::F16, ElementType::BF16,
            ElementType::F8E4M3, ElementType::I8, ElementType::F64}) {
        ElementType type = ElementType(from);
        if (type == to) // Not converted; NaN payloads would differ.
          continue;
        Matrix matrix = make(type, 1, count);
        for (size_t i = 0; i + 8 <= matrix.numBytes(); i += 8) {
          uint64_t bits = random();
          std::memcpy(matrix.mutableData() + i, &bits, 8);
        }
        int64_t zeros, overflowed, wantZeros = 0, wantOverflowed = 0;
        Matrix result =
            llvm::cantFail(matrix.convertedTo(to, &zeros, &overflowed));
        for (int64_t i = 0; i < count; i += count > 1000 ? 17 : 1) {
          uint8_t want[8];
          storeFromDouble(to, matrix.value(0, i), want);
          ASSERT_EQ(std::memcmp(want, result.at(0, i), byteSize(to)), 0)
              << name(type).str() << " to " << name(to).str() << " of "
              << matrix.value(0, i);
        }
        for (int64_t i = 0; i < count; ++i) {
          double a = matrix.value(0, i), b = result.value(0, i);
          wantZeros += (a == 0) != (b == 0);
          wantOverflowed += std::isfinite(a) && std::isinf(b);
        }
        EXPECT_EQ(zeros, wantZeros);
        EXPECT_EQ(overflowed, wantOverflowed);
      }
}

TEST(Matrix, TransposesEveryElementSizeAndTail) {
  for (ElementType type :
       {ElementType::U8, ElementType::U16, ElementType::U32, ElementType::U64})
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1},
                              {1, 70},
                              {70, 1},
                              {31, 33},
                              {64, 32},
                              {100, 7}}) {
      Matrix matrix = make(type, rows, cols);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c)
          storeFromDouble(type, double((r * 31 + c * 7) % 251),
                          matrix.mutableData() +
                              (r * cols + c) * byteSize(type));
      Matrix result = llvm::cantFail(matrix.transposed());
      ASSERT_EQ(result.rows, cols);
      ASSERT_EQ(result.cols, rows);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c)
          ASSERT_EQ(result.value(c, r), matrix.value(r, c));
    }
}
