//===- SharedMemory.cpp - Shared memory of a block and its shadow ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace sparseditto::emulator;

SharedMemory::~SharedMemory() {
  if (Mapping)
    munmap(Mapping, 2 * windowBytes);
}

llvm::Error SharedMemory::map() {
  if (Mapping)
    return llvm::Error::success();
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#ifdef MAP_32BIT
  flags |= MAP_32BIT;
#endif
  void *hint = reinterpret_cast<void *>(uintptr_t(0x20000000));
  void *mapping =
      mmap(hint, 2 * windowBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping == MAP_FAILED)
    return llvm::createStringError("cannot map the shared memory window");
  Mapping = mapping;
  uint64_t address = reinterpret_cast<uint64_t>(mapping);
  if (address + 2 * windowBytes > UINT32_MAX)
    return llvm::createStringError(
        "cannot map the shared memory window below 4 GiB");
  Base = reinterpret_cast<char *>(llvm::alignTo(address, windowBytes));
  return llvm::Error::success();
}

void SharedMemory::reset(const std::vector<SharedRegion> &regions,
                         unsigned dynamicBytes) {
  if (Regions != &regions || DynamicBytes != dynamicBytes || Initial.empty()) {
    Regions = &regions;
    DynamicBytes = dynamicBytes;
    Initial.assign(windowBytes, ByteState::RedZone);
    Used = 0;
    for (const SharedRegion &region : regions) {
      unsigned size = region.dynamic ? dynamicBytes : region.size;
      std::fill_n(Initial.begin() + region.offset, size,
                  ByteState::Uninitialized);
      Used = std::max(Used, region.offset + size);
    }
    States = Initial;
    std::memset(Base, poison, windowBytes);
    return;
  }
  std::copy_n(Initial.begin(), Used, States.begin());
  std::memset(Base, poison, Used);
}

unsigned SharedMemory::findOther(unsigned offset, unsigned size,
                                 ByteState wanted) const {
  for (unsigned i = offset, end = offset + size; i != end; ++i)
    if (States[i] != wanted)
      return i;
  return offset + size;
}

void SharedMemory::mark(unsigned offset, unsigned size, ByteState to) {
  std::fill_n(States.begin() + offset, size, to);
}

std::string SharedMemory::describe(unsigned offset) const {
  const SharedRegion *best = nullptr;
  for (const SharedRegion &region : *Regions)
    if (region.offset <= offset && (!best || region.offset >= best->offset))
      best = &region;
  if (!best)
    return "shared memory without arrays";
  unsigned size = best->dynamic ? DynamicBytes : best->size;
  return "shared array '" + best->name + "' (" + std::to_string(size) +
         " bytes) at byte " + std::to_string(offset - best->offset);
}
