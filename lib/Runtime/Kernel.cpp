//===- Kernel.cpp - Loading and launching one kernel ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Kernel.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>
#include <vector>

using namespace sparseditto;

// KernelManifest::verify() allows no more.
static constexpr size_t maxArgs = 64;
static constexpr int64_t maxInt32 = std::numeric_limits<int32_t>::max();

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<std::array<unsigned, 3>>
sparseditto::gridFor(const KernelManifest &manifest, int64_t n) {
  static constexpr int64_t limits[3] = {maxInt32, 65535, 65535};
  std::array<unsigned, 3> grid;
  for (size_t i = 0; i < 3; ++i) {
    int64_t size = manifest.grid[i].evaluate(n);
    if (size < 1 || size > limits[i])
      return fail("kernel '" + manifest.symbol + "': grid dimension " +
                  llvm::Twine(uint64_t(i)) + " is " + llvm::Twine(size) +
                  " for N = " + llvm::Twine(n) + ", at most " +
                  llvm::Twine(limits[i]) + " is possible");
    grid[i] = unsigned(size);
  }
  return grid;
}

llvm::Error
sparseditto::checkLaunchArguments(const KernelManifest &manifest,
                                  const LaunchArguments &arguments) {
  const Problem &problem = manifest.problem;
  const int64_t n = arguments.n;
  auto wrong = [&](const llvm::Twine &what) {
    return fail("kernel '" + manifest.symbol + "': " + what);
  };
  if (n < manifest.nMin || n > maxInt32 ||
      (manifest.nMax != 0 && n > manifest.nMax))
    return wrong("N = " + llvm::Twine(n) + " is outside [" +
                 llvm::Twine(manifest.nMin) + ", " +
                 llvm::Twine(manifest.nMax == 0 ? maxInt32 : manifest.nMax) +
                 "]");
  const bool tokens = problem.layout == Layout::TokenMajor;
  size_t packed = 0;
  for (const KernelArg &arg : manifest.args) {
    cuda::DevicePtr pointer = 0;
    int64_t stride = 0, row = 0;
    switch (arg.kind) {
    case ArgKind::Packed:
      if (packed >= arguments.packed.size())
        return wrong("got " + llvm::Twine(uint64_t(packed)) +
                     " packed buffers, '" + arg.name + "' is missing");
      pointer = arguments.packed[packed++];
      break;
    case ArgKind::X:
      pointer = arguments.x;
      break;
    case ArgKind::Y:
      pointer = arguments.y;
      break;
    case ArgKind::Bias:
      pointer = arguments.bias;
      break;
    case ArgKind::Residual:
      pointer = arguments.residual;
      break;
    case ArgKind::N:
      continue;
    case ArgKind::LdX:
      stride = arguments.ldx, row = tokens ? problem.k : n;
      break;
    case ArgKind::LdY:
      stride = arguments.ldy, row = tokens ? problem.m : n;
      break;
    case ArgKind::LdR:
      stride = arguments.ldr, row = tokens ? problem.m : n;
      break;
    }
    if (isScalar(arg.kind)) {
      if (stride < row || stride > maxInt32)
        return wrong(name(arg.kind) + " is " + llvm::Twine(stride) +
                     ", a row has " + llvm::Twine(row) +
                     " elements and strides are 32-bit");
      continue;
    }
    if (pointer == 0)
      return wrong("argument '" + arg.name + "' is a null pointer");
    if (arg.alignment > 1 && pointer % arg.alignment != 0)
      return wrong("argument '" + arg.name + "' is at 0x" +
                   llvm::utohexstr(pointer, true) +
                   ", which is not aligned to " + llvm::Twine(arg.alignment) +
                   " bytes");
  }
  if (packed != arguments.packed.size())
    return wrong("got " + llvm::Twine(uint64_t(arguments.packed.size())) +
                 " packed buffers, it reads " + llvm::Twine(uint64_t(packed)));
  return llvm::Error::success();
}

/// Loads the cubin, or compiles the PTX and says what the compiler said.
static llvm::Error loadModule(const Driver &api, const KernelManifest &manifest,
                              llvm::StringRef cubin, llvm::StringRef ptx,
                              cuda::ModuleHandle &module,
                              bool &compiledByDriver) {
  std::string cubinFault = "no cubin";
  if (!cubin.empty()) {
    // The driver takes a pointer without a length; an ELF header is the least
    // that makes this safe.
    if (cubin.size() < 64 || !cubin.starts_with("\x7f"
                                                "ELF"))
      return fail("kernel '" + manifest.symbol + "': the cubin of " +
                  llvm::Twine(uint64_t(cubin.size())) +
                  " bytes is not an ELF file");
    std::vector<uint8_t> image(cubin.bytes_begin(), cubin.bytes_end());
    cuda::Result result =
        api.moduleLoadDataEx(&module, image.data(), 0, nullptr, nullptr);
    if (result == 0) {
      compiledByDriver = false;
      return llvm::Error::success();
    }
    cubinFault = "loading its cubin failed: " + api.describe(result);
  }
  if (ptx.empty())
    return fail("kernel '" + manifest.symbol + "': " + cubinFault +
                ", and there is no PTX to compile");
  std::string text = ptx.str(); // The driver wants a terminating zero.
  std::vector<char> log(16384, 0);
  int options[] = {cuda::ErrorLogBuffer, cuda::ErrorLogBufferBytes};
  // Leaves the last byte zero whatever the driver writes.
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  cuda::Result result =
      api.moduleLoadDataEx(&module, text.c_str(), 2, options, values);
  if (result != 0)
    return fail("kernel '" + manifest.symbol + "': " + cubinFault +
                "; compiling its PTX failed: " + api.describe(result) + ": " +
                llvm::StringRef(log.data()).trim());
  compiledByDriver = true;
  return llvm::Error::success();
}

