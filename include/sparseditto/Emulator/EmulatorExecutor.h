//===- EmulatorExecutor.h - Manifests run by the emulator -------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches by manifest: the grid for N and the arguments in manifest order; and
// the Executor that lets the checker verify kernels without a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_EMULATOR_EMULATOREXECUTOR_H
#define SPARSEDITTO_EMULATOR_EMULATOREXECUTOR_H

#include "sparseditto/Emulator/Emulator.h"
#include "sparseditto/Emulator/GuardedBuffer.h"
#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Verify/Executor.h"
#include <string>
#include <utility>
#include <vector>

namespace sparseditto {

/// What one launch needs besides the kernel: device pointers (0 where the
/// manifest has no such argument), N and row strides in elements.
struct ManifestArguments {
  std::vector<std::pair<std::string, uint64_t>> packed; ///< By buffer name.
  uint64_t x = 0, y = 0, bias = 0, residual = 0;
  int64_t n = 1, ldx = 0, ldy = 0, ldr = 0;
};

/// The words of EmulatedKernel::launch in the order of manifest.args. Fails if
/// a packed buffer is missing or a size does not fit an i32.
llvm::Expected<std::vector<uint64_t>>
orderArguments(const KernelManifest &manifest,
               const ManifestArguments &arguments);

/// One launch of `kernel` as `manifest` says, for arguments.n tokens. Fails
/// with an EmulatorFault, or with a text if the manifest does not allow it.
llvm::Error runManifest(EmulatedKernel &kernel, const KernelManifest &manifest,
                        const ManifestArguments &arguments,
                        LaunchReport *report = nullptr);

/// Runs a kernel under test in the emulator. Inputs are read-only for the
/// kernel; buffers keep the alignment that their image asks for and lie against
/// the guard page of the chosen side.
class EmulatorExecutor : public Executor {
public:
  /// `module` holds the kernel, lowered by lowerKernelToNVVM or not yet (then a
  /// clone is lowered).
  static llvm::Expected<std::unique_ptr<EmulatorExecutor>>
  create(mlir::ModuleOp module, const KernelManifest &manifest,
         const EmulatorOptions &options = {},
         GuardedBufferOptions::Side side = GuardedBufferOptions::End);

  llvm::StringRef name() const override;
  llvm::Error upload(llvm::ArrayRef<BufferImage> packed) override;
  llvm::Error launch(LaunchRequest &request) override;
  llvm::Error download(llvm::MutableArrayRef<BufferImage> packed) override;

  /// Of the last launch.
  const LaunchReport &report() const { return Report; }

private:
  EmulatorExecutor(std::unique_ptr<EmulatedKernel> kernel,
                   KernelManifest manifest, GuardedBufferOptions::Side side)
      : Kernel(std::move(kernel)), Manifest(std::move(manifest)), Side(side) {}

  std::unique_ptr<EmulatedKernel> Kernel;
  KernelManifest Manifest;
  GuardedBufferOptions::Side Side;
  std::vector<GuardedBuffer> Packed;
  std::vector<BufferImage> PackedImages; ///< For their guard zones.
  LaunchReport Report;

  llvm::Expected<GuardedBuffer> place(llvm::StringRef name,
                                      const BufferImage &image) const;
};

} // namespace sparseditto

#endif // SPARSEDITTO_EMULATOR_EMULATOREXECUTOR_H
