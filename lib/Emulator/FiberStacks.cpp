//===- FiberStacks.cpp - Stacks with guard pages --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FiberStacks.h"
#include <sys/mman.h>

using namespace sparseditto::emulator;

FiberStacks::~FiberStacks() { unmap(); }

void FiberStacks::unmap() {
  if (!Base)
    return;
  // Whatever is mapped here next does not inherit the red zones.
  forgetFrames(Base, Count * stackBytes);
  munmap(Base, Count * stackBytes);
  Base = nullptr;
  Count = 0;
}

llvm::Error FiberStacks::map(unsigned count) {
  if (count <= Count)
    return llvm::Error::success();
  unmap();
  void *mapping =
      mmap(nullptr, count * stackBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED)
    return llvm::createStringError("cannot map %u fibre stacks", count);
  Base = static_cast<uint8_t *>(mapping);
  Count = count;
  for (unsigned i = 0; i < count; ++i)
    if (mprotect(Base + i * stackBytes, guardBytes, PROT_NONE) != 0)
      return llvm::createStringError("cannot protect fibre stack %u", i);
  return llvm::Error::success();
}

StackExtent FiberStacks::fresh(unsigned i) const {
  const uint8_t *bottom = Base + i * stackBytes + guardBytes;
  forgetFrames(bottom, usableBytes);
  return {bottom, usableBytes};
}

bool FiberStacks::inGuard(uint64_t address) const {
  uint64_t offset = address - reinterpret_cast<uint64_t>(Base);
  return offset < Count * stackBytes && offset % stackBytes < guardBytes;
}
