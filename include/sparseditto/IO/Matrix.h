//===- Matrix.h - A named dense matrix with zeros ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every reader returns and what analysis, packing and the oracle take: a
// row-major matrix of M rows (output features) by K columns (input features),
// pruned elements present as zeros.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_IO_MATRIX_H
#define SPARSEDITTO_IO_MATRIX_H

#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace sparseditto {

/// A row-major matrix. The bytes are either owned or borrowed from a mapped
/// file that `owner` keeps alive; copying a Matrix copies the reference.
struct Matrix {
  std::string name;       ///< Tensor name inside its file, or the file's stem.
  std::string sourceFile; ///< Path it was read from; empty if built in memory.
  ElementType type = ElementType::F32;
  int64_t rows = 0; ///< M, output features.
  int64_t cols = 0; ///< K, input features.
  /// Shape as stored, before flattening (OIHW convolutions become O x I*H*W).
  std::vector<int64_t> originalShape;
  const uint8_t *data = nullptr; ///< rows * cols * byteSize(type) bytes.
  std::shared_ptr<void> owner;

  int64_t numElements() const { return rows * cols; }
  size_t numBytes() const { return size_t(numElements()) * byteSize(type); }
  llvm::ArrayRef<uint8_t> bytes() const { return {data, numBytes()}; }
  const uint8_t *at(int64_t r, int64_t c) const {
    return data + (size_t(r) * size_t(cols) + size_t(c)) * byteSize(type);
  }
  double value(int64_t r, int64_t c) const {
    return loadAsDouble(type, at(r, c));
  }

  /// Allocates a zero-filled, 64-byte aligned, owned matrix. Fails when the
  /// size overflows or the allocation is refused.
  static llvm::Expected<Matrix> allocate(llvm::StringRef name, ElementType type,
                                         int64_t rows, int64_t cols);
  /// Writable bytes of a matrix made by allocate().
  uint8_t *mutableData() { return const_cast<uint8_t *>(data); }

  /// The same matrix in another element type (round to nearest even). With
  /// `changedZeros` set, counts elements whose zero-ness changed (underflow);
  /// `overflowed` counts finite values that became infinite.
  llvm::Expected<Matrix> convertedTo(ElementType target,
                                     int64_t *changedZeros = nullptr,
                                     int64_t *overflowed = nullptr) const;
  /// An owned transposed copy.
  llvm::Expected<Matrix> transposed() const;
};

} // namespace sparseditto

#endif // SPARSEDITTO_IO_MATRIX_H
