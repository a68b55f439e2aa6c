//===- ChipsTest.cpp - Chips and PTX versions -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Chips.h"
#include "gtest/gtest.h"
#include <set>

using namespace sparseditto;

static std::string message(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST(Chips, KnowsEachChipOnce) {
  std::set<std::string> names;
  for (const Chip &chip : knownChips()) {
    EXPECT_TRUE(names.insert(chip.name.str()).second) << chip.name.str();
    auto found = findChip(chip.name);
    ASSERT_TRUE(bool(found));
    EXPECT_EQ(*found, &chip);
    EXPECT_LE(chip.minPtx, chip.preferredPtx);
    EXPECT_LE(chip.preferredPtx, chip.maxPtx);
  }
  for (const char *name :
       {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    EXPECT_TRUE(names.count(name)) << name;
}

TEST(Chips, NamesTheKnownOnesForAnUnknownOne) {
  for (const char *name :
       {"sm_75", "sm_101a", "sm_95", "SM_80", "", "sm_90ax"}) {
    auto chip = findChip(name);
    ASSERT_FALSE(bool(chip)) << name;
    std::string text = message(chip.takeError());
    EXPECT_NE(text.find("unknown chip '" + std::string(name) + "'"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("sm_80, sm_86"), std::string::npos) << text;
  }
}

TEST(Chips, SharedMemoryLimits) {
  auto limit = [](llvm::StringRef name) {
    return llvm::cantFail(findChip(name))->maxSharedPerBlock;
  };
  EXPECT_EQ(limit("sm_80"), 166912u);
  EXPECT_EQ(limit("sm_86"), 101376u);
  EXPECT_EQ(limit("sm_89"), 101376u);
  EXPECT_EQ(limit("sm_90a"), 232448u);
  EXPECT_EQ(limit("sm_100a"), 232448u);
  EXPECT_EQ(limit("sm_120a"), 101376u);
}

TEST(PtxVersion, TakesTheLowestOfLlvmPtxasAndDriver) {
  const Chip &ampere = *llvm::cantFail(findChip("sm_80"));
  EXPECT_EQ(llvm::cantFail(choosePtxVersion(ampere, 0, 0)), 85u);
  EXPECT_EQ(llvm::cantFail(choosePtxVersion(ampere, 90, 0)), 85u);
  EXPECT_EQ(llvm::cantFail(choosePtxVersion(ampere, 83, 0)), 83u);
  EXPECT_EQ(llvm::cantFail(choosePtxVersion(ampere, 90, 82)), 82u);
  // There is no PTX 7.9.
  EXPECT_EQ(llvm::cantFail(choosePtxVersion(ampere, 79, 0)), 78u);
  const Chip &blackwell = *llvm::cantFail(findChip("sm_100a"));
  EXPECT_EQ(llvm::cantFail(choosePtxVersion(blackwell, 0, 0)), 88u);
  // Nor 8.9.
  EXPECT_EQ(llvm::cantFail(choosePtxVersion(blackwell, 89, 87)), 87u);
}

TEST(PtxVersion, RefusesWhatDoesNotSufficeForTheChip) {
  const Chip &hopper = *llvm::cantFail(findChip("sm_90a"));
  EXPECT_EQ(message(choosePtxVersion(hopper, 78, 0).takeError()),
            "sm_90a needs PTX 8.0 or newer, but ptxas takes at most 7.8");
  EXPECT_EQ(message(choosePtxVersion(hopper, 90, 75).takeError()),
            "sm_90a needs PTX 8.0 or newer, but the driver takes at most 7.5");
  const Chip &thor = *llvm::cantFail(findChip("sm_110a"));
  EXPECT_EQ(message(choosePtxVersion(thor, 88, 0).takeError()),
            "sm_110a needs PTX 9.0 or newer, but ptxas takes at most 8.8");
  const Chip &ampere = *llvm::cantFail(findChip("sm_80"));
  EXPECT_EQ(message(choosePtxVersion(ampere, 1, 0).takeError()),
            "sm_80 needs PTX 7.0 or newer, but ptxas takes at most 0.1");
}
