//===- Oracle.cpp - The product in f64 ------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Verify/Oracle.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace sparseditto;

// A grain no term can have: the sum has no terms yet.
static constexpr int noGrain = 1 << 20;

/// Exponent of the lowest set bit of a finite non-zero value: the value is an
/// integer multiple of 2^grain.
static int grainOf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  int exponent = int((bits >> 23) & 0xff);
  uint32_t mantissa = bits & 0x7fffff;
  if (exponent == 0)
    exponent = 1;
  else
    mantissa |= 0x800000;
  return exponent - 150 + std::countr_zero(mantissa);
}

llvm::Expected<Oracle> Oracle::create(const Matrix &weight,
                                      const Problem &problem) {
  auto fail = [](const char *format, auto... args) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), format,
                                   args...);
  };
  switch (problem.type) {
  case ElementType::F32:
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
  case ElementType::I8:
    break;
  default:
    return fail("the oracle does not take %s weights",
                name(problem.type).str().c_str());
  }
  if (weight.rows != problem.m || weight.cols != problem.k ||
      weight.type != problem.type)
    return fail("weight '%s' is %lld x %lld %s, the problem is %lld x %lld %s",
                weight.name.c_str(), (long long)weight.rows,
                (long long)weight.cols, name(weight.type).str().c_str(),
                (long long)problem.m, (long long)problem.k,
                name(problem.type).str().c_str());
  Oracle oracle;
  oracle.product = problem;
  size_t count = size_t(problem.m) * size_t(problem.k);
  oracle.values.resize(count);
  size_t nonZeros = 0;
  unsigned size = byteSize(weight.type);
  for (size_t i = 0; i < count; ++i) {
    float value = float(loadAsDouble(weight.type, weight.data + i * size));
    oracle.values[i] = value;
    nonZeros += value != 0;
  }
  oracle.meanNonZeros = double(nonZeros) / double(problem.m);
  return oracle;
}

void Oracle::bind(const ProductInputs &bound) {
  inputs = &bound;
  inputEntries.clear();
  nonFinite.clear();
  int64_t n = bound.n;
  size_t limit = bound.x.size() / 2 + 1;
  sparseInput = true;
  for (int64_t k = 0; k < product.k; ++k)
    for (int64_t t = 0; t < n; ++t) {
      float value = bound.x[size_t(k) * n + t];
      if (value == 0)
        continue;
      if (!std::isfinite(value))
        nonFinite.push_back({t, k, value});
      if (sparseInput && inputEntries.size() == limit)
        sparseInput = false;
      if (sparseInput)
        inputEntries.push_back({t, k, value});
    }
  if (!sparseInput)
    inputEntries.clear();
}

namespace {
/// What an activation makes of a value, and how much of an error of its
/// argument and of its own evaluation in f32 reaches the result.
struct Activated {
  double value, bound;
  bool nanAllowed = false;
};
} // namespace

static Activated activate(Activation activation, double value, double bound) {
  // exp and erf are a few units off in f32, relative to the argument.
  constexpr double evaluation = 0x1p-21;
  // The derivatives of gelu and silu stay below this.
  constexpr double steepest = 1.13;
  switch (activation) {
  case Activation::None:
    return {value, bound};
  case Activation::Relu:
    return {value < 0 ? 0 : value, bound};
  case Activation::Gelu:
  case Activation::Silu:
    break;
  }
  // -inf * 0 in the formula, 0 in the limit: both are in use.
  if (std::isinf(value))
    return value < 0 ? Activated{0, 0, true} : Activated{value, 0};
  double result = activation == Activation::Gelu
                      ? 0.5 * value * (1 + std::erf(value * M_SQRT1_2))
                      : value / (1 + std::exp(-value));
  return {result, steepest * bound + evaluation * std::fabs(value)};
}

void Oracle::row(int64_t m, Scratch &scratch,
                 llvm::MutableArrayRef<OracleValue> out) const {
  const size_t n = size_t(inputs->n);
  scratch.sum.assign(n, 0);
  scratch.magnitude.assign(n, 0);
  scratch.grain.assign(n, noGrain);
  scratch.terms.assign(n, 0);
  double *sum = scratch.sum.data(), *magnitude = scratch.magnitude.data();
  const float *weights = values.data() + size_t(m) * size_t(product.k);
  int64_t rowTerms = 0;

  if (sparseInput) {
    for (const Entry &entry : inputEntries) {
      float w = weights[entry.k];
      if (w == 0)
        continue;
      double term = double(w) * double(entry.value);
      sum[entry.token] += term;
      magnitude[entry.token] += std::fabs(term);
      ++scratch.terms[entry.token];
      if (std::isfinite(term))
        scratch.grain[entry.token] = std::min(
            scratch.grain[entry.token], grainOf(w) + grainOf(entry.value));
    }
  } else {
    for (int64_t k = 0; k < product.k; ++k) {
      double w = weights[k];
      if (w == 0)
        continue;
      ++rowTerms;
      const float *x = inputs->x.data() + size_t(k) * n;
      for (size_t t = 0; t < n; ++t) {
        double term = w * double(x[t]);
        sum[t] += term;
        magnitude[t] += std::fabs(term);
      }
    }
  }

  const bool hasBias = product.epilogue.bias;
  const bool hasResidual = product.epilogue.residual;
  const Activation activation = product.epilogue.activation;
  const bool linear =
      activation == Activation::None || activation == Activation::Relu;
  for (size_t t = 0; t < n; ++t) {
    OracleValue &value = out[t];
    value = {};
    int64_t terms = sparseInput ? scratch.terms[t] : rowTerms;
    double total = sum[t], reach = magnitude[t];
    int grain = scratch.grain[t];
    if (hasBias) {
      float bias = inputs->bias[size_t(m)];
      total += bias;
      reach += std::fabs(double(bias));
      ++terms;
      if (bias != 0)
        grain = std::min(grain, grainOf(bias));
    }
    float residual = hasResidual ? inputs->residual[size_t(m) * n + t] : 0.0f;
    if (hasResidual && residual != 0)
      grain = std::min(grain, grainOf(residual));
    double exactReach = reach + std::fabs(double(residual));
    // All partial sums are multiples of 2^grain and stay below 2^23 of them,
    // so f32 holds them whatever the order, tensor cores included. A single
    // term has no order and may use all 24 bits.
    int bits = terms <= 1 && residual == 0 ? 24 : 23;
    bool exact =
        sparseInput && linear && std::isfinite(exactReach) &&
        (exactReach == 0 ||
         (grain >= -126 && exactReach <= std::ldexp(1.0, grain + bits)));
    // Subnormal inputs and products may be flushed: 2^-126 a term, scaled by
    // the other factor, which a factor of 2^8 covers for any sane weight.
    double bound =
        exact ? 0 : accumulationBound(terms, reach) + double(terms) * 0x1p-118;
    if (!std::isfinite(total))
      bound = 0;
    Activated activated = activate(activation, total, bound);
    value.value = activated.value;
    value.bound = activated.bound;
    value.exact = exact;
    value.nanAllowed = activated.nanAllowed;
    if (hasResidual) {
      value.value += residual;
      if (!exact)
        value.bound += 0x1p-24 * (std::fabs(activated.value) +
                                  std::fabs(double(residual)));
    }
    if (!std::isfinite(value.value))
      value.bound = 0;
  }
  // 0 * inf is NaN to a kernel that multiplies stored zeros, and nothing to
  // one that skips them; both are right.
  for (const Entry &entry : nonFinite)
    if (weights[entry.k] == 0)
      out[entry.token].nanAllowed = true;
}
