//===- Tolerance.h - How far a right result may be off ----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An output element is right when it lies between the roundings, to the output
// type, of the two ends of [y - b, y + b], where y is the f64 result and b
// bounds what f32 accumulation in any order may lose. The rounding of the
// output type itself therefore never needs a factor of its own.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_VERIFY_TOLERANCE_H
#define SPARSEDITTO_VERIFY_TOLERANCE_H

#include "sparseditto/Support/ElementType.h"
#include <cstdint>

namespace sparseditto {

/// What the oracle says about one output element.
struct OracleValue {
  double value = 0;   ///< In f64; not rounded to the output type.
  double bound = 0;   ///< Absolute, before rounding to the output type.
  bool exact = false; ///< Every order of f32 summation gives `value`.
  /// NaN is right as well: a non-finite X meets a zero weight in this row, or
  /// the activation is undefined at -infinity.
  bool nanAllowed = false;
};

/// Bound on the error of summing `terms` exact products whose magnitudes sum
/// to `magnitude`, in f32, in any order: a few units for the tree, a random
/// walk of roundings, and the bias of tensor cores, which truncate once per 16
/// products. Linear in K only through that last part, so that accumulation in
/// a narrower type stays far outside.
///
/// unit * (constant + sqrtTerms * sqrt(terms) + linearTerms * terms) *
/// magnitude
struct AccumulationTolerance {
  static constexpr double unit = 0x1p-24; ///< Half an ulp of 1 in f32.
  static constexpr double constant = 8;
  static constexpr double sqrtTerms = 2;
  static constexpr double linearTerms = 1.0 / 16;
};
double accumulationBound(int64_t terms, double magnitude);

/// Half a unit in the last place of `type` at |value|; at least half the
/// smallest subnormal.
double halfUlp(ElementType type, double value);

/// True if `got` is a right result for `expected` in `type`.
bool accepts(const OracleValue &expected, ElementType type, double got);

/// |got - value| over bound + halfUlp; 0 where either is not finite.
double errorOverBound(const OracleValue &expected, ElementType type,
                      double got);

} // namespace sparseditto

#endif // SPARSEDITTO_VERIFY_TOLERANCE_H
