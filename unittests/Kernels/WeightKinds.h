//===- WeightKinds.h - Weights of every pattern -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One generator for tests that run through all families: which patterns a
// family takes, it says itself.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_KERNELS_WEIGHTKINDS_H
#define SPARSEDITTO_UNITTESTS_KERNELS_WEIGHTKINDS_H

#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Verify/Inputs.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>
#include <cstring>
#include <optional>

namespace sparseditto::test {

enum class WeightKind : uint8_t {
  Dense,
  Unstructured, ///< Two of five kept.
  VerySparse,   ///< One of 25 kept.
  Ragged,       ///< Rows from empty to full, next to each other.
  TwoFour,      ///< One of the 11 masks with 0, 1 or 2 of 4, each alike.
  TwoFourRow,   ///< The same in one row, all others empty.
  Blocks,       ///< 16 x 16 blocks, two of five kept.
  Channels,     ///< Every third row and half of the columns gone.
  DenseRow,     ///< One full row, all others empty.
  DenseColumn,  ///< One full column, all others empty.
  Single,       ///< One element.
  Empty,
};

struct WeightKindName {
  WeightKind kind;
  llvm::StringLiteral name;
};
inline llvm::ArrayRef<WeightKindName> allWeightKinds() {
  static constexpr WeightKindName list[] = {
      {WeightKind::Dense, "dense"},
      {WeightKind::Unstructured, "unstructured"},
      {WeightKind::VerySparse, "very-sparse"},
      {WeightKind::Ragged, "ragged"},
      {WeightKind::TwoFour, "two-four"},
      {WeightKind::TwoFourRow, "two-four-row"},
      {WeightKind::Blocks, "blocks"},
      {WeightKind::Channels, "channels"},
      {WeightKind::DenseRow, "dense-row"},
      {WeightKind::DenseColumn, "dense-column"},
      {WeightKind::Single, "single"},
      {WeightKind::Empty, "empty"},
  };
  return list;
}
inline llvm::StringRef name(WeightKind kind) {
  return allWeightKinds()[size_t(kind)].name;
}
inline std::optional<WeightKind> parseWeightKind(llvm::StringRef text) {
  for (const WeightKindName &entry : allWeightKinds())
    if (entry.name == text)
      return entry.kind;
  return std::nullopt;
}

enum class Values : uint8_t {
  /// Normal numbers away from zero, one in 16 subnormal in f16.
  Usual,
  /// Any bits but those of a zero: infinities, NaN with any payload, and
  /// subnormals; where nothing is kept, half of the zeros are -0.0.
  AnyBits,
};

/// Fixed by its arguments, and never trivial: all but Empty keep something.
inline Matrix makeWeight(WeightKind kind, ElementType type, int64_t rows,
                         int64_t cols, uint64_t seed,
                         Values values = Values::Usual) {
  Matrix weight =
      llvm::cantFail(Matrix::allocate(name(kind), type, rows, cols));
  Random random(seed);
  const int64_t row = int64_t(random.below(uint64_t(rows))),
                col = int64_t(random.below(uint64_t(cols)));
  unsigned mask = 0;
  auto drawMask = [&] {
    do
      mask = unsigned(random.below(16));
    while (llvm::popcount(mask) > 2);
  };
  // Drawn once, so that blocks and columns do not depend on the walk.
  const uint64_t blockSeed = random.next();
  auto two = [&](uint64_t of, uint64_t a, uint64_t b) {
    return Random(blockSeed + a * 0x10001 + b).below(of) < 2;
  };
  auto keeps = [&](int64_t r, int64_t c) {
    switch (kind) {
    case WeightKind::Dense:
      return true;
    case WeightKind::Unstructured:
      return random.below(5) < 2;
    case WeightKind::VerySparse:
      return random.below(25) == 0;
    case WeightKind::Ragged:
      return random.below(4) < uint64_t(r * 3 % 5);
    case WeightKind::TwoFour:
    case WeightKind::TwoFourRow:
      if (c % 4 == 0)
        drawMask();
      return (mask >> (c % 4) & 1) != 0 &&
             (kind == WeightKind::TwoFour || r == row);
    case WeightKind::Blocks:
      return two(5, uint64_t(r / 16), uint64_t(c / 16));
    case WeightKind::Channels:
      return r % 3 != 1 && two(4, 1000, uint64_t(c));
    case WeightKind::DenseRow:
      return r == row;
    case WeightKind::DenseColumn:
      return c == col;
    case WeightKind::Single:
      return r == row && c == col;
    case WeightKind::Empty:
      return false;
    }
    llvm_unreachable("unknown pattern");
  };
  const unsigned bytes = byteSize(type);
  auto put = [&](int64_t r, int64_t c) {
    uint8_t *at = weight.mutableData() + (r * cols + c) * bytes;
    if (values == Values::AnyBits) {
      // The exponent all ones or all zeros more often than by chance.
      do {
        uint64_t bits = random.next();
        switch (random.below(6)) {
        case 0: // A NaN, mostly.
          bits |= type == ElementType::F16    ? 0x7c00
                  : type == ElementType::BF16 ? 0x7f80
                                              : 0x7f800000;
          break;
        case 1: // A small subnormal of either sign.
          bits &= type == ElementType::F32 ? 0x8000003f : 0x803f;
          break;
        case 2:
          storeFromDouble(type, bits % 2 ? INFINITY : -INFINITY, at);
          return;
        default:
          break;
        }
        std::memcpy(at, &bits, bytes);
      } while (loadAsDouble(type, at) == 0);
      return;
    }
    double value = random.normal();
    value += value < 0 ? -0.25 : 0.25;
    if (random.below(16) == 0)
      value = std::ldexp(value < 0 ? -1.0 : 1.0, -15 - int(random.below(10)));
    storeFromDouble(type, value, at);
  };
  int64_t kept = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) {
      if (keeps(r, c)) {
        put(r, c);
        ++kept;
      } else if (values == Values::AnyBits && random.below(2) == 0) {
        storeFromDouble(type, -0.0,
                        weight.mutableData() + (r * cols + c) * bytes);
      }
    }
  if (kept == 0 && kind != WeightKind::Empty) {
    put(row, col);
    ++kept;
  }
  int64_t nonZeros = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      nonZeros += weight.value(r, c) != 0;
  if (nonZeros != kept || (kept == 0) != (kind == WeightKind::Empty))
    llvm::report_fatal_error("a generated weight is trivial");
  return weight;
}

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_KERNELS_WEIGHTKINDS_H
