//===- Fault.cpp - What the emulator reports ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Emulator/Fault.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;

char EmulatorFault::ID = 0;

llvm::StringRef sparseditto::name(FaultKind kind) {
  switch (kind) {
  case FaultKind::Unsupported:
    return "unsupported";
  case FaultKind::Launch:
    return "launch";
  case FaultKind::OutOfBounds:
    return "out-of-bounds";
  case FaultKind::Misaligned:
    return "misaligned";
  case FaultKind::GuardPage:
    return "guard-page";
  case FaultKind::ReadOnlyWrite:
    return "read-only-write";
  case FaultKind::UninitializedShared:
    return "uninitialized-shared";
  case FaultKind::AsyncPending:
    return "async-pending";
  case FaultKind::SharedRace:
    return "shared-race";
  case FaultKind::DivergentBarrier:
    return "divergent-barrier";
  case FaultKind::DivergentCollective:
    return "divergent-collective";
  case FaultKind::InvalidOperand:
    return "invalid-operand";
  case FaultKind::Hang:
    return "hang";
  case FaultKind::StackOverflow:
    return "stack-overflow";
  case FaultKind::Trap:
    return "trap";
  }
  return "unknown";
}

void EmulatorFault::log(llvm::raw_ostream &os) const {
  os << name(kind) << " in kernel '" << kernel << "'";
  if (inThread)
    os << ", block (" << block[0] << ", " << block[1] << ", " << block[2]
       << "), thread (" << thread[0] << ", " << thread[1] << ", " << thread[2]
       << ")";
  if (!operation.empty())
    os << ", at '" << operation << "' " << location;
  os << ": " << message;
}

std::error_code EmulatorFault::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}
