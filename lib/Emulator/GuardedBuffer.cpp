//===- GuardedBuffer.cpp - Device buffers between guard pages -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Emulator/GuardedBuffer.h"
#include "AllocationMap.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>

using namespace sparseditto;
using namespace sparseditto::emulator;

namespace {

/// Guard zones this wide catch an index that is off by a whole row.
constexpr size_t guardBytes = 64 * 1024;
constexpr size_t pageBytes = 4096;
/// No kernel of ours needs more, and a size from a file must not map the world.
constexpr size_t maxBytes = size_t(1) << 40;

struct Registry {
  std::mutex mutex;
  std::map<uint64_t, Allocation> byMapping;
};
Registry &registry() {
  static Registry instance;
  return instance;
}

} // namespace

void emulator::registerAllocation(Allocation allocation) {
  Registry &r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.byMapping[allocation.mappingBegin] = std::move(allocation);
}

void emulator::unregisterAllocation(uint64_t mappingBegin) {
  Registry &r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.byMapping.erase(mappingBegin);
}

void emulator::setAllocationReadOnly(uint64_t mappingBegin, bool readOnly) {
  Registry &r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  auto it = r.byMapping.find(mappingBegin);
  if (it != r.byMapping.end())
    it->second.readOnly = readOnly;
}

AllocationMap emulator::snapshotAllocations() {
  Registry &r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  std::vector<Allocation> sorted;
  sorted.reserve(r.byMapping.size());
  for (const auto &entry : r.byMapping)
    sorted.push_back(entry.second);
  return AllocationMap(std::move(sorted));
}

const Allocation *AllocationMap::find(uint64_t address) const {
  auto it = std::upper_bound(
      Allocations.begin(), Allocations.end(), address,
      [](uint64_t a, const Allocation &b) { return a < b.mappingBegin; });
  if (it == Allocations.begin())
    return nullptr;
  --it;
  return address < it->mappingEnd ? &*it : nullptr;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&other) noexcept {
  *this = std::move(other);
}

GuardedBuffer &GuardedBuffer::operator=(GuardedBuffer &&other) noexcept {
  if (this == &other)
    return *this;
  release();
  std::swap(Mapping, other.Mapping);
  std::swap(MappingSize, other.MappingSize);
  std::swap(Begin, other.Begin);
  std::swap(Size, other.Size);
  Name = std::move(other.Name);
  return *this;
}

GuardedBuffer::~GuardedBuffer() { release(); }

void GuardedBuffer::release() {
  if (!Mapping)
    return;
  unregisterAllocation(reinterpret_cast<uint64_t>(Mapping));
  munmap(Mapping, MappingSize);
  Mapping = Begin = nullptr;
  MappingSize = Size = 0;
}

llvm::Expected<GuardedBuffer>
GuardedBuffer::create(llvm::StringRef name, size_t size,
                      const GuardedBufferOptions &options) {
  unsigned align = options.alignment;
  if (!llvm::isPowerOf2_32(align) || align > pageBytes ||
      options.offset >= align)
    return llvm::createStringError(
        "buffer '%s': alignment %u with offset %u is not a power of two up to "
        "4096 with an offset below it",
        name.str().c_str(), align, options.offset);
  if (size > maxBytes)
    return llvm::createStringError("buffer '%s': %zu bytes exceed the limit",
                                   name.str().c_str(), size);
  // One alignment unit of slack, so that either end can be placed.
  size_t payload = llvm::alignTo(size + align, pageBytes);
  size_t total = payload + 2 * guardBytes;
  void *mapping = mmap(nullptr, total, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return llvm::createStringError("buffer '%s': cannot map %zu bytes",
                                   name.str().c_str(), total);
  auto *base = static_cast<uint8_t *>(mapping);
  uint8_t *first = base + guardBytes;
  if (mprotect(first, payload, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, total);
    return llvm::createStringError("buffer '%s': cannot protect %zu bytes",
                                   name.str().c_str(), payload);
  }
  std::memset(first, options.fill, payload);
  uint8_t *begin;
  if (options.side == GuardedBufferOptions::Start) {
    begin = first + options.offset;
  } else {
    // Pages are multiples of the alignment, so only the low bits matter.
    uint64_t last = reinterpret_cast<uint64_t>(first + payload - size);
    uint64_t slack = (last - options.offset) & (align - 1);
    begin = first + payload - size - slack;
  }
  GuardedBuffer buffer;
  buffer.Mapping = base;
  buffer.MappingSize = total;
  buffer.Begin = begin;
  buffer.Size = size;
  buffer.Name = name.str();
  if (options.hostOnly)
    return buffer;
  Allocation allocation;
  allocation.mappingBegin = reinterpret_cast<uint64_t>(base);
  allocation.mappingEnd = allocation.mappingBegin + total;
  allocation.begin = reinterpret_cast<uint64_t>(begin);
  allocation.end = allocation.begin + size;
  allocation.name = buffer.Name;
  registerAllocation(std::move(allocation));
  return buffer;
}

llvm::Expected<GuardedBuffer>
GuardedBuffer::create(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes,
                      const GuardedBufferOptions &options) {
  llvm::Expected<GuardedBuffer> buffer = create(name, bytes.size(), options);
  if (buffer && !bytes.empty())
    std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return buffer;
}

void GuardedBuffer::setReadOnly(bool readOnly) {
  if (Mapping)
    setAllocationReadOnly(reinterpret_cast<uint64_t>(Mapping), readOnly);
}
