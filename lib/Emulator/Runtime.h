//===- Runtime.h - Functions that generated code calls ----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_RUNTIME_H
#define SPARSEDITTO_LIB_EMULATOR_RUNTIME_H

#include "llvm/ADT/ArrayRef.h"
#include <csignal>

namespace sparseditto::emulator {

/// How a thread takes part in a barrier.
enum class BarrierMode : uint32_t {
  Sync,
  Arrive,
  ReducePopc,
  ReduceAnd,
  ReduceOr
};

/// A symbol that generated code may refer to.
struct RuntimeSymbol {
  const char *name;
  void *address;
};
/// Everything: the emulator's functions, those of libm that intrinsics lower
/// to, and conversions that the host compiler's library may lack.
llvm::ArrayRef<RuntimeSymbol> runtimeSymbols();

/// Installs the handler that turns hardware traps on fibres into faults, once a
/// process; other traps go to the previous handler.
void installTrapHandler();

/// Gives the calling host thread a stack for the handler while it lives.
class TrapStack {
public:
  TrapStack();
  ~TrapStack();
  TrapStack(const TrapStack &) = delete;
  TrapStack &operator=(const TrapStack &) = delete;

private:
  void *Memory = nullptr;
  stack_t Previous = {};
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_RUNTIME_H
