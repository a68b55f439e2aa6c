//===- Driver.h - The CUDA driver, if there is one --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver API through dlopen, with our own declarations of the few types and
// numbers it needs: nothing of CUDA is required to build, and a machine without
// a GPU gets one clear sentence.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_DRIVER_H
#define SPARSEDITTO_RUNTIME_DRIVER_H

#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace sparseditto {
namespace cuda {

using Result = int; ///< CUresult; 0 is success.
using DeviceHandle = int;
using DevicePtr = unsigned long long; ///< CUdeviceptr on 64-bit hosts.
using ContextHandle = struct ContextOpaque *;
using ModuleHandle = struct ModuleOpaque *;
using FunctionHandle = struct FunctionOpaque *;
using StreamHandle = struct StreamOpaque *;
using EventHandle = struct EventOpaque *;
using GraphHandle = struct GraphOpaque *;
using GraphExecHandle = struct GraphExecOpaque *;

// CUdevice_attribute.
enum DeviceAttribute : int {
  ClockRate = 13,
  MultiprocessorCount = 16,
  MemoryClockRate = 36,
  MemoryBusWidth = 37,
  L2CacheSize = 38,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedPerBlockOptin = 97,
};

// CUfunction_attribute.
enum FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  StaticSharedBytes = 1,
  LocalBytes = 3,
  Registers = 4,
  MaxDynamicSharedBytes = 8,
};

// CUjit_option.
enum JitOption : int {
  ErrorLogBuffer = 5,
  ErrorLogBufferBytes = 6,
};

/// CUDA_ERROR_NOT_SUPPORTED.
inline constexpr Result notSupported = 801;

inline constexpr unsigned streamNonBlocking = 1;
inline constexpr int captureThreadLocal = 1;

/// Every entry point we use: field, symbol (with the ABI suffix that cuda.h
/// hides behind macros), parameters. All return a Result.
#define SPARSEDITTO_CUDA_FUNCTIONS(X)                                          \
  X(init, cuInit, (unsigned))                                                  \
  X(driverGetVersion, cuDriverGetVersion, (int *))                             \
  X(getErrorName, cuGetErrorName, (Result, const char **))                     \
  X(getErrorString, cuGetErrorString, (Result, const char **))                 \
  X(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  X(deviceGet, cuDeviceGet, (DeviceHandle *, int))                             \
  X(deviceGetName, cuDeviceGetName, (char *, int, DeviceHandle))               \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int *, int, DeviceHandle))      \
  X(deviceTotalMem, cuDeviceTotalMem_v2, (size_t *, DeviceHandle))             \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain,                                \
    (ContextHandle *, DeviceHandle))                                           \
  X(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (DeviceHandle))           \
  X(ctxSetCurrent, cuCtxSetCurrent, (ContextHandle))                           \
  X(ctxSynchronize, cuCtxSynchronize, ())                                      \
  X(ctxResetPersistingL2, cuCtxResetPersistingL2Cache, ())                     \
  X(memGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))                         \
  X(memAlloc, cuMemAlloc_v2, (DevicePtr *, size_t))                            \
  X(memFree, cuMemFree_v2, (DevicePtr))                                        \
  X(memcpyHtoD, cuMemcpyHtoD_v2, (DevicePtr, const void *, size_t))            \
  X(memcpyDtoH, cuMemcpyDtoH_v2, (void *, DevicePtr, size_t))                  \
  X(memcpyDtoD, cuMemcpyDtoD_v2, (DevicePtr, DevicePtr, size_t))               \
  X(memsetD8, cuMemsetD8_v2, (DevicePtr, unsigned char, size_t))               \
  X(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (ModuleHandle *, const void *, unsigned, int *, void **))                  \
  X(moduleUnload, cuModuleUnload, (ModuleHandle))                              \
  X(moduleGetFunction, cuModuleGetFunction,                                    \
    (FunctionHandle *, ModuleHandle, const char *))                            \
  X(funcGetAttribute, cuFuncGetAttribute, (int *, int, FunctionHandle))        \
  X(funcSetAttribute, cuFuncSetAttribute, (FunctionHandle, int, int))          \
  X(launchKernel, cuLaunchKernel,                                              \
    (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned,         \
     unsigned, unsigned, StreamHandle, void **, void **))                      \
  X(streamCreate, cuStreamCreate, (StreamHandle *, unsigned))                  \
  X(streamDestroy, cuStreamDestroy_v2, (StreamHandle))                         \
  X(streamSynchronize, cuStreamSynchronize, (StreamHandle))                    \
  X(streamBeginCapture, cuStreamBeginCapture_v2, (StreamHandle, int))          \
  X(streamEndCapture, cuStreamEndCapture, (StreamHandle, GraphHandle *))       \
  X(graphInstantiate, cuGraphInstantiateWithFlags,                             \
    (GraphExecHandle *, GraphHandle, unsigned long long))                      \
  X(graphDestroy, cuGraphDestroy, (GraphHandle))                               \
  X(graphExecDestroy, cuGraphExecDestroy, (GraphExecHandle))                   \
  X(graphLaunch, cuGraphLaunch, (GraphExecHandle, StreamHandle))               \
  X(eventCreate, cuEventCreate, (EventHandle *, unsigned))                     \
  X(eventDestroy, cuEventDestroy_v2, (EventHandle))                            \
  X(eventRecord, cuEventRecord, (EventHandle, StreamHandle))                   \
  X(eventSynchronize, cuEventSynchronize, (EventHandle))                       \
  X(eventElapsedTime, cuEventElapsedTime, (float *, EventHandle, EventHandle))

} // namespace cuda

/// The loaded driver. One a process, never unloaded.
class Driver {
public:
  /// Loads libcuda.so.1 and initialises it once. The error says which of "no
  /// driver", "too old a driver" and "no usable GPU" it is.
  static llvm::Expected<const Driver *> get();

  /// Success, or "<what> failed: CUDA_ERROR_X (text)".
  llvm::Error check(cuda::Result result, const char *what) const;
  /// The name alone, for a result that cannot be returned.
  std::string describe(cuda::Result result) const;

  /// 13000 for CUDA 13.0.
  int version() const { return driverVersion; }

#define SPARSEDITTO_CUDA_FIELD(field, symbol, parameters)                      \
  cuda::Result(*field) parameters = nullptr;
  // The table refers to the types of namespace cuda unqualified.
  using Result = cuda::Result;
  using DeviceHandle = cuda::DeviceHandle;
  using DevicePtr = cuda::DevicePtr;
  using ContextHandle = cuda::ContextHandle;
  using ModuleHandle = cuda::ModuleHandle;
  using FunctionHandle = cuda::FunctionHandle;
  using StreamHandle = cuda::StreamHandle;
  using EventHandle = cuda::EventHandle;
  using GraphHandle = cuda::GraphHandle;
  using GraphExecHandle = cuda::GraphExecHandle;
  SPARSEDITTO_CUDA_FUNCTIONS(SPARSEDITTO_CUDA_FIELD)
#undef SPARSEDITTO_CUDA_FIELD

private:
  Driver() = default;
  llvm::Error load();

  int driverVersion = 0;
};

/// The newest PTX version a driver of this CUDA version reads (13000 -> 90);
/// 0 if older than anything supported.
unsigned maxPtxOfDriver(int driverVersion);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_DRIVER_H
