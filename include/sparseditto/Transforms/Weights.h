//===- Weights.h - Weights of a module as matrices -------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_WEIGHTS_H
#define SPARSEDITTO_TRANSFORMS_WEIGHTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"
#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Target/ElementTypes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <mutex>

namespace sparseditto {

class TensorFile;
struct PatternReport;

/// The encoding that states the report's verdict, numbers included.
mlir::sparsepattern::EncodingAttr toEncoding(mlir::MLIRContext *context,
                                             const PatternReport &report);

/// A constant tensor of any rank: row-major bytes, borrowed or owned.
struct ConstantTensor {
  std::string name;
  std::string sourceFile;
  ElementType type = ElementType::F32;
  llvm::SmallVector<int64_t> shape;
  const uint8_t *data = nullptr;
  std::shared_ptr<void> owner;

  int64_t numElements() const;
  /// As a matrix without copying: shape[0] rows, the rest flattened.
  Matrix asMatrix() const;
  /// The M x K matrix whose element (m, k) is found by running through the
  /// dimensions `rowDims` (the last one fastest) for m and `colDims` for k.
  /// Dimensions in neither list have size 1. Copies only if the order differs.
  llvm::Expected<Matrix> asMatrix(llvm::ArrayRef<int64_t> rowDims,
                                  llvm::ArrayRef<int64_t> colDims) const;
};

/// The bytes of a constant. Fails if the element type has no equivalent, or a
/// resource has no data or not as many bytes as its type needs: the parser of
/// MLIR checks neither. The result borrows from the attribute's context.
llvm::Expected<ConstantTensor> readConstant(mlir::ElementsAttr value,
                                            llvm::StringRef name);

/// A constant with the matrix's bytes and type `rows x cols`: a resource named
/// `key` that shares the matrix's memory if `asResource`, inline otherwise.
mlir::ElementsAttr toConstant(mlir::MLIRContext *context, const Matrix &matrix,
                              bool asResource, llvm::StringRef key);

/// Opens the files that `sparsepattern.source` names, each once. Thread-safe.
class SourceReader {
public:
  /// Relative paths start at `baseDir`, or at the current directory if empty.
  explicit SourceReader(llvm::StringRef baseDir);
  ~SourceReader();

  /// The tensor "file#name"; without a name the file must hold just one. Fails
  /// if its shape or element type is not that of `type`.
  llvm::Expected<ConstantTensor> read(llvm::StringRef source,
                                      mlir::ShapedType type);

private:
  std::string baseDir;
  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<TensorFile>> files;
};

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_WEIGHTS_H
