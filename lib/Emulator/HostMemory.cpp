//===- HostMemory.cpp - What host code allocates --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostMemory.h"
#include "sparseditto/Support/Error.h"

using namespace sparseditto;
using namespace sparseditto::emulator;

static const char *name(HostMemory::Kind kind) {
  return kind == HostMemory::Device ? "device" : "host";
}

llvm::Expected<void *> HostMemory::allocate(uint64_t bytes, Kind kind) {
  if (bytes > limitBytes - live)
    return makeError("host code asks for {0} bytes of {1} memory, which with "
                     "the {2} it holds is over the limit of {3}",
                     bytes, ::name(kind), live, limitBytes);
  GuardedBufferOptions options;
  options.hostOnly = kind == Host;
  llvm::Expected<GuardedBuffer> memory = GuardedBuffer::create(
      (llvm::Twine(::name(kind)) + " buffer " + llvm::Twine(++counter)).str(),
      bytes, options);
  if (!memory)
    return memory.takeError();
  void *pointer = memory->data();
  live += bytes;
  buffers[reinterpret_cast<uint64_t>(pointer)] = {std::move(*memory), kind};
  return pointer;
}

llvm::Error HostMemory::free(void *pointer, Kind kind) {
  if (!pointer)
    return llvm::Error::success();
  auto it = buffers.find(reinterpret_cast<uint64_t>(pointer));
  if (it == buffers.end())
    return makeError("host code frees {0}, which is no live buffer of its",
                     pointer);
  if (it->second.kind != kind)
    return makeError("host code frees {0} as {1} memory",
                     it->second.memory.name(), ::name(kind));
  live -= it->second.memory.size();
  buffers.erase(it);
  return llvm::Error::success();
}

void HostMemory::release(void *pointer) {
  auto it = buffers.find(reinterpret_cast<uint64_t>(pointer));
  if (it == buffers.end())
    return;
  live -= it->second.memory.size();
  buffers.erase(it);
}

void HostMemory::freezeDevice() {
  for (auto &[address, buffer] : buffers)
    if (buffer.kind == Device)
      buffer.memory.setReadOnly(true);
}

std::optional<uint64_t> HostMemory::bytesFrom(const void *pointer) const {
  auto address = reinterpret_cast<uint64_t>(pointer);
  auto it = buffers.upper_bound(address);
  if (it == buffers.begin())
    return std::nullopt;
  --it;
  uint64_t offset = address - it->first;
  if (offset > it->second.memory.size())
    return std::nullopt;
  return it->second.memory.size() - offset;
}
