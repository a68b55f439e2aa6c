//===- Matrix.cpp - A named dense matrix with zeros -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/IO/Matrix.h"
#include "Transpose.h"
#include "sparseditto/Support/NarrowFloats.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace sparseditto;

llvm::Expected<Matrix> Matrix::allocate(llvm::StringRef name, ElementType type,
                                        int64_t rows, int64_t cols) {
  constexpr size_t alignment = 64;
  int64_t bytes;
  if (rows < 0 || cols < 0 || llvm::MulOverflow(rows, cols, bytes) ||
      llvm::MulOverflow(bytes, int64_t(byteSize(type)), bytes))
    return llvm::createStringError(
        llvm::formatv("matrix '{0}': size {1} x {2} of {3} overflows", name,
                      rows, cols, sparseditto::name(type)));
  // calloc leaves large blocks unmapped until they are written, so a matrix
  // that is mostly zeros costs what is stored in it.
  std::shared_ptr<void> block(std::calloc(size_t(bytes) + alignment, 1),
                              std::free);
  if (!block)
    return llvm::createStringError(
        llvm::formatv("matrix '{0}': cannot allocate {1} bytes for {2} x {3} "
                      "elements of {4}",
                      name, bytes, rows, cols, sparseditto::name(type)));
  Matrix matrix;
  matrix.name = name.str();
  matrix.type = type;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.originalShape = {rows, cols};
  matrix.data = reinterpret_cast<const uint8_t *>(
      llvm::alignTo(reinterpret_cast<uintptr_t>(block.get()), alignment));
  matrix.owner = std::move(block);
  return matrix;
}

namespace {
/// What a conversion did beside rounding.
struct ConversionCounts {
  int64_t changedZeros = 0, overflowed = 0;
};
} // namespace

/// Any type to any type, one element at a time through double.
static ConversionCounts convertElements(ElementType from, const uint8_t *src,
                                        ElementType to, uint8_t *dst,
                                        int64_t count) {
  ConversionCounts counts;
  const unsigned srcSize = byteSize(from), dstSize = byteSize(to);
  for (int64_t i = 0; i < count; ++i, src += srcSize, dst += dstSize) {
    double before = loadAsDouble(from, src);
    storeFromDouble(to, before, dst);
    double after = loadAsDouble(to, dst);
    counts.changedZeros += (before == 0) != (after == 0);
    counts.overflowed += std::isfinite(before) && std::isinf(after);
  }
  return counts;
}

/// Sources of one or two bytes have so few values that each is converted once.
template <typename Source, typename Target>
static ConversionCounts convertByTable(ElementType from, const uint8_t *src,
                                       ElementType to, uint8_t *dst,
                                       int64_t count) {
  constexpr size_t entries = size_t(1) << (8 * sizeof(Source));
  std::vector<Source> inputs(entries);
  for (size_t i = 0; i < entries; ++i)
    inputs[i] = Source(i);
  std::vector<Target> table(entries);
  std::vector<ConversionCounts> effects(entries);
  for (size_t i = 0; i < entries; ++i)
    effects[i] =
        convertElements(from, reinterpret_cast<const uint8_t *>(&inputs[i]), to,
                        reinterpret_cast<uint8_t *>(&table[i]), 1);
  ConversionCounts counts;
  for (int64_t i = 0; i < count; ++i) {
    Source value;
    std::memcpy(&value, src + i * sizeof(Source), sizeof(Source));
    std::memcpy(dst + i * sizeof(Target), &table[value], sizeof(Target));
    counts.changedZeros += effects[value].changedZeros;
    counts.overflowed += effects[value].overflowed;
  }
  return counts;
}

template <typename Source>
static ConversionCounts convertByTable(ElementType from, const uint8_t *src,
                                       ElementType to, uint8_t *dst,
                                       int64_t count) {
  switch (byteSize(to)) {
  case 1:
    return convertByTable<Source, uint8_t>(from, src, to, dst, count);
  case 2:
    return convertByTable<Source, uint16_t>(from, src, to, dst, count);
  case 4:
    return convertByTable<Source, uint32_t>(from, src, to, dst, count);
  default:
    return convertByTable<Source, uint64_t>(from, src, to, dst, count);
  }
}

/// f32 to a two-byte float, whose magnitude bits are those under `infinity`
/// for finite values.
template <uint16_t (*Narrow)(float), uint16_t infinity>
static ConversionCounts convertFloats(const uint8_t *src, uint8_t *dst,
                                      int64_t count) {
  ConversionCounts counts;
  // Counted in 32 bits for a stretch at a time, so that the loop vectorizes.
  constexpr int64_t stretch = 1 << 16;
  for (int64_t begin = 0; begin < count; begin += stretch) {
    const int64_t end = std::min(count, begin + stretch);
    uint32_t changedZeros = 0, overflowed = 0;
    for (int64_t i = begin; i < end; ++i) {
      float value;
      std::memcpy(&value, src + 4 * i, 4);
      uint16_t bits = Narrow(value);
      std::memcpy(dst + 2 * i, &bits, 2);
      const uint32_t before = std::bit_cast<uint32_t>(value) & 0x7fffffff;
      const uint32_t after = bits & 0x7fff;
      changedZeros += (before == 0) != (after == 0);
      overflowed += (after == infinity) & (before < 0x7f800000);
    }
    counts.changedZeros += changedZeros;
    counts.overflowed += overflowed;
  }
  return counts;
}

llvm::Expected<Matrix> Matrix::convertedTo(ElementType target,
                                           int64_t *changedZeros,
                                           int64_t *overflowed) const {
  ConversionCounts counts;
  Matrix result = *this;
  if (target != type) {
    llvm::Expected<Matrix> made = allocate(name, target, rows, cols);
    if (!made)
      return made.takeError();
    result.type = target;
    result.data = made->data;
    result.owner = made->owner;
    uint8_t *dst = result.mutableData();
    const int64_t count = numElements();
    // Filling a table costs as much as converting its entries.
    constexpr int64_t tableWorthwhile = 4 * 65536;
    if (type == ElementType::F32 && target == ElementType::F16)
      counts = convertFloats<halfBits, 0x7c00>(data, dst, count);
    else if (type == ElementType::F32 && target == ElementType::BF16)
      counts = convertFloats<bfloat16Bits, 0x7f80>(data, dst, count);
    else if (byteSize(type) == 2 && count > tableWorthwhile)
      counts = convertByTable<uint16_t>(type, data, target, dst, count);
    else if (byteSize(type) == 1)
      counts = convertByTable<uint8_t>(type, data, target, dst, count);
    else
      counts = convertElements(type, data, target, dst, count);
  }
  if (changedZeros)
    *changedZeros = counts.changedZeros;
  if (overflowed)
    *overflowed = counts.overflowed;
  return result;
}

llvm::Expected<Matrix> Matrix::transposed() const {
  llvm::Expected<Matrix> result = allocate(name, type, cols, rows);
  if (!result)
    return result;
  result->sourceFile = sourceFile;
  transposeElements(data, rows, cols, byteSize(type), result->mutableData());
  return result;
}
