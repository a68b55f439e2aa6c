//===- ElementType.cpp - Element types of weights and activations ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/ElementType.h"
#include "sparseditto/Support/NarrowFloats.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sparseditto;

unsigned sparseditto::byteSize(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
  case ElementType::U64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
  case ElementType::U32:
    return 4;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::I16:
  case ElementType::U16:
    return 2;
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
  case ElementType::I8:
  case ElementType::U8:
  case ElementType::Bool:
    return 1;
  }
  llvm_unreachable("unknown element type");
}

llvm::StringRef sparseditto::name(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return "f64";
  case ElementType::F32:
    return "f32";
  case ElementType::F16:
    return "f16";
  case ElementType::BF16:
    return "bf16";
  case ElementType::F8E4M3:
    return "f8E4M3FN";
  case ElementType::F8E5M2:
    return "f8E5M2";
  case ElementType::I64:
    return "i64";
  case ElementType::I32:
    return "i32";
  case ElementType::I16:
    return "i16";
  case ElementType::I8:
    return "i8";
  case ElementType::U64:
    return "ui64";
  case ElementType::U32:
    return "ui32";
  case ElementType::U16:
    return "ui16";
  case ElementType::U8:
    return "ui8";
  case ElementType::Bool:
    return "bool";
  }
  llvm_unreachable("unknown element type");
}

std::optional<ElementType> sparseditto::parseElementType(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<ElementType>>(text)
      .Cases({"f64", "F64"}, ElementType::F64)
      .Cases({"f32", "F32"}, ElementType::F32)
      .Cases({"f16", "F16"}, ElementType::F16)
      .Cases({"bf16", "BF16"}, ElementType::BF16)
      .Cases({"f8E4M3FN", "f8e4m3", "F8_E4M3"}, ElementType::F8E4M3)
      .Cases({"f8E5M2", "f8e5m2", "F8_E5M2"}, ElementType::F8E5M2)
      .Cases({"i64", "I64"}, ElementType::I64)
      .Cases({"i32", "I32"}, ElementType::I32)
      .Cases({"i16", "I16"}, ElementType::I16)
      .Cases({"i8", "I8"}, ElementType::I8)
      .Cases({"ui64", "u64", "U64"}, ElementType::U64)
      .Cases({"ui32", "u32", "U32"}, ElementType::U32)
      .Cases({"ui16", "u16", "U16"}, ElementType::U16)
      .Cases({"ui8", "u8", "U8"}, ElementType::U8)
      .Cases({"bool", "BOOL"}, ElementType::Bool)
      .Default(std::nullopt);
}

bool sparseditto::isFloat(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::F32:
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return true;
  default:
    return false;
  }
}

// A small binary float format: what narrow() and widen() need to know.
namespace {
struct FloatFormat {
  unsigned exponentBits, mantissaBits;
  bool hasInfinity; // e4m3fn has none: its top exponent holds numbers.
};
} // namespace

static constexpr FloatFormat half = {5, 10, true};
static constexpr FloatFormat bfloat = {8, 7, true};
static constexpr FloatFormat e4m3 = {4, 3, false};
static constexpr FloatFormat e5m2 = {5, 2, true};

/// Rounds once, straight from double, so that there is no double rounding.
static uint32_t narrow(double value, FloatFormat f) {
  const int bias = (1 << (f.exponentBits - 1)) - 1;
  const uint32_t sign = uint32_t(std::signbit(value))
                        << (f.exponentBits + f.mantissaBits);
  const uint32_t exponentMask = (1u << f.exponentBits) - 1;
  const uint32_t mantissaMask = (1u << f.mantissaBits) - 1;
  const uint32_t infinity = exponentMask << f.mantissaBits;
  if (std::isnan(value))
    return sign | (f.hasInfinity ? infinity | (1u << (f.mantissaBits - 1))
                                 : infinity | mantissaMask);
  const uint32_t overflow =
      f.hasInfinity ? infinity : (infinity | (mantissaMask - 1));
  if (std::isinf(value))
    return sign | overflow;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const int exponent = int((bits >> 52) & 0x7ff) - 1023;
  if (exponent == -1023) // Zero, or far below every format's smallest.
    return sign;
  const uint64_t significand = (bits & ((1ull << 52) - 1)) | (1ull << 52);
  const int e = std::max(exponent, 1 - bias);
  // One unit is one unit in the last place of the result.
  const int shift = 52 - int(f.mantissaBits) + (e - exponent);
  if (shift > 53) // Less than half a unit.
    return sign;
  const uint64_t odd = (significand >> shift) & 1;
  const uint64_t units =
      (significand + ((1ull << (shift - 1)) - 1) + odd) >> shift;
  // units may have carried into the next binade; the encoding absorbs it.
  uint64_t encoded = units >= (1ull << f.mantissaBits)
                         ? (uint64_t(e + bias - 1) << f.mantissaBits) + units
                         : units;
  return sign | (encoded > overflow ? overflow : uint32_t(encoded));
}

