//===- FuzzPtxasLog.cpp - The log parser on arbitrary bytes ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Ptxas.h"
#include <cstdlib>

using namespace sparseditto;

static void check(bool condition) {
  if (!condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  PtxasReport report = parsePtxasLog(text);
  check(report.log == text);
  check(report.messages.size() <= 1000);
  // Every kernel and message comes from a line of its own.
  size_t lines = text.count('\n') + 1;
  check(report.kernels.size() + report.messages.size() <= lines);
  check(report.ok() == report.firstError().empty());
  for (const KernelResources &kernel : report.kernels)
    check(report.find(kernel.kernel, kernel.chip) != nullptr);
  return 0;
}
