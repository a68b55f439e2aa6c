//===- NarrowFloats.h - Inline f32 to 16 bits -------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversions behind floatToHalf and floatToBFloat16, inline for loops over
// whole weights. Round to nearest even; every NaN becomes the quiet one of its
// sign.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_NARROWFLOATS_H
#define SPARSEDITTO_SUPPORT_NARROWFLOATS_H

#include <bit>
#include <cstdint>

namespace sparseditto {

/// Bits of the f16 nearest to the value.
inline uint16_t halfBits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  // Normal: rebias the exponent by 112, drop 13 bits.
  const uint32_t units = magnitude - (112u << 23);
  const uint32_t normal = (units + 0xfff + ((units >> 13) & 1)) >> 13;
  // Subnormal: adding 0.5 makes the FPU round to a multiple of 2^-24.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000;
  // Selections, not branches: zeros and weights alternate unpredictably.
  uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = magnitude >= 0x47800000 ? 0x7c00 : result; // 2^16 and above
  result = magnitude > 0x7f800000 ? 0x7e00 : result;  // NaN
  return uint16_t(result | ((bits >> 16) & 0x8000));
}

/// Bits of the bf16 nearest to the value.
inline uint16_t bfloat16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet = ((bits >> 16) & 0x8000) | 0x7fc0;
  return uint16_t((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_NARROWFLOATS_H
