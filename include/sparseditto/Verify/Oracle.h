//===- Oracle.h - The product in f64 ----------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes Y from the original weight, never from packed buffers, and with
// nothing in common with the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_VERIFY_ORACLE_H
#define SPARSEDITTO_VERIFY_ORACLE_H

#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Kernels/Problem.h"
#include "sparseditto/Verify/Tolerance.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace sparseditto {

/// Input values of one product, exact in their element types.
struct ProductInputs {
  int64_t n = 1;
  std::vector<float> x;        ///< K x N, x[k * n + token].
  std::vector<float> bias;     ///< M, empty without a bias.
  std::vector<float> residual; ///< M x N, empty without a residual.
};

class Oracle {
public:
  /// Fails for element types that f32 does not hold exactly and for a weight
  /// whose shape is not the problem's.
  static llvm::Expected<Oracle> create(const Matrix &weight,
                                       const Problem &problem);

  /// Binds inputs, which must outlive the binding. Not thread-safe; row() is.
  void bind(const ProductInputs &inputs);

  /// The n output elements of one row. `scratch` is reused between calls of
  /// one thread.
  struct Scratch {
    std::vector<double> sum, magnitude;
    std::vector<int> grain;
    std::vector<int64_t> terms;
  };
  void row(int64_t m, Scratch &scratch,
           llvm::MutableArrayRef<OracleValue> out) const;

  const Problem &problem() const { return product; }
  /// Mean number of non-zero weights in a row.
  double meanRowNonZeros() const { return meanNonZeros; }
  float weight(int64_t m, int64_t k) const {
    return values[size_t(m) * size_t(product.k) + size_t(k)];
  }

private:
  struct Entry {
    int64_t token, k;
    float value;
  };

  Problem product;
  std::vector<float> values; ///< M x K.
  double meanNonZeros = 0;

  const ProductInputs *inputs = nullptr;
  /// Non-zeros of X when at most half of it: then they are walked instead of
  /// the weight, and exactness is tracked.
  bool sparseInput = false;
  std::vector<Entry> inputEntries;
  std::vector<Entry> nonFinite;
};

} // namespace sparseditto

#endif // SPARSEDITTO_VERIFY_ORACLE_H
