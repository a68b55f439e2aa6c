//===- MachineModel.cpp - Predicted time of one launch --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Runtime/Floor.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <array>

using namespace sparseditto;

// One row a chip. Rates are per microsecond: 4.5e6 bytes/us is 4.5 TB/s.
static const MachineModel models[] = {
    {"sm_80", "A100 80GB", false, 1.75e6, 3.0e6, 250e6, 19.5e6, 2.0},
    {"sm_86", "RTX 3090", false, 0.85e6, 1.8e6, 65e6, 35e6, 2.0},
    {"sm_89", "RTX 4090", false, 0.92e6, 3.5e6, 150e6, 80e6, 2.0},
    {"sm_90a", "H200", true, 4.5e6, 5.5e6, 780e6, 60e6, 1.4},
    {"sm_100a", "B200", false, 7.0e6, 9.0e6, 1700e6, 75e6, 1.4},
    {"sm_120a", "RTX 5090", false, 1.6e6, 5.0e6, 200e6, 100e6, 1.6},
};

const MachineModel &MachineModel::forChip(llvm::StringRef chip) {
  llvm::StringRef base = chip;
  base.consume_back("a");
  for (const MachineModel &model : models) {
    llvm::StringRef name = model.chip;
    name.consume_back("a");
    if (name == base)
      return model;
  }
  return models[3];
}

double MachineModel::floorMicroseconds(double bytes) const {
  if (measured)
    return sparseditto::floorMicroseconds(bytes);
  return launchMicroseconds + bytes / memoryBandwidth;
}

namespace {
/// How much of the binding rate a family's kernels reach.
struct Efficiency {
  double memory, tensor, fma;
};
} // namespace

static Efficiency efficiencyOf(llvm::StringRef family) {
  return llvm::StringSwitch<Efficiency>(family)
      .Case("nm", {0.90, 0.50, 0.5})
      .Case("block", {0.80, 0.45, 0.5})
      .Case("dense", {0.90, 0.55, 0.5})
      .Case("channel", {0.80, 0.45, 0.5})
      .Case("csr", {0.80, 0.50, 0.30})
      .Default({0.75, 0.40, 0.3});
}

double MachineModel::predict(const CostModel &cost,
                             llvm::StringRef family) const {
  Efficiency efficiency = efficiencyOf(family);
  double memory = floorMicroseconds((cost.weightBytes + cost.activationBytes) /
                                    efficiency.memory);
  // A launch overlaps its phases, but never perfectly: the longest phase
  // counts whole and the others a third.
  std::array<double, 4> phases = {memory, cost.l2Bytes / l2Bandwidth,
                                  cost.tensorFlops /
                                      (tensorRate * efficiency.tensor),
                                  cost.fmaFlops / (fmaRate * efficiency.fma)};
  double longest = *std::max_element(phases.begin(), phases.end());
  double sum = 0;
  for (double phase : phases)
    sum += phase;
  return longest + (sum - longest) / 3 + cost.fixedMicroseconds;
}

double MachineModel::predictDenseLibrary(const Problem &problem,
                                         int64_t n) const {
  double element = byteSize(problem.type);
  double bytes = element * (double(problem.m) * double(problem.k) +
                            double(problem.k) * double(n)) +
                 byteSize(problem.outputType) * double(problem.m) * double(n);
  double flops = 2.0 * double(problem.m) * double(problem.k) * double(n);
  // Single precision runs on the CUDA cores unless tf32 is asked for.
  double rate = problem.type == ElementType::F32 ? fmaRate * 0.8 : tensorRate;
  // cuBLAS, cold, on an H200: 12.8 us at 4096 x 4096 x 1 where the floor of
  // the bytes is 9.4, 25.3 us at 11008 x 4096 x 8 where it is 21.1.
  double memory = floorMicroseconds(bytes) + 3.6;
  double compute = launchMicroseconds + 1.2 + flops / rate;
  return std::max(memory, compute);
}
