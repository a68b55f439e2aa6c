//===- Kernel.h - Loading and launching one kernel --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_KERNEL_H
#define SPARSEDITTO_RUNTIME_KERNEL_H

#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Runtime/Device.h"
#include <array>

namespace sparseditto {

/// Operands of one launch; strides in elements, as in the kernel ABI.
struct LaunchArguments {
  llvm::ArrayRef<cuda::DevicePtr> packed; ///< In manifest order.
  cuda::DevicePtr x = 0, y = 0;
  cuda::DevicePtr bias = 0, residual = 0; ///< 0 without one.
  int64_t n = 1;
  int64_t ldx = 0, ldy = 0, ldr = 0;
};

/// The grid for N tokens, or an error if it exceeds what CUDA takes.
llvm::Expected<std::array<unsigned, 3>> gridFor(const KernelManifest &manifest,
                                                int64_t n);

/// Success if the operands fit the manifest: N in range, strides that hold a
/// row and fit i32, every pointer present and aligned as promised.
llvm::Error checkLaunchArguments(const KernelManifest &manifest,
                                 const LaunchArguments &arguments);

/// A kernel on a device. launch() is const, thread-safe, allocates nothing on
/// success and may be captured into a graph.
class LoadedKernel {
public:
  enum class Unreviewed { Refuse, Allow };
  /// Loads the cubin if it is not empty; if the driver does not take it (or
  /// there is none), compiles the PTX. Checks the function against the
  /// manifest and the device, and opts in to its shared memory. A kernel that
  /// an agent wrote and nobody approved is refused, but for those who check it.
  static llvm::Expected<LoadedKernel>
  load(DeviceRef device, const KernelManifest &manifest, llvm::StringRef cubin,
       llvm::StringRef ptx, Unreviewed unreviewed = Unreviewed::Refuse);
  LoadedKernel(LoadedKernel &&other) noexcept
      : device(std::move(other.device)), contract(std::move(other.contract)),
        module(std::exchange(other.module, nullptr)), function(other.function),
        resources(other.resources) {}
  ~LoadedKernel();

  /// Checks the arguments and enqueues one launch.
  llvm::Error launch(const LaunchArguments &arguments,
                     cuda::StreamHandle stream) const;

  struct Resources {
    int registers = 0;
    int localBytes = 0; ///< Spills and stack, per thread.
    int staticSharedBytes = 0;
    bool compiledByDriver = false; ///< From PTX.
  };
  const Resources &uses() const { return resources; }
  const KernelManifest &manifest() const { return contract; }

private:
  explicit LoadedKernel(DeviceRef device) : device(std::move(device)) {}

  DeviceRef device;
  KernelManifest contract;
  cuda::ModuleHandle module = nullptr;
  cuda::FunctionHandle function = nullptr;
  Resources resources;
};

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_KERNEL_H
