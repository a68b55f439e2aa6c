//===- Tolerance.cpp - How far a right result may be off ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Verify/Tolerance.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <cmath>

using namespace sparseditto;

double sparseditto::accumulationBound(int64_t terms, double magnitude) {
  using T = AccumulationTolerance;
  double count = double(terms);
  return T::unit *
         (T::constant + T::sqrtTerms * std::sqrt(count) +
          T::linearTerms * count) *
         magnitude;
}

double sparseditto::halfUlp(ElementType type, double value) {
  int mantissaBits = 0, minExponent = 0;
  switch (type) {
  case ElementType::F64:
    mantissaBits = 52, minExponent = -1022;
    break;
  case ElementType::F32:
    mantissaBits = 23, minExponent = -126;
    break;
  case ElementType::F16:
    mantissaBits = 10, minExponent = -14;
    break;
  case ElementType::BF16:
    mantissaBits = 7, minExponent = -126;
    break;
  case ElementType::F8E4M3:
    mantissaBits = 3, minExponent = -6;
    break;
  case ElementType::F8E5M2:
    mantissaBits = 2, minExponent = -14;
    break;
  default:
    return 0.5;
  }
  int exponent = minExponent;
  if (std::isfinite(value) && value != 0)
    exponent = std::max(minExponent, std::ilogb(value));
  return std::ldexp(1.0, exponent - mantissaBits - 1);
}

static double rounded(ElementType type, double value) {
  uint8_t bytes[8];
  storeFromDouble(type, value, bytes);
  return loadAsDouble(type, bytes);
}

bool sparseditto::accepts(const OracleValue &expected, ElementType type,
                          double got) {
  if (std::isnan(got))
    return std::isnan(expected.value) || expected.nanAllowed;
  if (std::isnan(expected.value))
    return false;
  // Most elements are settled by this; only those beyond the accumulation
  // bound need the rounding of the output type.
  if (!expected.exact && std::fabs(got - expected.value) <= expected.bound)
    return true;
  double low = rounded(type, expected.value - expected.bound);
  double high = rounded(type, expected.value + expected.bound);
  return low <= got && got <= high;
}

double sparseditto::errorOverBound(const OracleValue &expected,
                                   ElementType type, double got) {
  if (!std::isfinite(got) || !std::isfinite(expected.value))
    return 0;
  double error = std::fabs(got - expected.value);
  if (error == 0)
    return 0;
  double reach = std::fabs(expected.value) + expected.bound;
  return error / (expected.bound + halfUlp(type, reach));
}
