//===- SharedMemory.h - Shared memory of a block and its shadow -*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The window lies below 4 GiB and is aligned to its size, so that kernels that
// do 32-bit arithmetic on shared addresses work unchanged. Each byte has a
// state: red zone, uninitialized, written, or target of a copy in flight.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_SHAREDMEMORY_H
#define SPARSEDITTO_LIB_EMULATOR_SHAREDMEMORY_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sparseditto::emulator {

/// One shared array. The dynamic one comes last and has size 0 here.
struct SharedRegion {
  std::string name;
  unsigned offset = 0, size = 0;
  bool dynamic = false;
};

enum class ByteState : uint8_t {
  Uninitialized = 0,
  Written,
  InFlight,
  RedZone
};

class SharedMemory {
public:
  /// More than any chip gives a block, and a power of two.
  static constexpr unsigned windowBytes = 256 * 1024;
  static constexpr uint8_t poison = 0xff;

  SharedMemory() = default;
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;
  ~SharedMemory();

  llvm::Error map();
  /// Poisons everything for a new block; `size` is static + dynamic.
  void reset(const std::vector<SharedRegion> &regions, unsigned dynamicBytes);

  char *base() const { return Base; }
  bool contains(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(Base) < windowBytes;
  }
  unsigned offsetOf(uint64_t address) const {
    return static_cast<unsigned>(address - reinterpret_cast<uint64_t>(Base));
  }
  /// End of the last array.
  unsigned usedBytes() const { return Used; }
  ByteState *state(unsigned offset) { return &States[offset]; }
  /// First offset in [offset, offset + size) whose state is not `wanted`, or
  /// offset + size.
  unsigned findOther(unsigned offset, unsigned size, ByteState wanted) const;
  void mark(unsigned offset, unsigned size, ByteState to);
  /// "shared array 'tile' + 12" or "no shared array".
  std::string describe(unsigned offset) const;

private:
  void *Mapping = nullptr;
  char *Base = nullptr;
  std::vector<ByteState> States;
  std::vector<ByteState> Initial; ///< States of a fresh block.
  const std::vector<SharedRegion> *Regions = nullptr;
  unsigned DynamicBytes = 0;
  unsigned Used = 0; ///< End of the last region.
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_SHAREDMEMORY_H
