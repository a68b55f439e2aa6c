//===- NumericCheck.h - Executing kernels in the emulator -------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_KERNELS_NUMERICCHECK_H
#define SPARSEDITTO_UNITTESTS_KERNELS_NUMERICCHECK_H

#include "EmulatedCheck.h"
#include "gtest/gtest.h"

namespace sparseditto::test {

/// The problem of a weight: its shape and type, Y in the same type.
inline Problem problemOf(const Matrix &weight, Layout layout,
                         Epilogue epilogue = {}) {
  Problem problem;
  problem.m = weight.rows;
  problem.k = weight.cols;
  problem.type = problem.outputType = weight.type;
  problem.layout = layout;
  problem.epilogue = epilogue;
  return problem;
}

/// Packs, builds and runs one kernel under the checker's input sets.
inline void checkNumerically(const KernelFamily &family, const Matrix &weight,
                             const Problem &problem, const Strategy &strategy,
                             const CheckOptions &options,
                             unsigned computeCapability = 90) {
  SCOPED_TRACE(strategy.str() + " " + std::to_string(problem.m) + "x" +
               std::to_string(problem.k) + " " + name(problem.type).str() +
               " -> " + name(problem.outputType).str() + " " +
               name(problem.layout).str() + " " +
               name(problem.epilogue.activation).str() +
               (problem.epilogue.bias ? " bias" : "") +
               (problem.epilogue.residual ? " residual" : ""));
  auto result = checkOnEmulator(family, weight, problem, strategy, options,
                                computeCapability);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->status, CheckStatus::Verified)
      << (result->failure ? result->failure->message : "");
}

/// A few N, one stride variant at each, few one-hot columns: what runs on every
/// commit.
inline CheckOptions quickCheck(std::vector<int64_t> n) {
  CheckOptions options;
  options.n = std::move(n);
  options.onlyGivenN = true;
  options.allVariants = false;
  options.maxOneHotLaunches = 4;
  return options;
}

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_KERNELS_NUMERICCHECK_H
