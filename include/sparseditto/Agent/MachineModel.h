//===- MachineModel.h - Predicted time of one launch ------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rates of the chips we generate code for and the time they imply for a
// family's counted work. The H200's rates were measured; the others are
// datasheet ratios applied to it, and predictions for them say so.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_MACHINEMODEL_H
#define SPARSEDITTO_AGENT_MACHINEMODEL_H

#include "sparseditto/Kernels/Family.h"
#include "llvm/ADT/StringRef.h"

namespace sparseditto {

struct MachineModel {
  llvm::StringRef chip;      ///< "sm_90a".
  llvm::StringRef device;    ///< The card the rates stand for.
  bool measured = false;     ///< False: scaled from datasheet ratios.
  double memoryBandwidth;    ///< Bytes per microsecond, sustained, cold.
  double l2Bandwidth;        ///< Bytes per microsecond into the SMs.
  double tensorRate;         ///< f16 FLOP per microsecond, dense library.
  double fmaRate;            ///< f32 FLOP per microsecond on CUDA cores.
  double launchMicroseconds; ///< Of a launch that moves nothing.
  double sharedBandwidth;    ///< Bytes per microsecond of all shared memories.
  unsigned sms;              ///< Streaming multiprocessors.
  unsigned threadsPerSm, sharedBytesPerSm;

  /// The model of the chip; sm_90a's for a chip without one of its own.
  static const MachineModel &forChip(llvm::StringRef chip);

  /// Least time of one cold launch that moves `bytes`.
  double floorMicroseconds(double bytes) const;
  /// Blocks that one SM holds at once, at least 1.
  double residentBlocks(const CostModel &cost) const;
  /// How often all SMs are filled until the grid is done; 1 if the family
  /// gives no count of blocks.
  double waves(const CostModel &cost) const;
  /// Microseconds that each part of a kernel's work takes by itself.
  struct Phases {
    double memory = 0, l2 = 0, shared = 0, tensor = 0, fma = 0; ///< Overlap.
    double exposed = 0; ///< Share of all but the longest that is not hidden.
    double fixed = 0;   ///< Launch and reduction.
    double staging = 0; ///< Waits before the product, of all waves.
    double total() const;
  };
  Phases phases(const CostModel &cost, llvm::StringRef family) const;
  /// Predicted time of a kernel with this counted work: phases().total().
  double predict(const CostModel &cost, llvm::StringRef family) const;
  /// Predicted time of the dense library's product.
  double predictDenseLibrary(const Problem &problem, int64_t n) const;
};

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_MACHINEMODEL_H
