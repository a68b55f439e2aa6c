//===- FakeDriver.cpp - A CUDA driver made of host memory -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Enough of the driver API for the runtime's own code to run from end to end:
// memory is host memory, launches run a reference product, graphs replay what
// was captured. It counts what is alive and can fail any call.
//

#include "sparseditto/Runtime/Driver.h"
#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

using namespace sparseditto;
using namespace sparseditto::cuda;

namespace {
struct Launch {
  std::string name;
  std::vector<uint64_t> words; ///< The parameters.
};
struct FakeStream {
  bool capturing = false;
  std::vector<Launch> captured;
};
struct FakeGraph {
  std::vector<Launch> launches;
};
struct FakeFunction {
  std::string name;
};
struct FakeModule {
  std::vector<FakeFunction *> functions;
};
struct FakeEvent {
  double time = 0;
};
} // namespace

static long live = 0, calls = 0, failAt = -1;
static int failCode = 0;
static long products = 0, spoilFrom = -1;
static std::string spoil;

extern "C" {
/// Objects and retained contexts that were not released.
long fakeLive() { return live; }
/// Calls so far; the call with this number fails with `code` (-1: none).
long fakeCalls() { return calls; }
void fakeFailAt(long call, int code) {
  calls = 0;
  failAt = call;
  failCode = code;
}
/// Products so far; from this one on (-1: none) each does, besides, what `how`
/// says: "weight" or "x" change an element there, "beyond" one behind Y,
/// "before" one before the weight.
long fakeProducts() { return products; }
void fakeSpoilFrom(long product, const char *how) {
  products = 0;
  spoilFrom = product;
  spoil = how;
}
}

/// Releasing never fails: the test is about what is released.
static bool failing() { return calls++ == failAt; }
#define MAY_FAIL                                                               \
  if (failing())                                                               \
    return failCode;

static double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static bool isProduct(llvm::StringRef name) {
  return name.starts_with("product_") || name.starts_with("cheat_");
}

/// What cheats remember of the buffers they have seen; new with each module.
static std::set<uint64_t> seen;

/// Whether one that cheats while it is timed does its work this time: "nan"
/// only where Y holds the poison of a check, "even" only for every other X,
/// "once" only once for a Y.
static bool works(llvm::StringRef cheat, const Launch &launch) {
  auto word = [&](size_t argument) {
    return *reinterpret_cast<const uint16_t *>(launch.words[argument]);
  };
  if (cheat == "nan")
    return word(2) == 0xffff;
  if (cheat == "even")
    return word(1) % 2 == 0;
  return seen.insert(launch.words[2]).second;
}

/// "product_MxK" computes Y = W X in f16, token-major, from (W, X, Y, N, ldx,
/// ldy), "cheat_HOW_MxK" does so at times; anything else does nothing.
static void execute(const Launch &launch) {
  llvm::StringRef name(launch.name);
  int64_t m = 0, k = 0;
  if (name.consume_front("cheat_")) {
    auto [how, rest] = name.split('_');
    if (!works(how, launch))
      return;
    name = rest;
  } else if (!name.consume_front("product_")) {
    return;
  }
  if (name.consumeInteger(10, m) || !name.consume_front("x") ||
      name.consumeInteger(10, k))
    return;
  auto half = [&](size_t argument, int64_t at) {
    return loadAsDouble(
        ElementType::F16,
        reinterpret_cast<const uint16_t *>(launch.words[argument]) + at);
  };
  int64_t n = int32_t(launch.words[3]), ldx = int32_t(launch.words[4]),
          ldy = int32_t(launch.words[5]);
  for (int64_t t = 0; t < n; ++t)
    for (int64_t row = 0; row < m; ++row) {
      float sum = 0;
      for (int64_t i = 0; i < k; ++i)
        if (double w = half(0, row * k + i); w != 0)
          sum += float(w * half(1, t * ldx + i));
      storeFromDouble(ElementType::F16, sum,
                      reinterpret_cast<uint16_t *>(launch.words[2]) + t * ldy +
                          row);
    }
  if (products++ < spoilFrom || spoilFrom < 0)
    return;
  auto *w = reinterpret_cast<uint16_t *>(launch.words[0]),
       *x = reinterpret_cast<uint16_t *>(launch.words[1]),
       *y = reinterpret_cast<uint16_t *>(launch.words[2]);
  if (spoil == "weight")
    w[m * k - 1] ^= 1;
  else if (spoil == "x")
    x[1] ^= 1; // Whose weights are zero.
  else if (spoil == "beyond")
    y[n * ldy + 3] = 7;
  else if (spoil == "before")
    w[-2] = 7;
}

