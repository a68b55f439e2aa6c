//===- Emulator.h - Running kernels on the CPU ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a kernel's own LLVM/NVVM-dialect IR for the host and runs it, one
// fibre a GPU thread. It checks what hardware hides: bounds, alignment,
// uninitialised and racing shared memory, asynchronous copies read too early,
// divergent barriers and warp operations. See docs/Emulator.md. It is not a
// performance model.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_EMULATOR_EMULATOR_H
#define SPARSEDITTO_EMULATOR_EMULATOR_H

#include "sparseditto/Emulator/Fault.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <memory>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sparseditto {

struct EmulatorOptions {
  /// Host threads; blocks are spread over them. Results of kernels that add
  /// floats atomically depend on the order when it is not 1.
  unsigned workers = 1;
  /// A read of shared memory that nothing wrote is a fault; otherwise it gives
  /// 0xff bytes.
  bool checkUninitializedShared = true;
  /// Look for unordered accesses to the same shared byte. About halves the
  /// speed of kernels that are bound by shared memory.
  bool checkRaces = true;
  /// In which order the warps of a block get their turns. A missing barrier
  /// that one order hides shows in another.
  enum Order : uint8_t { Forward, Reverse } order = Forward;
  /// Wall-clock limit of one launch.
  double timeoutSeconds = 120;
};

struct LaunchReport {
  uint64_t blocks = 0, threads = 0; ///< Run to the end.
  uint64_t warpOperations = 0;      ///< Rendezvous of a warp.
  uint64_t barriers = 0;            ///< Completed barriers.
  double seconds = 0;
};

/// One kernel, compiled. launch() may be called any number of times, from one
/// thread at a time.
class EmulatedKernel {
public:
  ~EmulatedKernel();

  /// `lowered` holds, directly or in a gpu.module, the llvm.func `symbol` and
  /// what it uses, in the LLVM and NVVM dialects only. It is not changed and
  /// not needed afterwards. An operation the emulator does not know is an
  /// EmulatorFault of kind Unsupported that names it.
  static llvm::Expected<std::unique_ptr<EmulatedKernel>>
  create(mlir::ModuleOp lowered, llvm::StringRef symbol,
         const EmulatorOptions &options = {});

  /// Runs the grid. `args` holds one word a parameter: the device pointer of a
  /// GuardedBuffer, or the bits of a scalar in the low bytes. The first fault
  /// stops the launch and is returned as an EmulatorFault.
  llvm::Error launch(std::array<unsigned, 3> grid,
                     std::array<unsigned, 3> block, unsigned dynamicSharedBytes,
                     llvm::ArrayRef<uint64_t> args,
                     LaunchReport *report = nullptr);

  unsigned numArguments() const;
  /// As the kernel declares it.
  unsigned staticSharedBytes() const;

private:
  struct Impl;
  explicit EmulatedKernel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> Pimpl;
};

} // namespace sparseditto

#endif // SPARSEDITTO_EMULATOR_EMULATOR_H
