//===- Scan.h - Values to bits ----------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_ANALYSIS_SCAN_H
#define SPARSEDITTO_LIB_ANALYSIS_SCAN_H

#include "sparseditto/Support/ElementType.h"
#include <cstdint>

namespace sparseditto::detail {

/// Counts of special values, and the largest finite magnitude as the bits of
/// its absolute value (which order like the values).
struct ValueCensus {
  int64_t negativeZeros = 0, nans = 0, infinities = 0, subnormals = 0;
  uint64_t maxMagnitude = 0;

  void merge(const ValueCensus &other);
  /// The largest finite |value| of elements of `type`.
  double maxAbs(ElementType type) const;
};

/// Writes one bit an element of `count` elements at `src` (any alignment) to
/// ceil(count / 64) words, the tail of the last word clear.
using ScanFn = void (*)(const uint8_t *src, int64_t count, uint64_t *words,
                        ValueCensus &census);

/// The scanner for a type, the fastest this processor runs unless `portable`.
ScanFn scannerFor(ElementType type, bool portable);

} // namespace sparseditto::detail

#endif // SPARSEDITTO_LIB_ANALYSIS_SCAN_H
