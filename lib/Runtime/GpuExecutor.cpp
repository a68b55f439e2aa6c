//===- GpuExecutor.cpp - The checker's way to a GPU -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/GpuExecutor.h"
#include "llvm/ADT/SmallVector.h"
#include <random>

using namespace sparseditto;

namespace {
class GpuExecutor : public Executor {
public:
  GpuExecutor(DeviceRef device, const LoadedKernel &kernel, Stream stream,
              uint64_t seed)
      : device(std::move(device)), kernel(kernel), stream(std::move(stream)),
        draw(seed) {
    const DeviceInfo &info = this->device->info();
    text = info.name + ", driver " + std::to_string(info.driverVersion / 1000) +
           "." + std::to_string(info.driverVersion % 1000 / 10);
  }
  llvm::StringRef name() const override { return text; }
  llvm::Error upload(llvm::ArrayRef<BufferImage> images) override;
  llvm::Error launch(LaunchRequest &request) override;
  llvm::Error download(llvm::MutableArrayRef<BufferImage> images) override;

private:
  /// Operands other than the weight, by position.
  enum Slot { X, Y, Bias, Residual, SlotCount };

  llvm::Error place(Slot slot, const BufferImage *image,
                    cuda::DevicePtr &pointer);

  DeviceRef device;
  const LoadedKernel &kernel;
  Stream stream;
  std::string text;
  std::vector<DeviceBuffer> packed;
  std::vector<cuda::DevicePtr> packedPointers;
  /// Two sets, drawn at random: a launch sees the addresses of the last one or
  /// others, with new data or the same, so that neither a kernel that remembers
  /// by address nor one that counts on another address goes unseen.
  DeviceBuffer arenas[2][SlotCount];
  unsigned turn = 0;
  std::mt19937_64 draw;
};
} // namespace

llvm::Error GpuExecutor::upload(llvm::ArrayRef<BufferImage> images) {
  packed.clear();
  packedPointers.clear();
  for (const BufferImage &image : images) {
    llvm::Expected<DeviceBuffer> buffer =
        DeviceBuffer::allocate(device, image.bytes.size());
    if (!buffer)
      return buffer.takeError();
    if (llvm::Error error = buffer->upload(image.bytes))
      return error;
    packedPointers.push_back(buffer->pointer() + image.offset);
    packed.push_back(std::move(*buffer));
  }
  return llvm::Error::success();
}

llvm::Error GpuExecutor::download(llvm::MutableArrayRef<BufferImage> images) {
  if (images.size() != packed.size())
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "asked for %zu packed buffers, %zu exist",
                                   images.size(), packed.size());
  for (size_t i = 0; i < images.size(); ++i)
    if (llvm::Error error = packed[i].download(images[i].bytes))
      return error;
  return llvm::Error::success();
}

llvm::Error GpuExecutor::place(Slot slot, const BufferImage *image,
                               cuda::DevicePtr &pointer) {
  pointer = 0;
  if (!image)
    return llvm::Error::success();
  DeviceBuffer &arena = arenas[turn][slot];
  if (arena.size() < image->bytes.size()) {
    arena = DeviceBuffer(); // Before the new one, to keep the peak low.
    llvm::Expected<DeviceBuffer> buffer =
        DeviceBuffer::allocate(device, image->bytes.size());
    if (!buffer)
      return buffer.takeError();
    arena = std::move(*buffer);
  }
  pointer = arena.pointer() + image->offset;
  return arena.upload(image->bytes);
}

llvm::Error GpuExecutor::launch(LaunchRequest &request) {
  turn = unsigned(draw() >> 63);
  LaunchArguments arguments;
  arguments.packed = packedPointers;
  arguments.n = request.n;
  arguments.ldx = request.ldx;
  arguments.ldy = request.ldy;
  arguments.ldr = request.ldr;
  struct {
    Slot slot;
    BufferImage *image;
    cuda::DevicePtr *pointer;
  } operands[] = {{X, request.x, &arguments.x},
                  {Y, request.y, &arguments.y},
                  {Bias, request.bias, &arguments.bias},
                  {Residual, request.residual, &arguments.residual}};
  for (auto &operand : operands)
    if (llvm::Error error =
            place(operand.slot, operand.image, *operand.pointer))
      return error;
  // Copies from pageable memory may still be in flight on the null stream,
  // which a non-blocking stream does not wait for.
  if (llvm::Error error = device->synchronize())
    return error;
  if (llvm::Error error = kernel.launch(arguments, stream.handle()))
    return error;
  if (llvm::Error error = stream.synchronize())
    return error;
  for (auto &operand : operands)
    if (operand.image)
      if (llvm::Error error = arenas[turn][operand.slot].download(
              llvm::MutableArrayRef<uint8_t>(operand.image->bytes)))
        return error;
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Executor>>
sparseditto::createGpuExecutor(DeviceRef device, const LoadedKernel &kernel,
                               uint64_t seed) {
  llvm::Expected<Stream> stream = Stream::create(device);
  if (!stream)
    return stream.takeError();
  return std::make_unique<GpuExecutor>(std::move(device), kernel,
                                       std::move(*stream), seed);
}
