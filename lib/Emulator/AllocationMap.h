//===- AllocationMap.h - Who owns an address --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_ALLOCATIONMAP_H
#define SPARSEDITTO_LIB_EMULATOR_ALLOCATIONMAP_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sparseditto::emulator {

struct Allocation {
  /// The mapping with its guard pages, and the bytes a kernel may touch.
  uint64_t mappingBegin = 0, mappingEnd = 0, begin = 0, end = 0;
  bool readOnly = false;
  std::string name;
};

/// An immutable snapshot, sorted by address.
class AllocationMap {
public:
  explicit AllocationMap(std::vector<Allocation> sorted)
      : Allocations(std::move(sorted)) {}
  /// The allocation whose bytes or guard zone contain `address`, or null.
  const Allocation *find(uint64_t address) const;

private:
  std::vector<Allocation> Allocations;
};

/// The process-wide registry of global memory. Thread-safe.
void registerAllocation(Allocation allocation);
void unregisterAllocation(uint64_t mappingBegin);
void setAllocationReadOnly(uint64_t mappingBegin, bool readOnly);
AllocationMap snapshotAllocations();

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_ALLOCATIONMAP_H
