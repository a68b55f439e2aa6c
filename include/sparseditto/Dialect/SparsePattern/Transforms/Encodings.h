//===- Encodings.h - Encodings of other dialects ---------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_ENCODINGS_H
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_ENCODINGS_H

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"
#include <string>

namespace mlir::sparse_tensor {
class SparseTensorEncodingAttr;
} // namespace mlir::sparse_tensor

namespace mlir::sparsepattern {

/// The sparse_tensor storage that holds exactly the weights of the pattern.
/// Null, with the reason, for patterns that have none.
sparse_tensor::SparseTensorEncodingAttr
toSparseTensorEncoding(EncodingAttr encoding, std::string &reason);

/// The pattern that a sparse_tensor storage implies: the inverse of
/// toSparseTensorEncoding() up to the numbers. Null, with the reason, for
/// storages that imply none.
EncodingAttr
fromSparseTensorEncoding(sparse_tensor::SparseTensorEncodingAttr encoding,
                         std::string &reason);

} // namespace mlir::sparsepattern

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_ENCODINGS_H
