//===- FuzzNcu.cpp - The reader of ncu's tables on arbitrary bytes --------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "sparseditto/Runtime/NcuReport.h"
#include "sparseditto/Support/Counters.h"
#include <cmath>

using namespace sparseditto;
using namespace sparseditto::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<NcuReport> report = parseNcuCsv(text);
  if (!report) {
    checkError(report.takeError());
    return 0;
  }
  check(report->kernels.size() + report->messages.size() <=
            text.count('\n') + 1,
        "kernels and messages have lines of their own");
  for (const std::string &message : report->messages)
    checkMessage(message);
  for (const NcuKernel &kernel : report->kernels) {
    check(std::isfinite(kernel.microseconds), "a duration is finite");
    for (const auto &[name, value] : kernel.counters)
      check(!name.empty() && std::isfinite(value), "a counter is finite");
    check(kernel.counters.size() + absentCounters(kernel).size() >
              std::size(counter::all),
          "a counter is there or absent");
  }
  return 0;
}
