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
  const uint16_t sign = uint16_t(bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) // NaN
    return sign | 0x7e00;
  if (magnitude >= 0x47800000) // 2^16 and above
    return sign | 0x7c00;
  if (magnitude >= 0x38800000) { // normal: rebias by 112, drop 13 bits
    uint32_t units = magnitude - (112u << 23);
    return sign | uint16_t((units + 0xfff + ((units >> 13) & 1)) >> 13);
  }
  // Subnormal: adding 0.5 makes the FPU round to a multiple of 2^-24.
  float rounded = std::bit_cast<float>(magnitude) + 0.5f;
  return sign | uint16_t(std::bit_cast<uint32_t>(rounded) - 0x3f000000);
}

/// Bits of the bf16 nearest to the value.
inline uint16_t bfloat16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) // NaN: keep the sign only.
    return (uint16_t(bits >> 16) & 0x8000) | 0x7fc0;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_NARROWFLOATS_H
