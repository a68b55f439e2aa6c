//===- MachineModelTest.cpp - Predictions beside measurements -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/MachineModel.h"
#include "gtest/gtest.h"

using namespace sparseditto;

static Problem halfProblem(int64_t m, int64_t k) {
  Problem problem;
  problem.m = m;
  problem.k = k;
  return problem;
}

TEST(MachineModel, DenseLibraryIsWithinAQuarterOfTheH200) {
  const MachineModel &h200 = MachineModel::forChip("sm_90a");
  struct {
    int64_t m, k, n;
    double measured; // cuBLAS, cold, microseconds
  } rows[] = {{4096, 4096, 1, 12.8},   {4096, 4096, 16, 14.2},
              {4096, 4096, 128, 12.9}, {4096, 4096, 512, 24.2},
              {4096, 4096, 2048, 85},  {11008, 4096, 8, 25.3}};
  for (auto &row : rows) {
    double predicted =
        h200.predictDenseLibrary(halfProblem(row.m, row.k), row.n);
    EXPECT_NEAR(predicted / row.measured, 1.0, 0.25)
        << row.m << "x" << row.k << "x" << row.n;
  }
}

TEST(MachineModel, MoreBytesNeverTakeLess) {
  for (const char *chip : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_120a"}) {
    const MachineModel &model = MachineModel::forChip(chip);
    double previous = 0;
    for (double bytes = 1e3; bytes < 1e9; bytes *= 2) {
      double time = model.floorMicroseconds(bytes);
      EXPECT_GE(time, previous) << chip;
      EXPECT_GT(time, 0) << chip;
      previous = time;
    }
  }
}

TEST(MachineModel, UnknownChipStandsInWithTheH200) {
  EXPECT_EQ(MachineModel::forChip("sm_90").chip, "sm_90a");
  EXPECT_EQ(MachineModel::forChip("sm_77").chip, "sm_90a");
  EXPECT_EQ(MachineModel::forChip("sm_120").chip, "sm_120a");
}
