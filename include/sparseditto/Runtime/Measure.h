//===- Measure.h - A verified kernel's time beside dense --------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_MEASURE_H
#define SPARSEDITTO_RUNTIME_MEASURE_H

#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Kernels/Packed.h"
#include "sparseditto/Runtime/Kernel.h"
#include "sparseditto/Runtime/Timing.h"
#include "sparseditto/Verify/Checker.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace sparseditto {

struct MeasureOptions {
  TimingOptions timing;
  bool dense = true;
  bool floor = true;
  uint64_t seed = 1;
};

struct Measurement {
  int64_t n = 0;
  Timing kernel;
  bool cold = true; ///< False if the copies fit into L2.
  double bytes = 0; ///< Packed weight, X, Y, bias and residual, once.
  double floorMicroseconds = 0; ///< Cold read of `bytes`; 0 if not measured.
  /// cuBLASLt, best of the algorithms found, before and after the kernel; 0
  /// without cuBLASLt, and then denseNote says why.
  double denseBefore = 0, denseAfter = 0;
  int denseAlgorithms = 0;
  std::string denseNote; ///< Version and path, or the reason for no time.
  /// Empty if the launches that were timed computed the right thing at a
  /// believable speed; else what was wrong.
  std::string fault;
  /// WrongResult, InputModified or OutOfBounds, if the fault is not the speed.
  CheckStatus faultStatus = CheckStatus::WrongResult;
  bool fasterThanFloor = false; ///< The fault is the speed.

  double dense() const { return (denseBefore + denseAfter) / 2; }
  llvm::json::Value toJSON() const;
  static llvm::Expected<Measurement> fromJSON(const llvm::json::Value &value);
};

/// Times `kernel` at N. Each replay finds other data in every X, something else
/// in every Y, and nothing in L2; after random replays and the last, launches
/// are checked against the oracle on sampled rows; then all memory but Y is
/// looked through for changes; a time that the memory system cannot reach is
/// refused. An Error is a failure to measure.
llvm::Expected<Measurement> measureKernel(DeviceRef device,
                                          const LoadedKernel &kernel,
                                          const Matrix &weight,
                                          const PackedWeight &packed, int64_t n,
                                          const MeasureOptions &options);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_MEASURE_H
