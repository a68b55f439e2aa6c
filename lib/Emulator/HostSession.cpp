//===- HostSession.cpp - What host code calls -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mgpu functions have the signatures of MLIR's CUDA runtime wrappers, which
// gpu-to-llvm assumes. Everything is synchronous here, so that streams and
// events are nothing but names.
//
//===----------------------------------------------------------------------===//

#include "HostSession.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <cstring>

using namespace sparseditto;
using namespace sparseditto::emulator;

static thread_local HostSession *active = nullptr;

HostSession &HostSession::current() { return *active; }

bool HostSession::keep(llvm::Error error) {
  if (!error)
    return true;
  failure = llvm::toString(std::move(error));
  return false;
}

void HostSession::leave() { std::longjmp(exit, 1); }

/// Apart, so that no object with a destructor lives across the jump.
static bool enter(std::jmp_buf &exit, llvm::function_ref<void()> code) {
  if (setjmp(exit) != 0)
    return false;
  code();
  return true;
}

llvm::Error HostSession::call(llvm::function_ref<void()> code) {
  printed.clear();
  HostSession *outer = std::exchange(active, this);
  bool finished = enter(exit, code);
  active = outer;
  if (finished)
    return llvm::Error::success();
  return makeError("{0}", failure);
}

bool HostSession::launch(uint32_t site, const int64_t *grid,
                         const int64_t *block, uint32_t shared,
                         const uint64_t *words, uint32_t count) {
  const LaunchSite &at = sites[site];
  KernelUse &use = uses[at.kernel];
  std::array<unsigned, 3> dims[2];
  for (int d = 0; d < 3; ++d) {
    if (grid[d] < 0 || grid[d] > INT32_MAX || block[d] < 0 ||
        block[d] > INT32_MAX)
      return keep(makeError("launch of '{0}' at {1} with {2} blocks of {3} "
                            "threads in dimension {4}",
                            use.kernel, at.location, grid[d], block[d], d));
    dims[0][d] = unsigned(grid[d]);
    dims[1][d] = unsigned(block[d]);
  }
  LaunchReport report;
  if (llvm::Error error = kernels[at.kernel]->launch(
          dims[0], dims[1], shared, llvm::ArrayRef(words, count), &report))
    return keep(makeError("{0}; launched at {1}",
                          llvm::toString(std::move(error)), at.location));
  ++use.launches;
  use.grid = dims[0];
  use.block = dims[1];
  use.sum.blocks += report.blocks;
  use.sum.threads += report.threads;
  use.sum.warpOperations += report.warpOperations;
  use.sum.barriers += report.barriers;
  use.sum.seconds += report.seconds;
  return true;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static void emuHostLaunch(uint32_t site, int64_t gridX, int64_t gridY,
                          int64_t gridZ, int64_t blockX, int64_t blockY,
                          int64_t blockZ, uint32_t shared,
                          const uint64_t *words, uint32_t count) {
  const int64_t grid[] = {gridX, gridY, gridZ};
  const int64_t block[] = {blockX, blockY, blockZ};
  if (!active->launch(site, grid, block, shared, words, count))
    active->leave();
}

/// Null if there is no memory; the reason is kept.
static void *tryAllocate(uint64_t bytes, HostMemory::Kind kind) {
  llvm::Expected<void *> pointer = active->memory.allocate(bytes, kind);
  if (pointer)
    return *pointer;
  active->keep(pointer.takeError());
  return nullptr;
}

static void *allocate(uint64_t bytes, HostMemory::Kind kind) {
  void *pointer = tryAllocate(bytes, kind);
  if (!pointer)
    active->leave();
  return pointer;
}

static void release(void *pointer, HostMemory::Kind kind) {
  if (!active->keep(active->memory.free(pointer, kind)))
    active->leave();
}

static void *hostMalloc(uint64_t bytes) {
  return allocate(bytes, HostMemory::Host);
}
static void *hostAlignedAlloc(uint64_t, uint64_t bytes) {
  // Every buffer is aligned to 256 bytes.
  return allocate(bytes, HostMemory::Host);
}
static void hostFree(void *pointer) { release(pointer, HostMemory::Host); }

static void *gpuAllocate(uint64_t bytes, void *, bool) {
  return allocate(bytes, HostMemory::Device);
}
static void gpuFree(void *pointer, void *) {
  release(pointer, HostMemory::Device);
}
static void gpuCopy(void *to, const void *from, size_t bytes, void *) {
  std::memmove(to, from, bytes);
}
static void gpuSet32(void *to, uint32_t value, size_t count, void *) {
  for (size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<char *>(to) + 4 * i, &value, 4);
}
static void gpuSet16(void *to, uint16_t value, size_t count, void *) {
  for (size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<char *>(to) + 2 * i, &value, 2);
}
static void *gpuMake() { return nullptr; }
static void gpuNothing(void *) {}
static void gpuNothing2(void *, void *) {}

/// What a failed check prints comes first, then it aborts.
static int hostPuts(const char *text) {
  active->printed = text;
  return 0;
}
static bool keepAbort() {
  // "ERROR: Runtime op verification failed\n<op>\n^ <why>\nLocation: loc(...)".
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(active->printed).split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::string why, where;
  for (llvm::StringRef line : lines)
    if (line.consume_front("Location: "))
      where = line.str();
    else if (line.consume_front("^ "))
      why = line.str();
  if (why.empty())
    why = lines.empty() ? "aborted" : lines.front().str();
  return active->keep(makeError("host code: {0}{1}{2}", why,
                                where.empty() ? "" : " at ", where));
}
static void hostAbort() {
  if (!keepAbort())
    active->leave();
}

namespace {
struct UnrankedDescriptor {
  int64_t rank;
  int64_t *words; ///< Pointers, offset, sizes, strides.
};
} // namespace

static void copyDimension(const char *from, const int64_t *fromStrides,
                          char *to, const int64_t *toStrides,
                          const int64_t *sizes, int64_t rank, int64_t bytes) {
  if (rank == 0) {
    std::memcpy(to, from, size_t(bytes));
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    copyDimension(from + i * fromStrides[0] * bytes, fromStrides + 1,
                  to + i * toStrides[0] * bytes, toStrides + 1, sizes + 1,
                  rank - 1, bytes);
}

/// memref.copy of layouts that are not known to be contiguous.
static void memrefCopy(int64_t bytes, const UnrankedDescriptor *from,
                       const UnrankedDescriptor *to) {
  int64_t rank = from->rank;
  const int64_t *a = from->words, *b = to->words;
  copyDimension(reinterpret_cast<const char *>(a[1]) + a[2] * bytes,
                a + 3 + rank, reinterpret_cast<char *>(b[1]) + b[2] * bytes,
                b + 3 + rank, a + 3, rank, bytes);
}

template <typename Function> static void *address(Function *function) {
  return reinterpret_cast<void *>(function);
}

llvm::ArrayRef<RuntimeSymbol> emulator::hostSymbols() {
  using F = float(float);
  using D = double(double);
  using F2 = float(float, float);
  using D2 = double(double, double);
  static const std::vector<RuntimeSymbol> symbols = [] {
    std::vector<RuntimeSymbol> all = {
        {hostLaunch.data(), address(emuHostLaunch)},
        {"malloc", address(hostMalloc)},
        {"aligned_alloc", address(hostAlignedAlloc)},
        {"free", address(hostFree)},
        {"abort", address(hostAbort)},
        {"puts", address(hostPuts)},
        {"memrefCopy", address(memrefCopy)},
        {"mgpuMemAlloc", address(gpuAllocate)},
        {"mgpuMemFree", address(gpuFree)},
        {"mgpuMemcpy", address(gpuCopy)},
        {"mgpuMemset32", address(gpuSet32)},
        {"mgpuMemset16", address(gpuSet16)},
        {"mgpuStreamCreate", address(gpuMake)},
        {"mgpuStreamDestroy", address(gpuNothing)},
        {"mgpuStreamSynchronize", address(gpuNothing)},
        {"mgpuStreamWaitEvent", address(gpuNothing2)},
        {"mgpuEventCreate", address(gpuMake)},
        {"mgpuEventDestroy", address(gpuNothing)},
        {"mgpuEventSynchronize", address(gpuNothing)},
        {"mgpuEventRecord", address(gpuNothing2)},
        {"tanf", address<F>(std::tan)},
        {"atanf", address<F>(std::atan)},
        {"log1pf", address<F>(std::log1p)},
        {"expm1f", address<F>(std::expm1)},
        {"erfcf", address<F>(std::erfc)},
        {"cbrtf", address<F>(std::cbrt)},
        {"atan2f", address<F2>(std::atan2)},
        {"sin", address<D>(std::sin)},
        {"cos", address<D>(std::cos)},
        {"tan", address<D>(std::tan)},
        {"tanh", address<D>(std::tanh)},
        {"erf", address<D>(std::erf)},
        {"log10", address<D>(std::log10)},
        {"log1p", address<D>(std::log1p)},
        {"expm1", address<D>(std::expm1)},
        {"floor", address<D>(std::floor)},
        {"ceil", address<D>(std::ceil)},
        {"trunc", address<D>(std::trunc)},
        {"round", address<D>(std::round)},
        {"roundeven", address<D>(std::nearbyint)},
        {"sqrt", address<D>(std::sqrt)},
        {"pow", address<D2>(std::pow)},
        {"fmod", address<D2>(std::fmod)},
    };
    // What intrinsics and conversions need is what kernels need, without the
    // emulator's own.
    for (const RuntimeSymbol &symbol : runtimeSymbols())
      if (!llvm::StringRef(symbol.name).starts_with("sd_emu_") &&
          !llvm::StringRef(symbol.name).starts_with("__nv_"))
        all.push_back(symbol);
    return all;
  }();
  return symbols;
}
