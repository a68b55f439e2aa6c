//===- MatrixOps.h - Arithmetic of mma.sync and mma.sp.sync -----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_MATRIXOPS_H
#define SPARSEDITTO_LIB_EMULATOR_MATRIXOPS_H

#include "Site.h"
#include <optional>

namespace sparseditto::emulator {

/// Set if operands make the result undefined.
struct MatrixProblem {
  std::optional<unsigned> lane;
  std::string message;
};

/// D = A * B + C for a warp. `args[lane]` holds the registers of A, B, C and,
/// for sparse operations, the metadata, one register in the low half of each
/// word; `results[lane]` gets those of D. Float products are exact, summed in
/// f64 onto C in the order of k, and rounded once.
MatrixProblem computeMatrixOp(const MatrixOp &op,
                              const uint64_t *const args[32],
                              uint64_t *const results[32]);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_MATRIXOPS_H
