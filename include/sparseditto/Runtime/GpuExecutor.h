//===- GpuExecutor.h - The checker's way to a GPU ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_GPUEXECUTOR_H
#define SPARSEDITTO_RUNTIME_GPUEXECUTOR_H

#include "sparseditto/Runtime/Kernel.h"
#include "sparseditto/Verify/Executor.h"
#include <memory>

namespace sparseditto {

/// Runs `kernel`, which must outlive the executor, on its device. `seed`
/// decides which of its two sets of buffers a launch sees: one that the kernel
/// cannot know.
llvm::Expected<std::unique_ptr<Executor>>
createGpuExecutor(DeviceRef device, const LoadedKernel &kernel, uint64_t seed);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_GPUEXECUTOR_H
