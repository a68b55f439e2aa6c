//===- ComputeSanitizer.h - NVIDIA's checker of kernels ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_COMPUTESANITIZER_H
#define SPARSEDITTO_TARGET_COMPUTESANITIZER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sparseditto {

/// The program: $SPARSEDITTO_COMPUTE_SANITIZER (and no other, if set), then
/// where ptxas is looked for. Empty if there is none.
std::string findComputeSanitizer();

/// "2025.3.1.0"
llvm::Expected<std::string> computeSanitizerVersion(llvm::StringRef path);

/// The arguments that run what follows them under `tool` ("memcheck",
/// "racecheck"). They make the exit code sanitizerErrorCode if it finds errors.
std::vector<std::string> computeSanitizerArguments(llvm::StringRef path,
                                                   llvm::StringRef tool);
constexpr int sanitizerErrorCode = 77;

struct SanitizerSummary {
  bool complete = false; ///< The last line, with the count, is there.
  uint64_t errors = 0;
  /// "Invalid __global__ write of size 4 bytes; at sd_csr+0x120"; empty if
  /// none.
  std::string first;
};
/// Reads what a tool wrote, between other output.
SanitizerSummary parseSanitizerOutput(llvm::StringRef output);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_COMPUTESANITIZER_H
