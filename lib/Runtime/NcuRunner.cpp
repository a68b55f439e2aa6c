//===- NcuRunner.cpp - Running a program under Nsight Compute -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/NcuReport.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/Process.h"
#include "sparseditto/Target/Programs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>

using namespace sparseditto;

std::string sparseditto::findNcu() {
  if (const char *path = std::getenv("SPARSEDITTO_NCU"); path && *path)
    return isProgram(path) ? path : "";
  return findToolkitProgram("ncu");
}

/// Takes out of `metrics` those that ncu says the chip does not have.
static bool dropUnknown(std::string &metrics, llvm::StringRef output) {
  llvm::SmallVector<llvm::StringRef> names, lines;
  llvm::StringRef(metrics).split(names, ',');
  output.split(lines, '\n');
  const size_t before = names.size();
  llvm::erase_if(names, [&](llvm::StringRef name) {
    return llvm::any_of(lines, [&](llvm::StringRef line) {
      return line.contains("==ERROR==") && line.contains(name);
    });
  });
  if (names.empty() || names.size() == before)
    return false;
  metrics = llvm::join(names, ",");
  return true;
}

llvm::Expected<NcuReport>
sparseditto::profileWith(NcuRun run, llvm::StringRef symbol, unsigned skip) {
  const std::string ncu = findNcu();
  if (ncu.empty())
    return makeError("ncu not found in $SPARSEDITTO_NCU, $CUDA_HOME, PATH or "
                     "/usr/local/cuda");
  std::string metrics = ncuMetrics();
  while (true) {
    llvm::Expected<NcuOutput> output =
        run({ncu, "--csv", "--print-units", "base", "--clock-control", "none",
             "--target-processes", "all", "--kernel-name", symbol.str(),
             "--launch-skip", std::to_string(skip), "--launch-count", "1",
             "--metrics", metrics});
    if (!output)
      return output.takeError();
    llvm::Expected<NcuReport> report = parseNcuCsv(output->text);
    if (report && report->find(symbol))
      return report;
    if (report)
      report = makeError("ncu saw no launch of '{0}'", symbol);
    // Each time round there are fewer metrics.
    if (dropUnknown(metrics, output->text)) {
      llvm::consumeError(report.takeError());
      continue;
    }
    return makeError("ncu, exit code {0}: {1}", output->exitCode,
                     llvm::toString(report.takeError()));
  }
}

llvm::Expected<NcuReport>
sparseditto::profile(llvm::ArrayRef<std::string> command,
                     llvm::StringRef symbol, unsigned skip,
                     unsigned timeoutSeconds) {
  return profileWith(
      [&](std::vector<std::string> args) -> llvm::Expected<NcuOutput> {
        llvm::append_range(args, command);
        llvm::Expected<ProcessResult> result =
            runProcess(args, timeoutSeconds, size_t(16) << 20);
        if (!result)
          return result.takeError();
        if (result->timedOut)
          return makeError("ncu did not finish in {0} s", timeoutSeconds);
        return NcuOutput{std::move(result->output), result->exitCode};
      },
      symbol, skip);
}
