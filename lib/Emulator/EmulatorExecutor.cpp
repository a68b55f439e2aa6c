//===- EmulatorExecutor.cpp - Manifests run by the emulator ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Emulator/EmulatorExecutor.h"
#include "Translate.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "sparseditto/Target/Compile.h"
#include <cstring>

using namespace sparseditto;

static llvm::Expected<uint64_t> scalar(llvm::StringRef what, int64_t value) {
  if (value < 0 || value > INT32_MAX)
    return llvm::createStringError("%s = %lld does not fit the kernel's i32",
                                   what.str().c_str(),
                                   static_cast<long long>(value));
  return static_cast<uint64_t>(value);
}

static llvm::Expected<uint64_t>
argumentWord(const KernelArg &arg, const ManifestArguments &arguments) {
  switch (arg.kind) {
  case ArgKind::Packed:
    for (const auto &[name, pointer] : arguments.packed)
      if (name == arg.name)
        return pointer;
    return llvm::createStringError("no packed buffer '%s'", arg.name.c_str());
  case ArgKind::X:
    return arguments.x;
  case ArgKind::Y:
    return arguments.y;
  case ArgKind::Bias:
    return arguments.bias;
  case ArgKind::Residual:
    return arguments.residual;
  case ArgKind::N:
    return scalar("N", arguments.n);
  case ArgKind::LdX:
    return scalar("ldx", arguments.ldx);
  case ArgKind::LdY:
    return scalar("ldy", arguments.ldy);
  case ArgKind::LdR:
    return scalar("ldr", arguments.ldr);
  }
  return llvm::createStringError("argument '%s' of an unknown kind",
                                 arg.name.c_str());
}

llvm::Expected<std::vector<uint64_t>>
sparseditto::orderArguments(const KernelManifest &manifest,
                            const ManifestArguments &arguments) {
  std::vector<uint64_t> words;
  for (const KernelArg &arg : manifest.args) {
    llvm::Expected<uint64_t> word = argumentWord(arg, arguments);
    if (!word)
      return word.takeError();
    words.push_back(*word);
  }
  return words;
}

llvm::Error sparseditto::runManifest(EmulatedKernel &kernel,
                                     const KernelManifest &manifest,
                                     const ManifestArguments &arguments,
                                     LaunchReport *report) {
  int64_t n = arguments.n;
  if (n < manifest.nMin || (manifest.nMax != 0 && n > manifest.nMax))
    return llvm::createStringError(
        "kernel '%s' may not be launched for N = %lld", manifest.symbol.c_str(),
        static_cast<long long>(n));
  std::array<unsigned, 3> grid;
  for (unsigned d = 0; d < 3; ++d) {
    int64_t blocks = manifest.grid[d].evaluate(n);
    if (blocks < 0 || blocks > INT32_MAX)
      return llvm::createStringError(
          "kernel '%s': %lld blocks in grid dimension %u",
          manifest.symbol.c_str(), static_cast<long long>(blocks), d);
    grid[d] = static_cast<unsigned>(blocks);
  }
  llvm::Expected<std::vector<uint64_t>> words =
      orderArguments(manifest, arguments);
  if (!words)
    return words.takeError();
  return kernel.launch(grid, manifest.block, manifest.dynamicSharedBytes,
                       *words, report);
}

llvm::Expected<std::unique_ptr<EmulatorExecutor>>
EmulatorExecutor::create(mlir::ModuleOp module, const KernelManifest &manifest,
                         const EmulatorOptions &options,
                         GuardedBufferOptions::Side side) {
  mlir::OwningOpRef<mlir::ModuleOp> clone;
  if (emulator::needsLowering(module)) {
    clone = module.clone();
    if (llvm::Error error = lowerKernelToNVVM(*clone))
      return error;
    module = *clone;
  }
  llvm::Expected<std::unique_ptr<EmulatedKernel>> kernel =
      EmulatedKernel::create(module, manifest.symbol, options);
  if (!kernel)
    return kernel.takeError();
  return std::unique_ptr<EmulatorExecutor>(
      new EmulatorExecutor(std::move(*kernel), manifest, side));
}

