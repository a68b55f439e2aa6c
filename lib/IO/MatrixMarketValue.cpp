//===- MatrixMarketValue.cpp - Numbers of .mtx files ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixMarketValue.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sparseditto;

ElementType sparseditto::defaultType(MatrixMarketField field) {
  switch (field) {
  case MatrixMarketField::Real:
    return ElementType::F64;
  case MatrixMarketField::Integer:
    return ElementType::I64;
  case MatrixMarketField::Pattern:
    return ElementType::F32;
  }
  llvm_unreachable("unknown field");
}

bool sparseditto::isSigned(ElementType type) {
  switch (type) {
  case ElementType::U64:
  case ElementType::U32:
  case ElementType::U16:
  case ElementType::U8:
  case ElementType::Bool:
    return false;
  default:
    return true;
  }
}

/// Parses the whole token, a leading '+' allowed.
template <typename T>
static ValueStatus parseWhole(llvm::StringRef token, T &value) {
  if (token.consume_front("+") && token.starts_with("-"))
    return ValueStatus::NotANumber;
  auto [end, error] = std::from_chars(token.begin(), token.end(), value);
  if (error == std::errc::invalid_argument || end != token.end())
    return ValueStatus::NotANumber;
  return error == std::errc() ? ValueStatus::Ok : ValueStatus::OutOfRange;
}

template <typename T>
static ValueStatus parseFloat(llvm::StringRef token, T &value) {
  ValueStatus status = parseWhole(token, value);
  if (status != ValueStatus::Ok)
    return status;
  // Standard libraries differ in what they call out of range.
  llvm::StringRef mantissa =
      token.take_until([](char c) { return llvm::isAlpha(c); });
  const bool digits = mantissa.find_first_of("0123456789") != token.npos;
  if (digits && std::isinf(value))
    return ValueStatus::OutOfRange;
  if (value == 0 && mantissa.find_first_of("123456789") != token.npos)
    return ValueStatus::OutOfRange;
  return status;
}

template <typename T> static ValueStatus store(T value, uint8_t *dst) {
  std::memcpy(dst, &value, sizeof(T));
  return ValueStatus::Ok;
}

template <typename T>
static ValueStatus parseInteger(llvm::StringRef token, MatrixMarketField field,
                                uint8_t *dst, uint64_t maximum) {
  T value;
  if (field == MatrixMarketField::Integer) {
    ValueStatus status = parseWhole(token, value);
    if (status == ValueStatus::NotANumber && token.starts_with("-")) {
      // from_chars takes no sign for unsigned types; tell the two cases apart.
      int64_t negative;
      if (parseWhole(token, negative) != ValueStatus::NotANumber)
        return ValueStatus::OutOfRange;
    }
    if (status != ValueStatus::Ok)
      return status;
  } else {
    double real;
    ValueStatus status = parseFloat(token, real);
    if (status != ValueStatus::Ok)
      return status;
    // 2^digits is exact, the largest integer may not be.
    const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(real >= double(std::numeric_limits<T>::min()) && real < limit) ||
        real != std::nearbyint(real))
      return ValueStatus::OutOfRange;
    value = T(real);
  }
  if (value > T(0) && uint64_t(value) > maximum)
    return ValueStatus::OutOfRange;
  return store(value, dst);
}

template <typename T>
static ValueStatus parseReal(llvm::StringRef token, MatrixMarketField field,
                             uint8_t *dst) {
  if (field == MatrixMarketField::Integer) {
    int64_t integer;
    ValueStatus status = parseWhole(token, integer);
    return status == ValueStatus::Ok ? store(T(integer), dst) : status;
  }
  T value;
  ValueStatus status = parseFloat(token, value);
  return status == ValueStatus::Ok ? store(value, dst) : status;
}

ValueStatus sparseditto::parseMatrixMarketValue(llvm::StringRef token,
                                                MatrixMarketField field,
                                                ElementType type,
                                                uint8_t *dst) {
  constexpr uint64_t any = std::numeric_limits<uint64_t>::max();
  switch (type) {
  case ElementType::F64:
    return parseReal<double>(token, field, dst);
  case ElementType::F32:
    return parseReal<float>(token, field, dst);
  case ElementType::I64:
    return parseInteger<int64_t>(token, field, dst, any);
  case ElementType::I32:
    return parseInteger<int32_t>(token, field, dst, any);
  case ElementType::I16:
    return parseInteger<int16_t>(token, field, dst, any);
  case ElementType::I8:
    return parseInteger<int8_t>(token, field, dst, any);
  case ElementType::U64:
    return parseInteger<uint64_t>(token, field, dst, any);
  case ElementType::U32:
    return parseInteger<uint32_t>(token, field, dst, any);
  case ElementType::U16:
    return parseInteger<uint16_t>(token, field, dst, any);
  case ElementType::U8:
    return parseInteger<uint8_t>(token, field, dst, any);
  case ElementType::Bool:
    return parseInteger<uint8_t>(token, field, dst, 1);
  default:
    llvm_unreachable("no field has this type");
  }
}

template <typename T> static bool negate(const uint8_t *src, uint8_t *dst) {
  T value;
  std::memcpy(&value, src, sizeof(T));
  if (std::numeric_limits<T>::is_integer &&
      value == std::numeric_limits<T>::min())
    return false;
  value = T(-value);
  std::memcpy(dst, &value, sizeof(T));
  return true;
}

bool sparseditto::negateValue(ElementType type, const uint8_t *src,
                              uint8_t *dst) {
  switch (type) {
  case ElementType::F64:
    return negate<double>(src, dst);
  case ElementType::F32:
    return negate<float>(src, dst);
  case ElementType::I64:
    return negate<int64_t>(src, dst);
  case ElementType::I32:
    return negate<int32_t>(src, dst);
  case ElementType::I16:
    return negate<int16_t>(src, dst);
  case ElementType::I8:
    return negate<int8_t>(src, dst);
  default:
    llvm_unreachable("not a signed type of a .mtx file");
  }
}
