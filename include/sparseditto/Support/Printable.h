//===- Printable.h - Text from outside in messages --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_PRINTABLE_H
#define SPARSEDITTO_SUPPORT_PRINTABLE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace sparseditto {

/// Text from a file, safe and short enough for a message: control and
/// non-ASCII bytes, quotes and backslashes escaped, cut after `limit` bytes.
std::string printable(llvm::StringRef text, size_t limit = 60);

/// A whole message that quotes text from outside, on one line: every byte that
/// is not printable ASCII is a space, and it is cut after `limit` bytes.
std::string printableLine(llvm::StringRef text, size_t limit = 400);

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_PRINTABLE_H
