//===- Inputs.h - Inputs that find faults -----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_VERIFY_INPUTS_H
#define SPARSEDITTO_VERIFY_INPUTS_H

#include "sparseditto/Verify/Oracle.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace sparseditto {

enum class InputSet : uint8_t {
  Random,   ///< Normal X, bias and residual.
  OneHot,   ///< One non-zero a token: the output is a column of W.
  Integers, ///< Few small integers a token: most sums are exact in f32.
  Altered,  ///< The random ones with one element of each token changed.
  Special,  ///< -0.0, infinities, NaN and subnormals, each in its own token.
};
llvm::StringRef name(InputSet set); ///< "random", "one-hot", ...

/// A small counter-based generator: the same numbers on every platform.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  double uniform(); ///< In [0, 1).
  double normal();
  /// In [0, bound).
  uint64_t below(uint64_t bound) { return next() % bound; }

private:
  uint64_t state;
};

/// Values rounded to the problem's types. Fully determined by the arguments.
ProductInputs makeInputs(InputSet set, const Oracle &oracle, int64_t n,
                         uint64_t seed);

/// One-hot inputs whose token t has its non-zero in column columns[t].
/// `negate` flips the signs, which shows the other half of a relu.
ProductInputs makeOneHot(const Oracle &oracle, llvm::ArrayRef<int64_t> columns,
                         bool negate);

/// The kinds of special token, so that callers can cover all with few tokens:
/// token t of makeInputs(Special, ..., seed) has kind (t + seed) % count.
unsigned specialTokenKinds();

} // namespace sparseditto

#endif // SPARSEDITTO_VERIFY_INPUTS_H
