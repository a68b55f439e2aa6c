//===- TestWeights.h - Weights for kernel tests -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_KERNELS_TESTWEIGHTS_H
#define SPARSEDITTO_UNITTESTS_KERNELS_TESTWEIGHTS_H

#include "sparseditto/IO/Matrix.h"
#include "llvm/Support/Error.h"
#include <random>

namespace sparseditto::test {

/// Normal values at random places, never a stored zero where one is kept.
inline Matrix randomWeight(ElementType type, int64_t rows, int64_t cols,
                           double density, uint64_t seed) {
  Matrix weight =
      llvm::cantFail(Matrix::allocate("random", type, rows, cols));
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int64_t i = 0; i < weight.numElements(); ++i)
    if (uniform(generator) < density) {
      double value = normal(generator);
      storeFromDouble(type, value + (value < 0 ? -0.25 : 0.25),
                      weight.mutableData() + i * byteSize(type));
    }
  return weight;
}

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_KERNELS_TESTWEIGHTS_H
