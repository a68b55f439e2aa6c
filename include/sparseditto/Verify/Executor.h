//===- Executor.h - Where a kernel under test runs --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checker hands whole allocations, guard zones included, to an executor and
// looks at every byte that comes back. A GPU, the emulator and the fakes of the
// harness's own tests sit behind this one interface.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_VERIFY_EXECUTOR_H
#define SPARSEDITTO_VERIFY_EXECUTOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace sparseditto {

/// One allocation as the host sees it. The kernel's pointer is `offset` bytes
/// into it; the executor places `bytes` at an address aligned to 256 bytes, so
/// that `offset` alone decides the pointer's alignment. What lies before
/// `offset` and after `offset + size` is a guard zone.
struct BufferImage {
  std::vector<uint8_t> bytes;
  size_t offset = 0;
  size_t size = 0; ///< Bytes that the kernel may touch.

  uint8_t *payload() { return bytes.data() + offset; }
  const uint8_t *payload() const { return bytes.data() + offset; }
};

/// One launch. Strides are in elements, as in the kernel ABI.
struct LaunchRequest {
  int64_t n = 1;
  int64_t ldx = 0, ldy = 0, ldr = 0;
  BufferImage *x = nullptr;
  BufferImage *y = nullptr;        ///< Poisoned on entry.
  BufferImage *bias = nullptr;     ///< Null without a bias.
  BufferImage *residual = nullptr; ///< Null without a residual.
};

/// Runs one kernel. Errors mean that the launch itself failed (the text says
/// how); a wrong result is not an error.
class Executor {
public:
  virtual ~Executor();

  /// "NVIDIA H200, driver 13.0", "emulator sm_80": for reports.
  virtual llvm::StringRef name() const = 0;

  /// Places the packed buffers, in manifest order. Called once, first.
  virtual llvm::Error upload(llvm::ArrayRef<BufferImage> packed) = 0;

  /// Places the images of `request`, launches once, waits, and copies every
  /// image back in place, guard zones included.
  virtual llvm::Error launch(LaunchRequest &request) = 0;

  /// Copies the packed buffers back; same sizes as in upload().
  virtual llvm::Error download(llvm::MutableArrayRef<BufferImage> packed) = 0;
};

} // namespace sparseditto

#endif // SPARSEDITTO_VERIFY_EXECUTOR_H
