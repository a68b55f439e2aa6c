//===- FiberStacks.h - Stacks with guard pages ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_FIBERSTACKS_H
#define SPARSEDITTO_LIB_EMULATOR_FIBERSTACKS_H

#include "StackSwitch.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>

namespace sparseditto::emulator {

/// A row of equal stacks in one mapping. Pages are committed when touched.
class FiberStacks {
public:
  static constexpr size_t guardBytes = 4096;
  /// For a kernel's local arrays.
  static constexpr size_t localBytes = 236 * 1024;
  /// Besides them, for spills and the run time's own calls, whose frames
  /// AddressSanitizer makes larger.
  static constexpr size_t callBytes = (addressSanitizer ? 128 : 16) * 1024;
  static constexpr size_t usableBytes = localBytes + callBytes;
  static constexpr size_t stackBytes = usableBytes + guardBytes;

  FiberStacks() = default;
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;
  ~FiberStacks();

  /// At least `count` stacks.
  llvm::Error map(unsigned count);
  /// Highest address of stack `i`.
  void *top(unsigned i) const { return Base + (i + 1) * stackBytes; }
  /// Stack `i`, with nothing on it.
  StackExtent fresh(unsigned i) const;
  bool inGuard(uint64_t address) const;

private:
  uint8_t *Base = nullptr;
  unsigned Count = 0;

  void unmap();
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_FIBERSTACKS_H
