//===- CudaAbiTest.cpp - Our CUDA declarations against cuda.h -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The driver's types and numbers are declared by hand; this holds them against
// cuda.h at compile time.
//

#include "sparseditto/Runtime/Driver.h"
#include "gtest/gtest.h"
#include <cuda.h>
#include <tuple>
#include <type_traits>

using namespace sparseditto;

static_assert(std::is_same_v<cuda::DevicePtr, CUdeviceptr>);
static_assert(sizeof(cuda::Result) == sizeof(CUresult));
static_assert(int(cuda::ClockRate) == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(int(cuda::MultiprocessorCount) ==
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(int(cuda::MemoryClockRate) ==
              CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(int(cuda::MemoryBusWidth) ==
              CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(int(cuda::L2CacheSize) == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(int(cuda::ComputeCapabilityMajor) ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(int(cuda::ComputeCapabilityMinor) ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(int(cuda::MaxSharedPerBlockOptin) ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(int(cuda::MaxThreadsPerBlock) ==
              CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(int(cuda::StaticSharedBytes) ==
              CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(int(cuda::LocalBytes) == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
static_assert(int(cuda::Registers) == CU_FUNC_ATTRIBUTE_NUM_REGS);
static_assert(int(cuda::MaxDynamicSharedBytes) ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(int(cuda::ErrorLogBuffer) == CU_JIT_ERROR_LOG_BUFFER);
static_assert(int(cuda::ErrorLogBufferBytes) ==
              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(cuda::streamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(cuda::captureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

/// The size of each parameter, which is what the calling convention sees.
template <typename R, typename... Args>
static std::vector<size_t> sizesOf(R (*)(Args...)) {
  return {sizeof(Args)...};
}

TEST(CudaAbi, FunctionsTakeWhatWePass) {
  const Driver *driver = nullptr;
#define CHECK(field, function)                                                 \
  EXPECT_EQ(sizesOf(std::decay_t<decltype(driver->field)>(nullptr)),           \
            sizesOf(decltype (&::function)(nullptr)))                          \
      << #function;
  CHECK(deviceGetAttribute, cuDeviceGetAttribute)
  CHECK(deviceTotalMem, cuDeviceTotalMem)
  CHECK(primaryCtxRetain, cuDevicePrimaryCtxRetain)
  CHECK(primaryCtxRelease, cuDevicePrimaryCtxRelease)
  CHECK(memGetInfo, cuMemGetInfo)
  CHECK(memAlloc, cuMemAlloc)
  CHECK(memFree, cuMemFree)
  CHECK(memcpyHtoD, cuMemcpyHtoD)
  CHECK(memcpyDtoH, cuMemcpyDtoH)
  CHECK(memcpyDtoD, cuMemcpyDtoD)
  CHECK(memsetD8, cuMemsetD8)
  CHECK(moduleLoadDataEx, cuModuleLoadDataEx)
  CHECK(moduleGetFunction, cuModuleGetFunction)
  CHECK(funcGetAttribute, cuFuncGetAttribute)
  CHECK(funcSetAttribute, cuFuncSetAttribute)
  CHECK(launchKernel, cuLaunchKernel)
  CHECK(streamCreate, cuStreamCreate)
  CHECK(streamBeginCapture, cuStreamBeginCapture)
  CHECK(streamEndCapture, cuStreamEndCapture)
  CHECK(graphInstantiate, cuGraphInstantiateWithFlags)
  CHECK(graphLaunch, cuGraphLaunch)
  CHECK(eventCreate, cuEventCreate)
  CHECK(eventRecord, cuEventRecord)
  CHECK(eventElapsedTime, cuEventElapsedTime)
#undef CHECK
}