llvm::StringRef EmulatorExecutor::name() const { return "emulator sm_80"; }

llvm::Expected<GuardedBuffer>
EmulatorExecutor::place(llvm::StringRef name, const BufferImage &image) const {
  if (image.offset > image.bytes.size() ||
      image.size > image.bytes.size() - image.offset)
    return llvm::createStringError(
        "buffer '%s': %zu bytes at offset %zu exceed its image of %zu",
        name.str().c_str(), image.size, image.offset, image.bytes.size());
  GuardedBufferOptions options;
  options.side = Side;
  options.offset = image.offset % options.alignment;
  return GuardedBuffer::create(
      name, llvm::ArrayRef<uint8_t>(image.payload(), image.size), options);
}

llvm::Error EmulatorExecutor::upload(llvm::ArrayRef<BufferImage> packed) {
  Packed.clear();
  for (const KernelArg &arg : Manifest.args) {
    if (arg.kind != ArgKind::Packed)
      continue;
    if (Packed.size() == packed.size())
      return llvm::createStringError("no image for packed buffer '%s'",
                                     arg.name.c_str());
    llvm::Expected<GuardedBuffer> buffer =
        place(arg.name, packed[Packed.size()]);
    if (!buffer)
      return buffer.takeError();
    buffer->setReadOnly(true);
    Packed.push_back(std::move(*buffer));
  }
  if (Packed.size() != packed.size())
    return llvm::createStringError("%zu packed buffers for a kernel with %zu",
                                   packed.size(), Packed.size());
  PackedImages.assign(packed.begin(), packed.end());
  return llvm::Error::success();
}

llvm::Error EmulatorExecutor::launch(LaunchRequest &request) {
  ManifestArguments arguments;
  for (const GuardedBuffer &buffer : Packed)
    arguments.packed.emplace_back(buffer.name().str(), buffer.devicePointer());
  arguments.n = request.n;
  arguments.ldx = request.ldx;
  arguments.ldy = request.ldy;
  arguments.ldr = request.ldr;
  std::vector<GuardedBuffer> buffers;
  auto add = [&](llvm::StringRef name, const BufferImage *image,
                 uint64_t &pointer) -> llvm::Error {
    if (!image)
      return llvm::Error::success();
    llvm::Expected<GuardedBuffer> buffer = place(name, *image);
    if (!buffer)
      return buffer.takeError();
    buffer->setReadOnly(name != "y");
    pointer = buffer->devicePointer();
    buffers.push_back(std::move(*buffer));
    return llvm::Error::success();
  };
  if (!request.x || !request.y)
    return llvm::createStringError("a launch needs X and Y");
  if (llvm::Error error = add("y", request.y, arguments.y))
    return error;
  if (llvm::Error error = add("x", request.x, arguments.x))
    return error;
  if (llvm::Error error = add("bias", request.bias, arguments.bias))
    return error;
  if (llvm::Error error = add("residual", request.residual, arguments.residual))
    return error;
  if (llvm::Error error = runManifest(*Kernel, Manifest, arguments, &Report))
    return error;
  // Only Y can have changed: stores to the others fault.
  std::memcpy(request.y->payload(), buffers.front().data(), request.y->size);
  return llvm::Error::success();
}

llvm::Error
EmulatorExecutor::download(llvm::MutableArrayRef<BufferImage> packed) {
  if (packed.size() != Packed.size())
    return llvm::createStringError("%zu images for %zu packed buffers",
                                   packed.size(), Packed.size());
  for (unsigned i = 0; i < Packed.size(); ++i) {
    if (packed[i].size != Packed[i].size())
      return llvm::createStringError("buffer '%s' has %zu bytes, got %zu",
                                     Packed[i].name().str().c_str(),
                                     Packed[i].size(), packed[i].size);
    // The image's guard zones never were in the kernel's reach.
    packed[i] = PackedImages[i];
    std::memcpy(packed[i].payload(), Packed[i].data(), Packed[i].size());
  }
  return llvm::Error::success();
}
