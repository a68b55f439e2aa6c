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
#include <cmath>

using namespace sparseditto;

// One row a chip. Rates are per microsecond: 4.5e6 bytes/us is 4.5 TB/s.
static const MachineModel models[] = {
    {"sm_80", "A100 80GB", false, 1.75e6, 3.0e6, 250e6, 19.5e6, 2.0, 19.5e6,
     108, 2048, 164 * 1024},
    {"sm_86", "RTX 3090", false, 0.85e6, 1.8e6, 65e6, 35e6, 2.0, 17.8e6, 82,
     1536, 100 * 1024},
    {"sm_89", "RTX 4090", false, 0.92e6, 3.5e6, 150e6, 80e6, 2.0, 41e6, 128,
     1536, 100 * 1024},
    {"sm_90a", "H200", true, 4.5e6, 5.5e6, 780e6, 60e6, 1.4, 29.6e6, 132, 2048,
     228 * 1024},
    {"sm_100a", "B200", false, 7.0e6, 9.0e6, 1700e6, 75e6, 1.4, 35e6, 148, 2048,
     228 * 1024},
    {"sm_120a", "RTX 5090", false, 1.6e6, 5.0e6, 200e6, 100e6, 1.6, 52e6, 170,
     1536, 100 * 1024},
};

/// One wait for memory by a whole block, of an X that every SM wants at once.
static constexpr double roundTripMicroseconds = 0.7;
/// From a request of a streaming kernel to its data, fitted on an H200.
static constexpr double memoryLatencyMicroseconds = 0.44;

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
/// How a family's kernels get along with the rates.
struct Efficiency {
  double memory, l2, tensor, fma;
  /// Share of the shorter phases that is not hidden behind the longest.
  double exposed;
};
} // namespace

static Efficiency efficiencyOf(llvm::StringRef family) {
  // The families of the two GEMM schedules share one fit: the packed weight
  // streams at the speed of a cold read, X comes from L2 at 13 TB/s.
  constexpr Efficiency gemm = {1.00, 2.40, 0.375, 0.5, 0.6};
  return llvm::StringSwitch<Efficiency>(family)
      .Cases({"nm", "block", "dense", "channel"}, gemm)
      .Case("csr", {1.00, 1.0, 0.50, 0.33, 1.0 / 3})
      .Default({0.75, 1.0, 0.40, 0.3, 1.0 / 3});
}

double MachineModel::residentBlocks(const CostModel &cost) const {
  double threads = cost.threadsPerBlock;
  double resident = std::floor(threadsPerSm / threads);
  if (cost.registersPerThread)
    resident = std::min(
        resident, std::floor(65536 / (threads * cost.registersPerThread)));
  // The driver keeps 1 KiB a block.
  resident = std::min(resident, std::floor(sharedBytesPerSm /
                                           (cost.sharedBytesPerBlock + 1024)));
  return std::max(1.0, resident);
}

double MachineModel::waves(const CostModel &cost) const {
  if (cost.blocks <= 0 || cost.threadsPerBlock == 0)
    return 1;
  return std::ceil(cost.blocks / (sms * residentBlocks(cost)));
}

MachineModel::Phases MachineModel::phases(const CostModel &cost,
                                          llvm::StringRef family) const {
  Efficiency efficiency = efficiencyOf(family);
  Phases phases;
  phases.memory = floorMicroseconds((cost.weightBytes + cost.activationBytes) /
                                    efficiency.memory);
  // By Little's law memory gives no more than what is asked for at once in the
  // time that it takes to answer.
  if (cost.bytesInFlight > 0) {
    double blocks = std::min(cost.blocks, sms * residentBlocks(cost));
    double rate = blocks * cost.bytesInFlight / memoryLatencyMicroseconds;
    phases.memory =
        std::max(phases.memory, launchMicroseconds + cost.weightBytes / rate);
  }
  // What an SM does by itself goes only as fast as there are blocks for SMs:
  // 16 blocks of a small layer leave most of the chip idle.
  double busy =
      cost.blocks > 0 ? std::min(1.0, cost.blocks / double(sms)) : 1.0;
  phases.l2 = cost.l2Bytes / (l2Bandwidth * efficiency.l2 * busy);
  phases.shared = cost.sharedBytes / (sharedBandwidth * busy);
  phases.tensor = cost.tensorFlops / (tensorRate * efficiency.tensor * busy);
  phases.fma = cost.fmaFlops / (fmaRate * efficiency.fma * busy);
  phases.exposed = efficiency.exposed;
  phases.fixed = cost.fixedMicroseconds;
  // What a block waits for before its product starts, the next wave waits for
  // again.
  phases.staging = waves(cost) * cost.roundTrips * roundTripMicroseconds;
  return phases;
}

double MachineModel::Phases::total() const {
  // A launch overlaps its phases, but never perfectly: the longest phase
  // counts whole and the others in part.
  const std::array<double, 5> overlapped = {memory, l2, shared, tensor, fma};
  double longest = *std::max_element(overlapped.begin(), overlapped.end());
  double sum = 0;
  for (double phase : overlapped)
    sum += phase;
  return longest + (sum - longest) * exposed + fixed + staging;
}

double MachineModel::predict(const CostModel &cost,
                             llvm::StringRef family) const {
  return phases(cost, family).total();
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
  // Beyond the floor of its bytes the library takes longer the longer the sum,
  // until it splits it: cold, on an H200, 0.6 us at K = 16, 2.0 at 512, 3.7 at
  // 4096.
  double memory = floorMicroseconds(bytes) +
                  std::min(3.7, 0.4 + 0.07 * std::sqrt(double(problem.k)));
  double compute = launchMicroseconds + 0.6 + flops / rate;
  return std::max(memory, compute);
}
