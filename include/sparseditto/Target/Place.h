//===- Place.h - Where an operation comes from -----------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_PLACE_H
#define SPARSEDITTO_TARGET_PLACE_H

#include "mlir/IR/Location.h"
#include <string>

namespace sparseditto {

/// The first place in a file that a location names, "model.mlir:15:11", or
/// "unknown".
std::string placeOf(mlir::Location loc);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_PLACE_H
