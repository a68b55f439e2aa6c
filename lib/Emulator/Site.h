//===- Site.h - Instrumented places of a kernel -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every access and every warp or block operation has a site: the MLIR operation
// it came from and, for warp operations, what to compute. Generated code passes
// the site's number to the run-time functions.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_SITE_H
#define SPARSEDITTO_LIB_EMULATOR_SITE_H

#include <cstdint>
#include <string>
#include <vector>

namespace sparseditto::emulator {

/// Element types of the matrix instructions.
enum class MatrixElement : uint8_t { F16, BF16, TF32, S8, U8, E4M3, E5M2 };
enum class Accumulator : uint8_t { F32, F16, S32 };

/// mma.sync and mma.sp.sync with m = 16, n = 8, A row-major, B column-major.
struct MatrixOp {
  unsigned k = 16;
  MatrixElement a = MatrixElement::F16, b = MatrixElement::F16;
  Accumulator accumulator = Accumulator::F32;
  bool saturate = false; ///< Integer accumulators clamp.
  bool sparse = false;   ///< A is stored 2:4 (1:2 for tf32).
  bool ordered = false;  ///< Metadata must be in ascending order.
  unsigned selector = 0;

  unsigned elementsPerRegister() const;
  unsigned storedK() const { return sparse ? k / 2 : k; }
  /// Groups a row that have metadata.
  unsigned groups() const {
    return storedK() / (a == MatrixElement::TF32 ? 1 : 2);
  }
  /// Legal selectors are below it: one lane of four holds the metadata of four
  /// groups, two hold that of eight.
  unsigned selectors() const { return groups() == 4 ? 4 : 2; }
  unsigned aRegisters() const {
    return 16 * storedK() / 32 / elementsPerRegister();
  }
  unsigned bRegisters() const { return 8 * k / 32 / elementsPerRegister(); }
  unsigned cRegisters() const {
    return accumulator == Accumulator::F16 ? 2 : 4;
  }
};

enum class WarpOp : uint8_t {
  Matrix,
  LoadMatrix,  ///< args: address. results: count registers.
  StoreMatrix, ///< args: address, count registers.
  ShuffleIdx,  ///< args: value, b, c. results: value, predicate.
  ShuffleUp,
  ShuffleDown,
  ShuffleBfly,
  VoteAll, ///< args: predicate. results: predicate or ballot.
  VoteAny,
  VoteUni,
  VoteBallot,
  MatchAny,  ///< args: value. results: mask.
  ReduceAdd, ///< args: value. results: value.
  ReduceAnd,
  ReduceOr,
  ReduceXor,
  ReduceMin,
  ReduceMax,
  ReduceUMin,
  ReduceUMax,
  Sync,  ///< bar.warp.sync.
  Elect, ///< results: lane, predicate.
};

struct Site {
  unsigned operation = 0;  ///< Index into the kernel's operation table.
  std::string instruction; ///< The intrinsic without "llvm.nvvm.".
  // Warp operations only.
  WarpOp warpOp = WarpOp::Sync;
  bool aligned = false; ///< All 32 lanes must execute this very operation.
  MatrixOp matrix;
  unsigned count = 0;     ///< Matrices of ldmatrix / stmatrix.
  bool transpose = false; ///< Of ldmatrix / stmatrix.
};

/// What a fault says about the MLIR operation of a site.
struct OperationRecord {
  std::string name, location;
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_SITE_H
