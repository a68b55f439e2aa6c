//===- Inputs.cpp - Inputs that find faults -------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Verify/Inputs.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace sparseditto;

llvm::StringRef sparseditto::name(InputSet set) {
  switch (set) {
  case InputSet::Random:
    return "random";
  case InputSet::OneHot:
    return "one-hot";
  case InputSet::Integers:
    return "integers";
  case InputSet::Altered:
    return "altered";
  case InputSet::Special:
    return "special";
  }
  llvm_unreachable("unknown input set");
}

uint64_t Random::next() {
  // splitmix64.
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Random::uniform() { return double(next() >> 11) * 0x1p-53; }

double Random::normal() {
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * M_PI * uniform());
}

static float rounded(ElementType type, double value) {
  uint8_t bytes[8];
  storeFromDouble(type, value, bytes);
  return float(loadAsDouble(type, bytes));
}

/// Smallest positive value of a type.
static double smallest(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return 0x1p-24;
  case ElementType::BF16:
    return 0x1p-133;
  case ElementType::F8E4M3:
    return 0x1p-9;
  case ElementType::F8E5M2:
    return 0x1p-16;
  case ElementType::F32:
    return 0x1p-149;
  default:
    return 1;
  }
}

/// Zero inputs of the right sizes.
static ProductInputs emptyInputs(const Problem &problem, int64_t n) {
  ProductInputs inputs;
  inputs.n = n;
  inputs.x.assign(size_t(problem.k) * size_t(n), 0.0f);
  if (problem.epilogue.bias)
    inputs.bias.assign(size_t(problem.m), 0.0f);
  if (problem.epilogue.residual)
    inputs.residual.assign(size_t(problem.m) * size_t(n), 0.0f);
  return inputs;
}

namespace {
enum SpecialToken : unsigned {
  NegativeZeros,
  Infinity,
  NotANumber,
  NegativeInfinity,
  Subnormals,
  Plain,
  BothInfinities,
  OnlyNegativeZeros,
  SpecialTokenCount,
};
} // namespace

unsigned sparseditto::specialTokenKinds() { return SpecialTokenCount; }

/// Writes one special token into column `t` of X, which holds normal values.
static void makeSpecial(SpecialToken kind, const Problem &problem, int64_t t,
                        ProductInputs &inputs, Random &random) {
  const int64_t n = inputs.n, k = problem.k;
  auto at = [&](int64_t row) -> float & {
    return inputs.x[size_t(row) * size_t(n) + size_t(t)];
  };
  const float inf = std::numeric_limits<float>::infinity();
  // Types without infinities have no such tokens; theirs stay plain.
  const bool hasInf =
      isFloat(problem.type) && problem.type != ElementType::F8E4M3;
  switch (kind) {
  case NegativeZeros:
    for (int64_t row = 0; row < k; row += 2)
      at(row) = -0.0f;
    break;
  case Infinity:
    if (hasInf)
      at(int64_t(random.below(uint64_t(k)))) = inf;
    break;
  case NegativeInfinity:
    if (hasInf)
      at(int64_t(random.below(uint64_t(k)))) = -inf;
    break;
  case NotANumber:
    if (isFloat(problem.type))
      at(int64_t(random.below(uint64_t(k)))) =
          std::numeric_limits<float>::quiet_NaN();
    break;
  case Subnormals:
    for (int64_t row = 0; row < k; ++row)
      at(row) = rounded(problem.type, smallest(problem.type) *
                                          double(1 + random.below(6)) *
                                          (random.below(2) ? 1 : -1));
    break;
  case BothInfinities:
    if (hasInf) {
      at(int64_t(random.below(uint64_t(k)))) = inf;
      at(int64_t(random.below(uint64_t(k)))) = -inf;
    }
    break;
  case OnlyNegativeZeros:
    for (int64_t row = 0; row < k; ++row)
      at(row) = -0.0f;
    break;
  case Plain:
  case SpecialTokenCount:
    break;
  }
}

/// Changes one element of each token by 4, so that whoever remembers a product
/// by some of its input remembers the wrong one.
static void alterTokens(const Problem &problem, uint64_t seed,
                        ProductInputs &inputs) {
  Random random(seed ^ 0x616c746572);
  for (int64_t t = 0; t < inputs.n; ++t) {
    uint64_t k = random.below(uint64_t(problem.k));
    float &value = inputs.x[k * size_t(inputs.n) + size_t(t)];
    value = rounded(problem.type, value < 0 ? value + 4 : value - 4);
  }
}

ProductInputs sparseditto::makeInputs(InputSet set, const Oracle &oracle,
                                      int64_t n, uint64_t seed) {
  const Problem &problem = oracle.problem();
  ProductInputs inputs = emptyInputs(problem, n);
  // One stream per use, so that one size never shifts another's numbers.
  Random forX(seed * 4 + 1), forBias(seed * 4 + 2), forResidual(seed * 4 + 3);
  switch (set) {
  case InputSet::Random:
  case InputSet::Altered:
  case InputSet::Special: {
    const bool integer = !isFloat(problem.type);
    for (float &value : inputs.x)
      value = rounded(problem.type, forX.normal() * (integer ? 16 : 1));
    for (float &value : inputs.bias)
      value = float(forBias.normal());
    for (float &value : inputs.residual)
      value = rounded(problem.outputType, forResidual.normal());
    if (set == InputSet::Special)
      for (int64_t t = 0; t < n; ++t)
        makeSpecial(SpecialToken((uint64_t(t) + seed) % SpecialTokenCount),
                    problem, t, inputs, forX);
    if (set == InputSet::Altered)
      alterTokens(problem, seed, inputs);
    break;
  }
  case InputSet::Integers:
    // Tokens differ in how many terms a row's sum has: few terms are exact for
    // any weight, many only where exponents are close.
    for (int64_t t = 0; t < n; ++t) {
      static constexpr double wantedTerms[] = {2, 4, 8, 16, 64};
      double probability = std::min(
          0.4, wantedTerms[t % 5] / std::max(1.0, oracle.meanRowNonZeros()));
      for (int64_t k = 0; k < problem.k; ++k)
        if (forX.uniform() < probability) {
          int value = 1 + int(forX.below(3));
          inputs.x[size_t(k) * size_t(n) + size_t(t)] =
              float(forX.below(2) ? value : -value);
        }
    }
    for (float &value : inputs.bias)
      value = float(int(forBias.below(33)) - 16) / 64;
    for (float &value : inputs.residual)
      value = rounded(problem.outputType,
                      double(int(forResidual.below(33)) - 16) / 64);
    break;
  case InputSet::OneHot: {
    std::vector<int64_t> columns;
    for (int64_t t = 0; t < n; ++t)
      columns.push_back(int64_t(forX.below(uint64_t(problem.k))));
    return makeOneHot(oracle, columns, false);
  }
  }
  return inputs;
}

ProductInputs sparseditto::makeOneHot(const Oracle &oracle,
                                      llvm::ArrayRef<int64_t> columns,
                                      bool negate) {
  ProductInputs inputs = emptyInputs(oracle.problem(), int64_t(columns.size()));
  // Scales that keep weights exact; neighbouring tokens differ so that a token
  // read in another's place shows.
  static constexpr float scales[] = {1, 2, 0.5f, 4};
  static constexpr float integerScales[] = {1, 2, 3, 4};
  const bool integer = !isFloat(oracle.problem().type);
  for (size_t t = 0; t < columns.size(); ++t) {
    float scale = (integer ? integerScales : scales)[t % 4];
    inputs.x[size_t(columns[t]) * columns.size() + t] = negate ? -scale : scale;
  }
  return inputs;
}
