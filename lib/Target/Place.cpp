//===- Place.cpp - Where an operation comes from --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Place.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

std::string sparseditto::placeOf(Location loc) {
  std::string place;
  loc->walk([&](Location part) {
    auto line = dyn_cast<FileLineColLoc>(part);
    if (!line)
      return WalkResult::advance();
    place = llvm::formatv("{0}:{1}:{2}", line.getFilename().getValue(),
                          line.getLine(), line.getColumn());
    return WalkResult::interrupt();
  });
  return place.empty() ? "unknown" : place;
}
