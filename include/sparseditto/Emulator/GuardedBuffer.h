//===- GuardedBuffer.h - Device buffers between guard pages -----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulator's global memory. Kernels may touch only bytes inside a live
// GuardedBuffer; every access is checked against its exact size, and the pages
// before and after it trap.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_EMULATOR_GUARDEDBUFFER_H
#define SPARSEDITTO_EMULATOR_GUARDEDBUFFER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace sparseditto {

struct GuardedBufferOptions {
  /// Which end lies as close to its guard page as the alignment allows.
  enum Side { End, Start } side = End;
  /// The address is congruent to `offset` modulo `alignment` (a power of two,
  /// at most 4096).
  unsigned alignment = 256;
  unsigned offset = 0;
  /// What every byte holds at first. 0xff is a NaN in f16, bf16 and f32.
  uint8_t fill = 0xff;
  /// Any access of a kernel is a fault: memory of the host alone.
  bool hostOnly = false;
};

/// Movable; unmaps on destruction. A moved-from or default one is empty.
class GuardedBuffer {
public:
  GuardedBuffer() = default;
  GuardedBuffer(GuardedBuffer &&other) noexcept;
  GuardedBuffer &operator=(GuardedBuffer &&other) noexcept;
  ~GuardedBuffer();

  /// `name` is what faults call it. Size 0 is legal: every access faults.
  static llvm::Expected<GuardedBuffer>
  create(llvm::StringRef name, size_t size,
         const GuardedBufferOptions &options = {});
  /// The same, holding a copy of `bytes`.
  static llvm::Expected<GuardedBuffer>
  create(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes,
         const GuardedBufferOptions &options = {});

  uint8_t *data() const { return Begin; }
  size_t size() const { return Size; }
  llvm::StringRef name() const { return Name; }
  /// The kernel argument.
  uint64_t devicePointer() const { return reinterpret_cast<uint64_t>(Begin); }
  llvm::ArrayRef<uint8_t> bytes() const { return {Begin, Size}; }
  llvm::MutableArrayRef<uint8_t> mutableBytes() const { return {Begin, Size}; }

  /// Kernels may no longer store to it (a ReadOnlyWrite fault); the host can.
  void setReadOnly(bool readOnly);

private:
  uint8_t *Mapping = nullptr;
  size_t MappingSize = 0;
  uint8_t *Begin = nullptr;
  size_t Size = 0;
  std::string Name;

  void release();
};

} // namespace sparseditto

#endif // SPARSEDITTO_EMULATOR_GUARDEDBUFFER_H
