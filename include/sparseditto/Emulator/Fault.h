//===- Fault.h - What the emulator reports ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that does something wrong stops at its first fault, and the fault
// says what, where in the grid, and which MLIR operation.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_EMULATOR_FAULT_H
#define SPARSEDITTO_EMULATOR_FAULT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <string>

namespace sparseditto {

enum class FaultKind : uint8_t {
  Unsupported,         ///< An operation the emulator does not know (at create).
  Launch,              ///< Grid, block, shared memory or arguments do not fit.
  OutOfBounds,         ///< An access outside every buffer or shared array.
  Misaligned,          ///< An address that is no multiple of the access size.
  GuardPage,           ///< Hardware trapped in a guard zone.
  ReadOnlyWrite,       ///< A store to a buffer marked read-only.
  UninitializedShared, ///< Shared memory read before anything wrote it.
  AsyncPending,        ///< Touched a copy that no wait has completed.
  SharedRace,          ///< Two threads, one a writer, no barrier in between.
  DivergentBarrier,    ///< A barrier that some of its threads never reach.
  DivergentCollective, ///< A warp operation with missing lanes.
  InvalidOperand,      ///< Operands for which the result is undefined.
  Hang,                ///< No progress, or the time limit.
  StackOverflow,       ///< Local memory beyond the fibre's stack.
  Trap,                ///< A trap or an integer division by zero.
};
/// "out-of-bounds", "misaligned", ...
llvm::StringRef name(FaultKind kind);

class EmulatorFault : public llvm::ErrorInfo<EmulatorFault> {
public:
  static char ID;

  FaultKind kind = FaultKind::Launch;
  std::string kernel;
  bool inThread = false; ///< block and thread are meaningful.
  std::array<unsigned, 3> block = {0, 0, 0}, thread = {0, 0, 0};
  std::string operation; ///< "llvm.load", "nvvm.mma.sync"; empty if none.
  std::string location;  ///< The MLIR location as printed, "loc(...)".
  std::string message;

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

} // namespace sparseditto

#endif // SPARSEDITTO_EMULATOR_FAULT_H