llvm::Expected<LoadedKernel> LoadedKernel::load(DeviceRef device,
                                                const KernelManifest &manifest,
                                                llvm::StringRef cubin,
                                                llvm::StringRef ptx,
                                                Unreviewed unreviewed) {
  if (llvm::Error error = manifest.verify())
    return error;
  if (unreviewed == Unreviewed::Refuse && manifest.isUnreviewed())
    return fail("kernel '" + manifest.symbol +
                "' is unreviewed: an agent wrote it and no person approved it");
  const DeviceInfo &info = device->info();
  if (!manifest.chip.empty() && !info.runs(manifest.chip))
    return fail("kernel '" + manifest.symbol + "' is for " + manifest.chip +
                ", " + info.name + " is sm_" +
                llvm::Twine(info.computeCapability));
  if (llvm::Error error = device->makeCurrent())
    return error;
  const Driver &api = device->driver();
  LoadedKernel kernel(device);
  kernel.contract = manifest;
  Resources &resources = kernel.resources;
  if (llvm::Error error = loadModule(api, manifest, cubin, ptx, kernel.module,
                                     resources.compiledByDriver))
    return error;
  auto named = [&](llvm::Error error) {
    return fail("kernel '" + manifest.symbol +
                "': " + llvm::toString(std::move(error)));
  };
  if (llvm::Error error =
          api.check(api.moduleGetFunction(&kernel.function, kernel.module,
                                          manifest.symbol.c_str()),
                    "cuModuleGetFunction"))
    return named(std::move(error));
  int maxThreads = 0;
  struct {
    cuda::FunctionAttribute which;
    int *value;
  } wanted[] = {{cuda::Registers, &resources.registers},
                {cuda::LocalBytes, &resources.localBytes},
                {cuda::StaticSharedBytes, &resources.staticSharedBytes},
                {cuda::MaxThreadsPerBlock, &maxThreads}};
  for (auto &item : wanted)
    if (llvm::Error error = api.check(
            api.funcGetAttribute(item.value, item.which, kernel.function),
            "cuFuncGetAttribute"))
      return named(std::move(error));
  unsigned threads = manifest.block[0] * manifest.block[1] * manifest.block[2];
  if (threads > unsigned(maxThreads))
    return fail(
        "kernel '" + manifest.symbol + "' wants " + llvm::Twine(threads) +
        " threads a block, the function allows " + llvm::Twine(maxThreads));
  int64_t shared = int64_t(resources.staticSharedBytes) +
                   int64_t(manifest.dynamicSharedBytes);
  if (shared > info.sharedPerBlockOptin)
    return fail("kernel '" + manifest.symbol + "' needs " +
                llvm::Twine(shared) + " bytes of shared memory, " + info.name +
                " has " + llvm::Twine(info.sharedPerBlockOptin) + " a block");
  if (manifest.dynamicSharedBytes > 0)
    if (llvm::Error error = api.check(
            api.funcSetAttribute(kernel.function, cuda::MaxDynamicSharedBytes,
                                 int(manifest.dynamicSharedBytes)),
            "cuFuncSetAttribute"))
      return named(std::move(error));
  return kernel;
}

LoadedKernel::~LoadedKernel() {
  if (!module)
    return;
  llvm::consumeError(device->makeCurrent());
  device->driver().moduleUnload(module);
}

llvm::Error LoadedKernel::launch(const LaunchArguments &arguments,
                                 cuda::StreamHandle stream) const {
  if (llvm::Error error = checkLaunchArguments(contract, arguments))
    return error;
  llvm::Expected<std::array<unsigned, 3>> grid = gridFor(contract, arguments.n);
  if (!grid)
    return grid.takeError();
  if (llvm::Error error = device->makeCurrent())
    return error;

  // Values and the addresses of the values, as cuLaunchKernel wants them.
  union Slot {
    cuda::DevicePtr pointer;
    int32_t scalar;
  };
  Slot slots[maxArgs];
  void *parameters[maxArgs];
  size_t packed = 0, count = 0;
  for (const KernelArg &arg : contract.args) {
    Slot &slot = slots[count];
    switch (arg.kind) {
    case ArgKind::Packed:
      slot.pointer = arguments.packed[packed++];
      break;
    case ArgKind::X:
      slot.pointer = arguments.x;
      break;
    case ArgKind::Y:
      slot.pointer = arguments.y;
      break;
    case ArgKind::Bias:
      slot.pointer = arguments.bias;
      break;
    case ArgKind::Residual:
      slot.pointer = arguments.residual;
      break;
    case ArgKind::N:
      slot.scalar = int32_t(arguments.n);
      break;
    case ArgKind::LdX:
      slot.scalar = int32_t(arguments.ldx);
      break;
    case ArgKind::LdY:
      slot.scalar = int32_t(arguments.ldy);
      break;
    case ArgKind::LdR:
      slot.scalar = int32_t(arguments.ldr);
      break;
    }
    parameters[count++] = &slot;
  }
  const Driver &api = device->driver();
  cuda::Result result = api.launchKernel(
      function, (*grid)[0], (*grid)[1], (*grid)[2], contract.block[0],
      contract.block[1], contract.block[2], contract.dynamicSharedBytes, stream,
      parameters, nullptr);
  if (result == 0)
    return llvm::Error::success();
  return fail("launching kernel '" + contract.symbol +
              "' failed: " + api.describe(result));
}
