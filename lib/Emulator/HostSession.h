//===- HostSession.h - What host code calls ---------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_HOSTSESSION_H
#define SPARSEDITTO_LIB_EMULATOR_HOSTSESSION_H

#include "HostCode.h"
#include "HostMemory.h"
#include "Runtime.h"
#include "sparseditto/Emulator/ModuleRunner.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <csetjmp>

namespace sparseditto::emulator {

/// The state behind the functions of hostSymbols().
class HostSession {
public:
  explicit HostSession(uint64_t memoryBytes) : memory(memoryBytes) {}

  HostMemory memory;
  std::vector<LaunchSite> sites;
  std::vector<std::unique_ptr<EmulatedKernel>> kernels;
  std::vector<KernelUse> uses; ///< One a kernel.

  /// Runs generated code, until it returns or something it calls fails.
  llvm::Error call(llvm::function_ref<void()> code);

  /// The one whose code runs on this thread.
  static HostSession &current();

  // For the functions of hostSymbols(): true if it worked. If not, they leave
  // the generated code.
  bool launch(uint32_t site, const int64_t *grid, const int64_t *block,
              uint32_t shared, const uint64_t *words, uint32_t count);
  bool keep(llvm::Error failure);
  [[noreturn]] void leave();
  /// Text that failed checks print before they abort.
  std::string printed;

private:
  std::jmp_buf exit;
  std::string failure;
};

/// Memory, copies, streams and launches in terms of HostSession::current(), and
/// the functions of the C library that lowered code needs.
llvm::ArrayRef<RuntimeSymbol> hostSymbols();

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_HOSTSESSION_H
