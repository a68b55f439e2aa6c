//===- MatrixMarketValue.h - Numbers of .mtx files --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_MATRIXMARKETVALUE_H
#define SPARSEDITTO_LIB_IO_MATRIXMARKETVALUE_H

#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/StringRef.h"

namespace sparseditto {

enum class MatrixMarketField { Real, Integer, Pattern };

enum class ValueStatus { Ok, NotANumber, OutOfRange };

/// The type that holds every value of the field: f64, i64, f32 (pattern).
ElementType defaultType(MatrixMarketField field);

bool isSigned(ElementType type);

/// Stores the number as `type`. OutOfRange: it is too large, it is not an
/// integer although `type` is one, or it is not zero and would become zero.
ValueStatus parseMatrixMarketValue(llvm::StringRef token,
                                   MatrixMarketField field, ElementType type,
                                   uint8_t *dst);

/// Writes -src to dst; false if the type does not hold it.
bool negateValue(ElementType type, const uint8_t *src, uint8_t *dst);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_MATRIXMARKETVALUE_H
