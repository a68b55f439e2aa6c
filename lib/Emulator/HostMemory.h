//===- HostMemory.h - What host code allocates ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every buffer of emulated host code is a GuardedBuffer: what it allocates on
// the device is the kernels' global memory, what it allocates on the host is
// out of their reach.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_HOSTMEMORY_H
#define SPARSEDITTO_LIB_EMULATOR_HOSTMEMORY_H

#include "sparseditto/Emulator/GuardedBuffer.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>

namespace sparseditto::emulator {

class HostMemory {
public:
  explicit HostMemory(uint64_t limitBytes) : limitBytes(limitBytes) {}

  enum Kind : uint8_t { Host, Device };
  /// Faults call it "device buffer 3" or "host buffer 3".
  llvm::Expected<void *> allocate(uint64_t bytes, Kind kind);
  /// Null is fine. Fails for what is no live allocation of this kind.
  llvm::Error free(void *pointer, Kind kind);

  /// Frees the buffer at `pointer`, of either kind, if there is one.
  void release(void *pointer);

  /// What lives on the device now can no longer be written by kernels.
  void freezeDevice();

  /// Bytes from `pointer` to the end of the buffer that holds it; none if it is
  /// in no live buffer.
  std::optional<uint64_t> bytesFrom(const void *pointer) const;

  uint64_t liveBytes() const { return live; }

private:
  struct Buffer {
    GuardedBuffer memory;
    Kind kind = Host;
  };
  uint64_t limitBytes, live = 0;
  unsigned counter = 0;
  std::map<uint64_t, Buffer> buffers; ///< By address.
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_HOSTMEMORY_H