/// 2^exponent, for a normal result.
static double powerOfTwo(int exponent) {
  return std::bit_cast<double>(uint64_t(exponent + 1023) << 52);
}

static double widen(uint32_t bits, FloatFormat f) {
  const int bias = (1 << (f.exponentBits - 1)) - 1;
  const uint32_t exponentMask = (1u << f.exponentBits) - 1;
  const uint32_t mantissaMask = (1u << f.mantissaBits) - 1;
  bool negative = (bits >> (f.exponentBits + f.mantissaBits)) & 1;
  uint32_t e = (bits >> f.mantissaBits) & exponentMask;
  uint32_t mantissa = bits & mantissaMask;
  double magnitude;
  if (e == exponentMask && f.hasInfinity)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (e == exponentMask && !f.hasInfinity && mantissa == mantissaMask)
    magnitude = std::numeric_limits<double>::quiet_NaN();
  else if (e == 0)
    magnitude = double(mantissa) * powerOfTwo(1 - bias - int(f.mantissaBits));
  else
    magnitude = double(mantissa | (1u << f.mantissaBits)) *
                powerOfTwo(int(e) - bias - int(f.mantissaBits));
  return negative ? -magnitude : magnitude;
}

uint16_t sparseditto::floatToHalf(float value) { return halfBits(value); }
float sparseditto::halfToFloat(uint16_t bits) {
  return float(widen(bits, half));
}
uint16_t sparseditto::floatToBFloat16(float value) {
  return bfloat16Bits(value);
}
float sparseditto::bfloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

template <typename T> static double load(const void *src) {
  T value;
  std::memcpy(&value, src, sizeof(T));
  return double(value);
}

double sparseditto::loadAsDouble(ElementType type, const void *src) {
  uint16_t wide;
  switch (type) {
  case ElementType::F64:
    return load<double>(src);
  case ElementType::F32:
    return load<float>(src);
  case ElementType::F16:
    std::memcpy(&wide, src, 2);
    return widen(wide, half);
  case ElementType::BF16:
    std::memcpy(&wide, src, 2);
    return bfloat16ToFloat(wide);
  case ElementType::F8E4M3:
    return widen(*static_cast<const uint8_t *>(src), e4m3);
  case ElementType::F8E5M2:
    return widen(*static_cast<const uint8_t *>(src), e5m2);
  case ElementType::I64:
    return load<int64_t>(src);
  case ElementType::I32:
    return load<int32_t>(src);
  case ElementType::I16:
    return load<int16_t>(src);
  case ElementType::I8:
    return load<int8_t>(src);
  case ElementType::U64:
    return load<uint64_t>(src);
  case ElementType::U32:
    return load<uint32_t>(src);
  case ElementType::U16:
    return load<uint16_t>(src);
  case ElementType::U8:
    return load<uint8_t>(src);
  case ElementType::Bool:
    return *static_cast<const uint8_t *>(src) ? 1 : 0;
  }
  llvm_unreachable("unknown element type");
}

template <typename T> static void storeInteger(double value, void *dst) {
  T result;
  if (std::isnan(value))
    result = 0;
  else if (value <= double(std::numeric_limits<T>::min()))
    result = std::numeric_limits<T>::min();
  else if (value >= double(std::numeric_limits<T>::max()))
    result = std::numeric_limits<T>::max();
  else
    result = T(std::nearbyint(value));
  std::memcpy(dst, &result, sizeof(T));
}

void sparseditto::storeFromDouble(ElementType type, double value, void *dst) {
  float single;
  uint16_t wide;
  switch (type) {
  case ElementType::F64:
    std::memcpy(dst, &value, 8);
    return;
  case ElementType::F32:
    single = float(value);
    std::memcpy(dst, &single, 4);
    return;
  case ElementType::F16:
    wide = uint16_t(narrow(value, half));
    std::memcpy(dst, &wide, 2);
    return;
  case ElementType::BF16:
    wide = uint16_t(narrow(value, bfloat));
    std::memcpy(dst, &wide, 2);
    return;
  case ElementType::F8E4M3:
    *static_cast<uint8_t *>(dst) = uint8_t(narrow(value, e4m3));
    return;
  case ElementType::F8E5M2:
    *static_cast<uint8_t *>(dst) = uint8_t(narrow(value, e5m2));
    return;
  case ElementType::I64:
    return storeInteger<int64_t>(value, dst);
  case ElementType::I32:
    return storeInteger<int32_t>(value, dst);
  case ElementType::I16:
    return storeInteger<int16_t>(value, dst);
  case ElementType::I8:
    return storeInteger<int8_t>(value, dst);
  case ElementType::U64:
    return storeInteger<uint64_t>(value, dst);
  case ElementType::U32:
    return storeInteger<uint32_t>(value, dst);
  case ElementType::U16:
    return storeInteger<uint16_t>(value, dst);
  case ElementType::U8:
    return storeInteger<uint8_t>(value, dst);
  case ElementType::Bool:
    *static_cast<uint8_t *>(dst) = value != 0;
    return;
  }
  llvm_unreachable("unknown element type");
}
