//===- Scan.cpp - Values to bits ------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scan.h"
#include "Simd.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

using namespace sparseditto;
using namespace sparseditto::detail;

void ValueCensus::merge(const ValueCensus &other) {
  negativeZeros += other.negativeZeros;
  nans += other.nans;
  infinities += other.infinities;
  subnormals += other.subnormals;
  maxMagnitude = std::max(maxMagnitude, other.maxMagnitude);
}

double ValueCensus::maxAbs(ElementType type) const {
  // Integer magnitudes are stored as numbers, float ones as bits.
  if (!isFloat(type))
    return double(maxMagnitude);
  uint64_t bits = maxMagnitude;
  return loadAsDouble(type, &bits);
}

namespace {

/// A float layout as unsigned integers: the sign bit, the first magnitude that
/// is not a finite number, whether that one is infinity, the smallest normal.
template <typename U> struct FloatLayout {
  using Word = U;
  U sign, special, smallestNormal;
  bool hasInfinity;
};
constexpr FloatLayout<uint64_t> f64 = {1ull << 63, 0x7ffull << 52, 1ull << 52,
                                       true};
constexpr FloatLayout<uint32_t> f32 = {1u << 31, 0xffu << 23, 1u << 23, true};
constexpr FloatLayout<uint16_t> f16 = {0x8000, 0x7c00, 0x0400, true};
constexpr FloatLayout<uint16_t> bf16 = {0x8000, 0x7f80, 0x0080, true};
constexpr FloatLayout<uint8_t> e4m3 = {0x80, 0x7f, 0x08, false};
constexpr FloatLayout<uint8_t> e5m2 = {0x80, 0x7c, 0x04, true};

/// Packs 64 bytes that are 0 or 1 into 64 bits.
SD_INLINE uint64_t packBytes(const uint8_t *flags) {
  uint64_t word = 0;
#if defined(__x86_64__)
  for (int i = 0; i < 4; ++i) {
    __m128i v = _mm_loadu_si128(
        reinterpret_cast<const __m128i *>(flags + 16 * size_t(i)));
    uint64_t bits =
        uint32_t(_mm_movemask_epi8(_mm_sub_epi8(_mm_setzero_si128(), v)));
    word |= bits << (16 * i);
  }
#else
  for (int i = 0; i < 8; ++i) {
    uint64_t eight = 0;
    for (int j = 0; j < 8; ++j)
      eight |= uint64_t(flags[8 * i + j]) << (8 * j);
    // Gathers the low bit of every byte into the top byte.
    word |= (eight * 0x0102040810204080ull >> 56) << (8 * i);
  }
#endif
  return word;
}

template <typename U> SD_INLINE U loadElement(const uint8_t *p, int i) {
  U value;
  std::memcpy(&value, p + size_t(i) * sizeof(U), sizeof(U));
  return value;
}

/// 64 floats to a word.
template <auto Layout>
SD_INLINE uint64_t scanFloats(const uint8_t *p, ValueCensus &census) {
  using U = typename decltype(Layout)::Word;
  alignas(64) uint8_t flags[64];
  U top = 0, negative = 0, subnormal = 0;
  for (int i = 0; i < 64; ++i) {
    U x = loadElement<U>(p, i);
    U magnitude = x & U(~Layout.sign);
    flags[i] = magnitude != 0;
    top = std::max(top, magnitude);
    negative += x == Layout.sign;
    subnormal += U(magnitude - 1) < U(Layout.smallestNormal - 1);
  }
  census.negativeZeros += negative;
  census.subnormals += subnormal;
  if (top >= Layout.special) [[unlikely]] {
    top = 0;
    for (int i = 0; i < 64; ++i) {
      U magnitude = loadElement<U>(p, i) & U(~Layout.sign);
      if (magnitude < Layout.special)
        top = std::max(top, magnitude);
      else if (Layout.hasInfinity && magnitude == Layout.special)
        ++census.infinities;
      else
        ++census.nans;
    }
  }
  census.maxMagnitude = std::max<uint64_t>(census.maxMagnitude, top);
  return packBytes(flags);
}

/// 64 integers to a word. T may be signed.
template <typename T>
SD_INLINE uint64_t scanIntegers(const uint8_t *p, ValueCensus &census) {
  using U = std::make_unsigned_t<T>;
  alignas(64) uint8_t flags[64];
  U top = 0;
  for (int i = 0; i < 64; ++i) {
    T x = loadElement<T>(p, i);
    flags[i] = x != 0;
    U magnitude = U(x);
    if constexpr (std::is_signed_v<T>)
      magnitude = x < 0 ? U(0) - U(x) : U(x);
    top = std::max(top, magnitude);
  }
  census.maxMagnitude = std::max<uint64_t>(census.maxMagnitude, top);
  return packBytes(flags);
}

SD_INLINE uint64_t scanBooleans(const uint8_t *p, ValueCensus &census) {
  alignas(64) uint8_t flags[64];
  for (int i = 0; i < 64; ++i)
    flags[i] = p[i] != 0;
  uint64_t word = packBytes(flags);
  census.maxMagnitude |= word != 0;
  return word;
}

using BlockFn = uint64_t (*)(const uint8_t *, ValueCensus &);

/// A whole run; the tail is scanned in a zero-padded copy.
template <BlockFn Block, unsigned Bytes>
SD_INLINE void scanRun(const uint8_t *src, int64_t count, uint64_t *words,
                       ValueCensus &census) {
  int64_t full = count / 64;
  for (int64_t i = 0; i < full; ++i)
    words[i] = Block(src + size_t(i) * 64 * Bytes, census);
  if (int64_t rest = count % 64) {
    alignas(64) uint8_t padded[64 * Bytes] = {};
    std::memcpy(padded, src + size_t(full) * 64 * Bytes, size_t(rest) * Bytes);
    words[full] = Block(padded, census);
  }
}

template <BlockFn Block, unsigned Bytes>
void scanPlain(const uint8_t *src, int64_t count, uint64_t *words,
               ValueCensus &census) {
  scanRun<Block, Bytes>(src, count, words, census);
}

#ifdef SD_HAS_AVX2_BUILD
template <BlockFn Block, unsigned Bytes>
SD_AVX2 void scanAVX2(const uint8_t *src, int64_t count, uint64_t *words,
                      ValueCensus &census) {
  scanRun<Block, Bytes>(src, count, words, census);
}
#endif

template <BlockFn Block, unsigned Bytes> ScanFn pick(bool portable) {
#ifdef SD_HAS_AVX2_BUILD
  if (useAVX2(portable))
    return scanAVX2<Block, Bytes>;
#endif
  return scanPlain<Block, Bytes>;
}

} // namespace

