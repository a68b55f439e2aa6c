//===- FiberStacks.h - Stacks with guard pages ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_FIBERSTACKS_H
#define SPARSEDITTO_LIB_EMULATOR_FIBERSTACKS_H

#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>

namespace sparseditto::emulator {

/// A row of equal stacks in one mapping. Pages are committed when touched.
class FiberStacks {
public:
  static constexpr size_t stackBytes = 256 * 1024;
  static constexpr size_t guardBytes = 4096;

  FiberStacks() = default;
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;
  ~FiberStacks();

  /// At least `count` stacks.
  llvm::Error map(unsigned count);
  /// Highest address of stack `i`.
  void *top(unsigned i) const { return Base + (i + 1) * stackBytes; }
  static constexpr size_t usableBytes() { return stackBytes - guardBytes; }
  /// Of them, for a kernel's local arrays; the rest is for spills and the run
  /// time's own calls.
  static constexpr size_t localBytes() { return usableBytes() - 16 * 1024; }
  bool inGuard(uint64_t address) const;

private:
  uint8_t *Base = nullptr;
  unsigned Count = 0;
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_FIBERSTACKS_H
