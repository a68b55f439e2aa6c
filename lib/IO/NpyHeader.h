//===- NpyHeader.h - The header of a .npy array -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by .npy files and the members of .npz archives.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_NPYHEADER_H
#define SPARSEDITTO_LIB_IO_NPYHEADER_H

#include "sparseditto/IO/TensorFile.h"

namespace sparseditto {

struct NpyHeader {
  /// Longest header that is read: far over what any array needs.
  static constexpr uint64_t maxBytes = 1 << 20;

  bool fortranOrder = false;
  bool swapBytes = false; ///< Stored big-endian.
  uint64_t dataOffset = 0;
  /// Type, shape, and the reason if the element type is not supported.
  TensorInfo info;

  /// How many bytes from the start hold the whole header, given its first 12
  /// (or all there are). Fails on a wrong magic, version or length.
  static llvm::Expected<uint64_t> headerBytes(llvm::ArrayRef<uint8_t> start);

  /// Parses the header in `bytes`, which hold all of it. Messages have no path.
  static llvm::Expected<NpyHeader> parse(llvm::ArrayRef<uint8_t> bytes);

  /// Fails unless `got`, the bytes that follow the header, is what the shape
  /// takes. The message has no path.
  llvm::Error checkDataBytes(uint64_t got) const;

  /// True if the data in the file is the matrix as it stands.
  bool isPlain() const {
    return !swapBytes && !(fortranOrder && info.rank() >= 2);
  }

  /// Brings data that is not plain into C order and little-endian. `src` holds
  /// info.numBytes() bytes; `dst` does not overlap it.
  void normalize(const uint8_t *src, uint8_t *dst) const;
};

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_NPYHEADER_H
