//===- Case.h - One kernel of the sweep -------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_SWEEP_CASE_H
#define SPARSEDITTO_UNITTESTS_SWEEP_CASE_H

#include "WeightKinds.h"
#include "sparseditto/Emulator/GuardedBuffer.h"
#include "sparseditto/Kernels/Family.h"
#include <string>
#include <vector>

namespace sparseditto::test {

/// One kernel, its weight, and the N it is checked for. It is compiled once.
struct SweepCase {
  const KernelFamily *family = nullptr;
  Problem problem;
  Strategy strategy;
  WeightKind weight = WeightKind::Dense;
  /// Against which guard page the buffers lie.
  GuardedBufferOptions::Side side = GuardedBufferOptions::End;
  uint64_t seed = 1; ///< Of the weight, the inputs and the stride variants.
  std::vector<int64_t> n;

  /// "family=nm m=17 k=31 type=f16 out=f32 layout=token-major
  /// epilogue=bias+relu weight=two-four side=end seed=3 n=1,8 knobs=tile_m:32":
  /// knobs that differ from the defaults. parse() is the inverse.
  std::string str() const;
  static llvm::Expected<SweepCase> parse(llvm::StringRef text);
};

/// "none", or the parts that there are: "bias+gelu+residual".
std::string name(const Epilogue &epilogue);

struct SweepOutcome {
  std::string failure; ///< One line; empty if the kernel was verified.
  double buildSeconds = 0, totalSeconds = 0;
  int64_t launches = 0;
};

/// Builds the case's kernel and runs it under the checker. `thorough` takes
/// every stride variant and every one-hot column.
SweepOutcome runCase(const SweepCase &sweepCase, bool thorough = false);

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_SWEEP_CASE_H
