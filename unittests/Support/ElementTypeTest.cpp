//===- ElementTypeTest.cpp ------------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/ElementType.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace sparseditto;

static const double inf = std::numeric_limits<double>::infinity();

static uint16_t store(ElementType type, double value) {
  uint16_t bits = 0;
  storeFromDouble(type, value, &bits);
  return bits;
}

static double load(ElementType type, uint16_t bits) {
  return loadAsDouble(type, &bits);
}

// Decoded from the definition of the format, field by field.
static double decode(unsigned bits, int exponentBits, int mantissaBits,
                     bool ieee) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const unsigned exponent = (bits >> mantissaBits) & ((1u << exponentBits) - 1);
  const unsigned mantissa = bits & ((1u << mantissaBits) - 1);
  const bool top = exponent == (1u << exponentBits) - 1;
  const double sign = bits >> (exponentBits + mantissaBits) ? -1 : 1;
  if (top && ieee)
    return mantissa ? std::nan("") : sign * inf;
  if (top && mantissa == (1u << mantissaBits) - 1)
    return std::nan("");
  const double fraction = double(mantissa) / double(1u << mantissaBits);
  return exponent ? sign * (1 + fraction) * std::pow(2.0, int(exponent) - bias)
                  : sign * fraction * std::pow(2.0, 1 - bias);
}

namespace {
struct Format {
  ElementType type;
  int exponentBits, mantissaBits;
  bool ieee;
  unsigned count() const { return 2u << (exponentBits + mantissaBits); }
  double value(unsigned bits) const {
    return decode(bits, exponentBits, mantissaBits, ieee);
  }
};
} // namespace

static const Format formats[] = {{ElementType::F16, 5, 10, true},
                                 {ElementType::BF16, 8, 7, true},
                                 {ElementType::F8E4M3, 4, 3, false},
                                 {ElementType::F8E5M2, 5, 2, true}};

TEST(ElementType, LoadsEveryBitPattern) {
  for (const Format &format : formats)
    for (unsigned bits = 0; bits < format.count(); ++bits) {
      double want = format.value(bits);
      double got = load(format.type, uint16_t(bits));
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got)) << name(format.type).str() << bits;
      else
        ASSERT_TRUE(got == want && std::signbit(got) == std::signbit(want))
            << name(format.type).str() << " " << bits << " " << got;
    }
}

TEST(ElementType, StoresEveryBitPatternBack) {
  for (const Format &format : formats)
    for (unsigned bits = 0; bits < format.count(); ++bits) {
      double value = format.value(bits);
      uint16_t got = store(format.type, value);
      if (std::isnan(value))
        ASSERT_TRUE(std::isnan(load(format.type, got)));
      else
        ASSERT_EQ(got, bits) << name(format.type).str();
    }
}

// Between every two neighbours: just below the middle goes down, just above
// goes up, the middle goes to the even one.
TEST(ElementType, RoundsToNearestEven) {
  for (const Format &format : formats)
    for (unsigned bits = 0; bits + 1 < format.count() / 2; ++bits) {
      double low = format.value(bits), high = format.value(bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high))
        continue;
      double middle = (low + high) / 2; // Exact: one more bit.
      for (double sign : {1.0, -1.0}) {
        unsigned signBit = sign < 0 ? format.count() / 2 : 0;
        ASSERT_EQ(store(format.type, sign * middle),
                  signBit + bits + (bits & 1))
            << name(format.type).str() << " " << middle;
        ASSERT_EQ(store(format.type, sign * std::nextafter(middle, 0)),
                  signBit + bits);
        ASSERT_EQ(store(format.type, sign * std::nextafter(middle, inf)),
                  signBit + bits + 1);
      }
    }
}

// A float tie that is not a tie in double must not be rounded twice.
TEST(ElementType, RoundsOnce) {
  // 1 + 2^-11 is a tie of f16 (to 1); a little more is not, though f32 drops
  // the rest.
  EXPECT_EQ(store(ElementType::F16, 1 + std::ldexp(1, -11)), 0x3c00);
  EXPECT_EQ(
      store(ElementType::F16, 1 + std::ldexp(1, -11) + std::ldexp(1, -40)),
      0x3c01);
  EXPECT_EQ(store(ElementType::BF16, 1 + std::ldexp(1, -8) + 1e-12), 0x3f81);
}

TEST(ElementType, OverflowsAsDocumented) {
  EXPECT_EQ(store(ElementType::F16, 65519.99), 0x7bff);
  EXPECT_EQ(store(ElementType::F16, 65520), 0x7c00);
  EXPECT_EQ(store(ElementType::F16, -1e300), 0xfc00);
  EXPECT_EQ(store(ElementType::BF16, 1e39), 0x7f80);
  EXPECT_EQ(store(ElementType::F8E5M2, 61439), 0x7b);
  EXPECT_EQ(store(ElementType::F8E5M2, 61440), 0x7c);
  // e4m3 has no infinity: it saturates.
  EXPECT_EQ(store(ElementType::F8E4M3, 448), 0x7e);
  EXPECT_EQ(store(ElementType::F8E4M3, 1e9), 0x7e);
  EXPECT_EQ(store(ElementType::F8E4M3, -inf), 0xfe);
  EXPECT_TRUE(std::isnan(
      load(ElementType::F8E4M3, store(ElementType::F8E4M3, std::nan("")))));
}

