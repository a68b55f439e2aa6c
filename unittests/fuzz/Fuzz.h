//===- Fuzz.h - What the fuzz targets share --------------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_FUZZ_FUZZ_H
#define SPARSEDITTO_UNITTESTS_FUZZ_FUZZ_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include <cstdio>
#include <cstdlib>

namespace sparseditto::fuzz {

/// Ends the process, as a finding, unless `condition` holds. `property` says
/// what was promised.
inline void check(bool condition, const char *property) {
  if (condition)
    return;
  std::fprintf(stderr, "check failed: %s\n", property);
  std::abort();
}

/// A message about hostile input is one line of printable ASCII and does not
/// repeat the input at length.
inline void checkMessage(llvm::StringRef message) {
  bool ok = !message.empty() && message.size() <= 4096 &&
            llvm::all_of(message, [](char c) { return llvm::isPrint(c); });
  if (!ok)
    std::fprintf(stderr, "message: %s\n",
                 message.take_front(8192).str().c_str());
  check(ok, "an error is one printable line");
}

/// Consumes it; it starts with `where`.
inline void checkError(llvm::Error error, llvm::StringRef where = "") {
  std::string message = llvm::toString(std::move(error));
  checkMessage(message);
  check(llvm::StringRef(message).starts_with(where),
        "an error starts with where it is");
}

} // namespace sparseditto::fuzz

#endif // SPARSEDITTO_UNITTESTS_FUZZ_FUZZ_H
