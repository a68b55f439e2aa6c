//===- ElementType.h - Element types of weights and activations -*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types that readers, packers, kernels and oracles agree on, with
// exact conversions to and from double. Conversions down round to nearest even,
// as the GPU's cvt.rn does.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_ELEMENTTYPE_H
#define SPARSEDITTO_SUPPORT_ELEMENTTYPE_H

#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sparseditto {

enum class ElementType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3, ///< OCP e4m3 "fn": no infinities, NaN is 0x7f / 0xff.
  F8E5M2, ///< OCP e5m2: IEEE-like, with infinities.
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  Bool, ///< One byte an element; any non-zero byte is true.
};

/// Size of one element in bytes.
unsigned byteSize(ElementType type);

/// Lower-case name as used in JSON, on command lines and in MLIR where MLIR
/// has the type ("f16", "bf16", "f8E4M3FN", "i8", "ui16", "bool", ...).
llvm::StringRef name(ElementType type);

/// Inverse of name(); also accepts the safetensors spellings ("F16", "BF16",
/// "F8_E4M3", "I8", "U16", ...). None for an unknown name.
std::optional<ElementType> parseElementType(llvm::StringRef text);

bool isFloat(ElementType type);

/// Value of the element at `src` (unaligned reads are fine) as a double.
/// Exact except for 64-bit integers beyond 2^53.
double loadAsDouble(ElementType type, const void *src);

/// Stores `value` rounded to nearest even (saturating for integer types and
/// e4m3, overflowing to infinity for the other floats; NaN stays NaN).
void storeFromDouble(ElementType type, double value, void *dst);

uint16_t floatToHalf(float value);
float halfToFloat(uint16_t bits);
uint16_t floatToBFloat16(float value);
float bfloat16ToFloat(uint16_t bits);

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_ELEMENTTYPE_H
