//===- Error.h - Errors from a format string --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_ERROR_H
#define SPARSEDITTO_SUPPORT_ERROR_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace sparseditto {

/// An error whose message is llvm::formatv(format, values...): "{0}" and so on
/// stand for the values.
template <typename... Ts>
llvm::Error makeError(const char *format, Ts &&...values) {
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      llvm::formatv(format, std::forward<Ts>(values)...).str());
}

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_ERROR_H
