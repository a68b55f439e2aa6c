//===- Chips.cpp - Chips, PTX versions and their limits -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Chips.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace sparseditto;

// The PTX versions that both LLVM 22 and ptxas 13.0 take for each chip; a pair
// outside makes LLVM abort. 8.5 brings mma.sp with ordered metadata and every
// TMA and mbarrier form; Blackwell starts at 8.6.
static constexpr unsigned KiB = 1024;
static constexpr Chip chips[] = {
    {"sm_80", 80, 70, 90, 85, 163 * KiB, 255},
    {"sm_86", 86, 71, 90, 85, 99 * KiB, 255},
    {"sm_87", 87, 74, 90, 85, 163 * KiB, 255},
    {"sm_89", 89, 78, 90, 85, 99 * KiB, 255},
    {"sm_90", 90, 78, 90, 85, 227 * KiB, 255},
    {"sm_90a", 90, 80, 90, 85, 227 * KiB, 255},
    {"sm_100", 100, 86, 90, 88, 227 * KiB, 255},
    {"sm_100a", 100, 86, 90, 88, 227 * KiB, 255},
    {"sm_103a", 103, 88, 90, 88, 227 * KiB, 255},
    {"sm_110a", 110, 90, 90, 90, 227 * KiB, 255},
    {"sm_120", 120, 87, 90, 88, 99 * KiB, 255},
    {"sm_120a", 120, 87, 90, 88, 99 * KiB, 255},
    {"sm_121a", 121, 88, 90, 88, 99 * KiB, 255},
};

/// The versions LLVM 22 knows from the oldest in the table on, ascending.
static constexpr unsigned ptxVersions[] = {
    70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

llvm::ArrayRef<Chip> sparseditto::knownChips() { return chips; }

llvm::Expected<const Chip *> sparseditto::findChip(llvm::StringRef name) {
  const Chip *chip = llvm::find_if(
      chips, [&](const Chip &candidate) { return candidate.name == name; });
  if (chip != std::end(chips))
    return chip;
  std::string known = llvm::join(
      llvm::map_range(chips, [](const Chip &c) { return c.name; }), ", ");
  return llvm::createStringError("unknown chip '" + name.str() +
                                 "', expected one of " + known);
}

bool sparseditto::isPtxVersion(unsigned version) {
  return llvm::is_contained(ptxVersions, version);
}

/// "8.5" for 85.
static std::string versionText(unsigned version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

llvm::Expected<unsigned> sparseditto::choosePtxVersion(const Chip &chip,
                                                       unsigned ptxasPtx,
                                                       unsigned driverPtx) {
  unsigned limit = std::min(chip.preferredPtx, chip.maxPtx);
  llvm::StringRef limitedBy = "LLVM";
  if (ptxasPtx != 0 && ptxasPtx < limit) {
    limit = ptxasPtx;
    limitedBy = "ptxas";
  }
  if (driverPtx != 0 && driverPtx < limit) {
    limit = driverPtx;
    limitedBy = "the driver";
  }
  // The newest version that exists below the limit.
  const unsigned *above = llvm::upper_bound(ptxVersions, limit);
  unsigned version = above == std::begin(ptxVersions) ? 0 : above[-1];
  if (version >= chip.minPtx)
    return version;
  return llvm::createStringError(chip.name.str() + " needs PTX " +
                                 versionText(chip.minPtx) + " or newer, but " +
                                 limitedBy.str() + " takes at most " +
                                 versionText(limit));
}