extern "C" {
Result cuInit(unsigned) { return 0; }
Result cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
Result cuGetErrorName(Result code, const char **name) {
  *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
  return 0;
}
Result cuGetErrorString(Result, const char **text) {
  *text = "as asked";
  return 0;
}
Result cuDeviceGetCount(int *count) {
  MAY_FAIL
  *count = 1;
  return 0;
}
Result cuDeviceGet(DeviceHandle *device, int) {
  MAY_FAIL
  *device = 0;
  return 0;
}
Result cuDeviceGetName(char *name, int length, DeviceHandle) {
  MAY_FAIL
  std::strncpy(name, "Fake GPU", size_t(length));
  return 0;
}
Result cuDeviceGetAttribute(int *value, int attribute, DeviceHandle) {
  MAY_FAIL
  switch (attribute) {
  case ComputeCapabilityMajor:
    *value = 9;
    break;
  case MultiprocessorCount:
    *value = 2;
    break;
  case L2CacheSize:
    *value = 1 << 12;
    break;
  case MaxSharedPerBlockOptin:
    *value = 232448;
    break;
  default:
    *value = 0;
  }
  return 0;
}
Result cuDeviceTotalMem_v2(size_t *bytes, DeviceHandle) {
  MAY_FAIL
  *bytes = size_t(1) << 30;
  return 0;
}
Result cuDevicePrimaryCtxRetain(ContextHandle *context, DeviceHandle) {
  MAY_FAIL
  ++live;
  *context = reinterpret_cast<ContextHandle>(1);
  return 0;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceHandle) {
  --live;
  return 0;
}
Result cuCtxSetCurrent(ContextHandle) { MAY_FAIL return 0; }
Result cuCtxSynchronize() { MAY_FAIL return 0; }
Result cuCtxResetPersistingL2Cache() { MAY_FAIL return 0; }
Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  MAY_FAIL
  *free = *total = size_t(1) << 28;
  return 0;
}
Result cuMemAlloc_v2(DevicePtr *pointer, size_t bytes) {
  MAY_FAIL
  ++live;
  *pointer = DevicePtr(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return 0;
}
Result cuMemFree_v2(DevicePtr pointer) {
  --live;
  std::free(reinterpret_cast<void *>(pointer));
  return 0;
}
Result cuMemcpyHtoD_v2(DevicePtr to, const void *from, size_t bytes) {
  MAY_FAIL
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
Result cuMemcpyDtoH_v2(void *to, DevicePtr from, size_t bytes) {
  MAY_FAIL
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
Result cuMemcpyDtoD_v2(DevicePtr to, DevicePtr from, size_t bytes) {
  MAY_FAIL
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
              bytes);
  return 0;
}
Result cuMemsetD8_v2(DevicePtr to, unsigned char byte, size_t bytes) {
  MAY_FAIL
  std::memset(reinterpret_cast<void *>(to), byte, bytes);
  return 0;
}
Result cuModuleLoadDataEx(ModuleHandle *module, const void *image, unsigned,
                          int *, void **) {
  MAY_FAIL
  // Only PTX: the caller must fall back from a cubin.
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return 209;
  ++live;
  seen.clear();
  *module = reinterpret_cast<ModuleHandle>(new FakeModule);
  return 0;
}
Result cuModuleUnload(ModuleHandle handle) {
  --live;
  auto *module = reinterpret_cast<FakeModule *>(handle);
  for (FakeFunction *function : module->functions)
    delete function;
  delete module;
  return 0;
}
Result cuModuleGetFunction(FunctionHandle *out, ModuleHandle module,
                           const char *name) {
  MAY_FAIL
  auto *function = new FakeFunction{name};
  reinterpret_cast<FakeModule *>(module)->functions.push_back(function);
  *out = reinterpret_cast<FunctionHandle>(function);
  return 0;
}
Result cuFuncGetAttribute(int *value, int attribute, FunctionHandle) {
  MAY_FAIL
  *value = attribute == MaxThreadsPerBlock ? 1024 : 0;
  return 0;
}
Result cuFuncSetAttribute(FunctionHandle, int, int) { MAY_FAIL return 0; }
Result cuLaunchKernel(FunctionHandle handle, unsigned, unsigned, unsigned,
                      unsigned, unsigned, unsigned, unsigned,
                      StreamHandle stream, void **parameters, void **) {
  MAY_FAIL
  Launch launch;
  launch.name = reinterpret_cast<FakeFunction *>(handle)->name;
  const bool product = isProduct(launch.name);
  for (size_t i = 0; product && i < 6; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, parameters[i], i < 3 ? 8 : 4);
    launch.words.push_back(word);
  }
  auto *target = reinterpret_cast<FakeStream *>(stream);
  if (target->capturing)
    target->captured.push_back(std::move(launch));
  else
    execute(launch);
  return 0;
}
Result cuStreamCreate(StreamHandle *stream, unsigned) {
  MAY_FAIL
  ++live;
  *stream = reinterpret_cast<StreamHandle>(new FakeStream);
  return 0;
}
Result cuStreamDestroy_v2(StreamHandle stream) {
  --live;
  delete reinterpret_cast<FakeStream *>(stream);
  return 0;
}
Result cuStreamSynchronize(StreamHandle) { MAY_FAIL return 0; }
Result cuStreamBeginCapture_v2(StreamHandle stream, int) {
  MAY_FAIL
  reinterpret_cast<FakeStream *>(stream)->capturing = true;
  return 0;
}
Result cuStreamEndCapture(StreamHandle handle, GraphHandle *graph) {
  auto *stream = reinterpret_cast<FakeStream *>(handle);
  stream->capturing = false;
  *graph = nullptr;
  MAY_FAIL
  ++live;
  *graph =
      reinterpret_cast<GraphHandle>(new FakeGraph{std::move(stream->captured)});
  return 0;
}
Result cuGraphInstantiateWithFlags(GraphExecHandle *exec, GraphHandle graph,
                                   unsigned long long) {
  MAY_FAIL
  ++live;
  *exec = reinterpret_cast<GraphExecHandle>(
      new FakeGraph(*reinterpret_cast<FakeGraph *>(graph)));
  return 0;
}
Result cuGraphDestroy(GraphHandle graph) {
  --live;
  delete reinterpret_cast<FakeGraph *>(graph);
  return 0;
}
Result cuGraphExecDestroy(GraphExecHandle exec) {
  --live;
  delete reinterpret_cast<FakeGraph *>(exec);
  return 0;
}
Result cuGraphLaunch(GraphExecHandle exec, StreamHandle) {
  MAY_FAIL
  for (const Launch &launch : reinterpret_cast<FakeGraph *>(exec)->launches)
    execute(launch);
  return 0;
}
Result cuEventCreate(EventHandle *event, unsigned) {
  MAY_FAIL
  ++live;
  *event = reinterpret_cast<EventHandle>(new FakeEvent);
  return 0;
}
Result cuEventDestroy_v2(EventHandle event) {
  --live;
  delete reinterpret_cast<FakeEvent *>(event);
  return 0;
}
Result cuEventRecord(EventHandle event, StreamHandle) {
  MAY_FAIL
  reinterpret_cast<FakeEvent *>(event)->time = now();
  return 0;
}
Result cuEventSynchronize(EventHandle) { MAY_FAIL return 0; }
Result cuEventElapsedTime(float *milliseconds, EventHandle from,
                          EventHandle to) {
  MAY_FAIL
  *milliseconds = float(reinterpret_cast<FakeEvent *>(to)->time -
                        reinterpret_cast<FakeEvent *>(from)->time);
  return 0;
}
}