// The conversions that work on the bits, against those that go through double.
TEST(ElementType, FloatConversionsAgreeWithDouble) {
  auto check = [](uint32_t bits) {
    float value = std::bit_cast<float>(bits);
    ASSERT_EQ(floatToHalf(value), store(ElementType::F16, value)) << bits;
    ASSERT_EQ(floatToBFloat16(value), store(ElementType::BF16, value)) << bits;
  };
  // Around every value of the narrow types and every tie between two of them.
  for (uint32_t high = 0; high < 65536; ++high)
    for (int32_t offset :
         {-1, 0, 1, 0x1000 - 1, 0x1000, 0x1000 + 1, 0x7fff, 0x8000, 0x8001})
      check((high << 16) + uint32_t(offset));
  for (uint32_t half = 0; half < 65536; ++half) {
    float value = halfToFloat(uint16_t(half));
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if (std::isfinite(value))
      for (int32_t offset : {-1, 0, 1, 0xfff, 0x1000, 0x1001})
        check(bits + uint32_t(offset));
    EXPECT_TRUE(std::isnan(value) || floatToHalf(value) == half);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i)
    check(uint32_t(random()));
}

TEST(ElementType, IntegersSaturateAndRound) {
  auto integer = [](ElementType type, double value) {
    uint64_t bits = 0;
    storeFromDouble(type, value, &bits);
    return loadAsDouble(type, &bits);
  };
  EXPECT_EQ(integer(ElementType::I8, 127.4), 127);
  EXPECT_EQ(integer(ElementType::I8, 1000), 127);
  EXPECT_EQ(integer(ElementType::I8, -1000), -128);
  EXPECT_EQ(integer(ElementType::I8, 2.5), 2);
  EXPECT_EQ(integer(ElementType::I8, 3.5), 4);
  EXPECT_EQ(integer(ElementType::I8, -2.5), -2);
  EXPECT_EQ(integer(ElementType::U8, -1), 0);
  EXPECT_EQ(integer(ElementType::U8, 255.5), 255);
  EXPECT_EQ(integer(ElementType::I16, -40000), -32768);
  EXPECT_EQ(integer(ElementType::U16, 70000), 65535);
  EXPECT_EQ(integer(ElementType::I32, -2147483648.0), -2147483648.0);
  EXPECT_EQ(integer(ElementType::U32, 4294967295.0), 4294967295.0);
  EXPECT_EQ(integer(ElementType::I64, 9007199254740992.0), 9007199254740992.0);
  EXPECT_EQ(integer(ElementType::I64, 1e30),
            double(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(integer(ElementType::U64, 1e30),
            double(std::numeric_limits<uint64_t>::max()));
  EXPECT_EQ(integer(ElementType::I32, std::nan("")), 0);
  EXPECT_EQ(integer(ElementType::Bool, 0.25), 1);
  EXPECT_EQ(integer(ElementType::Bool, -0.0), 0);
}

TEST(ElementType, NamesAndSizes) {
  struct Row {
    ElementType type;
    const char *name, *other;
    unsigned size;
    bool isFloat;
  };
  const Row rows[] = {{ElementType::F64, "f64", "F64", 8, true},
                      {ElementType::F32, "f32", "F32", 4, true},
                      {ElementType::F16, "f16", "F16", 2, true},
                      {ElementType::BF16, "bf16", "BF16", 2, true},
                      {ElementType::F8E4M3, "f8E4M3FN", "F8_E4M3", 1, true},
                      {ElementType::F8E5M2, "f8E5M2", "F8_E5M2", 1, true},
                      {ElementType::I64, "i64", "I64", 8, false},
                      {ElementType::I32, "i32", "I32", 4, false},
                      {ElementType::I16, "i16", "I16", 2, false},
                      {ElementType::I8, "i8", "I8", 1, false},
                      {ElementType::U64, "ui64", "U64", 8, false},
                      {ElementType::U32, "ui32", "U32", 4, false},
                      {ElementType::U16, "ui16", "U16", 2, false},
                      {ElementType::U8, "ui8", "U8", 1, false},
                      {ElementType::Bool, "bool", "BOOL", 1, false}};
  EXPECT_EQ(std::size(rows), size_t(ElementType::Bool) + 1);
  for (const Row &row : rows) {
    EXPECT_EQ(name(row.type), row.name);
    EXPECT_EQ(parseElementType(row.name), row.type);
    EXPECT_EQ(parseElementType(row.other), row.type);
    EXPECT_EQ(byteSize(row.type), row.size);
    EXPECT_EQ(isFloat(row.type), row.isFloat);
  }
  EXPECT_FALSE(parseElementType("f4"));
  EXPECT_FALSE(parseElementType(""));
}

// Elements need not be aligned.
TEST(ElementType, ReadsAndWritesAnywhere) {
  uint8_t buffer[16];
  for (int type = 0; type <= int(ElementType::Bool); ++type)
    for (int offset : {0, 1, 3}) {
      std::fill(std::begin(buffer), std::end(buffer), uint8_t(0xaa));
      storeFromDouble(ElementType(type), 1, buffer + offset);
      EXPECT_EQ(loadAsDouble(ElementType(type), buffer + offset), 1);
      EXPECT_EQ(buffer[offset + byteSize(ElementType(type))], 0xaa);
    }
}
