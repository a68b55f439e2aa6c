//===- ReaderSupport.cpp - What all readers share -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReaderSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace sparseditto;

std::string sparseditto::shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return result;
}

std::optional<int64_t> sparseditto::checkedProduct(int64_t a, int64_t b) {
  int64_t result;
  if (llvm::MulOverflow(a, b, result))
    return std::nullopt;
  return result;
}

bool sparseditto::flattenShape(TensorInfo &info) {
  // Multiplied without the zeros: [2^62, 2^62, 0] has no elements, but its
  // flattened column count must not overflow either.
  std::optional<int64_t> total = byteSize(info.type);
  info.rows = info.shape.size() >= 2 ? info.shape[0] : 1;
  info.cols = 1;
  for (auto [index, dimension] : llvm::enumerate(info.shape)) {
    total = checkedProduct(*total, std::max<int64_t>(dimension, 1));
    if (!total)
      return false;
    if (index > 0 || info.shape.size() < 2)
      info.cols *= dimension;
  }
  return true;
}

llvm::Error sparseditto::checkDenseLimit(llvm::StringRef path,
                                         const TensorInfo &info,
                                         const ReadOptions &options,
                                         llvm::StringRef why) {
  if (info.numBytes() <= options.maxDenseBytes)
    return llvm::Error::success();
  return readErrorV(
      path,
      "tensor '{0}': {1} x {2} elements of {3} need {4} bytes {5}; "
      "the limit is {6} bytes",
      printable(info.name), info.rows, info.cols, name(info.type),
      info.numBytes(), why, options.maxDenseBytes);
}

static void describe(Matrix &matrix, const TensorInfo &info,
                     llvm::StringRef path) {
  matrix.name = info.name;
  matrix.sourceFile = path.str();
  matrix.type = info.type;
  matrix.rows = info.rows;
  matrix.cols = info.cols;
  matrix.originalShape = info.shape;
}

llvm::Expected<Matrix> sparseditto::allocateMatrix(llvm::StringRef path,
                                                   const TensorInfo &info) {
  llvm::Expected<Matrix> matrix =
      Matrix::allocate(info.name, info.type, info.rows, info.cols);
  if (!matrix)
    return readError(path, llvm::toString(matrix.takeError()));
  describe(*matrix, info, path);
  return matrix;
}

llvm::Expected<Matrix>
sparseditto::borrowMatrix(const std::shared_ptr<FileBytes> &file,
                          const TensorInfo &info, const uint8_t *data) {
  if (reinterpret_cast<uintptr_t>(data) % byteSize(info.type) != 0) {
    llvm::Expected<Matrix> copy = allocateMatrix(file->path(), info);
    if (copy)
      std::memcpy(copy->mutableData(), data, copy->numBytes());
    return copy;
  }
  Matrix matrix;
  describe(matrix, info, file->path());
  matrix.data = data;
  matrix.owner = file;
  return matrix;
}
