//===- Packed.h - Packed weights --------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device buffers that a family's packer makes from a weight. A format has a
// name and a version; readers refuse a version they do not know.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_PACKED_H
#define SPARSEDITTO_KERNELS_PACKED_H

#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace sparseditto {

struct Matrix;

/// One device buffer. Uploaded at an address aligned to at least 256 bytes.
struct PackedBuffer {
  std::string name; ///< Argument name in the kernel ABI: "values", "rows", ...
  ElementType type = ElementType::U8;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes; ///< Exactly product(shape) * byteSize(type).
};

/// A weight in one family's format.
struct PackedWeight {
  std::string format; ///< "nm24-fragment", "bsr-fragment", "csr-quad", ...
  int version = 1;
  int64_t m = 0, k = 0;
  ElementType type = ElementType::F16; ///< Of the values.
  std::vector<PackedBuffer> buffers;   ///< In kernel argument order.
  /// Integers of the format that kernels are specialised on or that unpack
  /// needs ("block_rows", "chunks", "max_row", ...), sorted by name.
  std::vector<std::pair<std::string, int64_t>> attributes;

  /// Without buffers and attributes yet.
  static PackedWeight start(llvm::StringRef format, int version,
                            const Matrix &weight);

  int64_t attribute(llvm::StringRef name, int64_t fallback = 0) const;
  void setAttribute(llvm::StringRef name, int64_t value);
  const PackedBuffer *find(llvm::StringRef name) const;
  /// Resident device bytes.
  int64_t numBytes() const;
};

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_PACKED_H
