//===- FuzzPtxasLog.cpp - The log parser on arbitrary bytes ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "sparseditto/Target/Ptxas.h"

using namespace sparseditto;
using namespace sparseditto::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  PtxasReport report = parsePtxasLog(text);
  check(report.log == text, "the log is kept");
  check(report.messages.size() <= 1000, "messages are bounded");
  size_t lines = text.count('\n') + 1;
  check(report.kernels.size() + report.messages.size() <= lines,
        "kernels and messages have lines of their own");
  check(report.ok() == report.firstError().empty(), "a failure has an error");
  for (const KernelResources &kernel : report.kernels)
    check(report.find(kernel.kernel, kernel.chip) != nullptr,
          "a kernel is found by its name");
  return 0;
}