ScanFn sparseditto::detail::scannerFor(ElementType type, bool portable) {
  switch (type) {
  case ElementType::F64:
    return pick<scanFloats<f64>, 8>(portable);
  case ElementType::F32:
    return pick<scanFloats<f32>, 4>(portable);
  case ElementType::F16:
    return pick<scanFloats<f16>, 2>(portable);
  case ElementType::BF16:
    return pick<scanFloats<bf16>, 2>(portable);
  case ElementType::F8E4M3:
    return pick<scanFloats<e4m3>, 1>(portable);
  case ElementType::F8E5M2:
    return pick<scanFloats<e5m2>, 1>(portable);
  case ElementType::I64:
    return pick<scanIntegers<int64_t>, 8>(portable);
  case ElementType::I32:
    return pick<scanIntegers<int32_t>, 4>(portable);
  case ElementType::I16:
    return pick<scanIntegers<int16_t>, 2>(portable);
  case ElementType::I8:
    return pick<scanIntegers<int8_t>, 1>(portable);
  case ElementType::U64:
    return pick<scanIntegers<uint64_t>, 8>(portable);
  case ElementType::U32:
    return pick<scanIntegers<uint32_t>, 4>(portable);
  case ElementType::U16:
    return pick<scanIntegers<uint16_t>, 2>(portable);
  case ElementType::U8:
    return pick<scanIntegers<uint8_t>, 1>(portable);
  case ElementType::Bool:
    return pick<scanBooleans, 1>(portable);
  }
  llvm_unreachable("unknown element type");
}
