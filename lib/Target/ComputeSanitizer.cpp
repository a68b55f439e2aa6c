//===- ComputeSanitizer.cpp - NVIDIA's checker of kernels -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/ComputeSanitizer.h"
#include "Toolkit.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/Process.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdlib>

using namespace sparseditto;

std::string sparseditto::findComputeSanitizer() {
  if (const char *path = std::getenv("SPARSEDITTO_COMPUTE_SANITIZER"))
    return isProgram(path) ? path : "";
  return findToolkitProgram("compute-sanitizer");
}

llvm::Expected<std::string>
sparseditto::computeSanitizerVersion(llvm::StringRef path) {
  auto result = runProcess({path.str(), "--version"}, /*timeoutSeconds=*/20);
  if (!result)
    return result.takeError();
  // "Version 2025.3.1.0 (build 36535361) (public-release)"
  auto [before, after] = llvm::StringRef(result->output).split("Version ");
  llvm::StringRef version = after.take_while(
      [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (result->exitCode != 0 || version.empty())
    return makeError("{0} --version ends with code {1} and names no version",
                     path, result->exitCode);
  return version.str();
}

std::vector<std::string>
sparseditto::computeSanitizerArguments(llvm::StringRef path,
                                       llvm::StringRef tool) {
  // One error refuses a kernel; thousands would push the summary out of what
  // is kept of the output.
  return {path.str(),
          "--tool",
          tool.str(),
          "--error-exitcode",
          std::to_string(sanitizerErrorCode),
          "--print-limit",
          "10"};
}

SanitizerSummary sparseditto::parseSanitizerOutput(llvm::StringRef output) {
  SanitizerSummary summary;
  llvm::SmallVector<llvm::StringRef> lines;
  output.split(lines, '\n');
  bool wantsPlace = false;
  for (llvm::StringRef line : lines) {
    if (!line.consume_front("========="))
      continue;
    const bool detail = line.starts_with("     ");
    line = line.trim();
    // "ERROR SUMMARY: 3 errors" and
    // "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"; the last
    // one counts.
    if (size_t at = line.find("SUMMARY: "); at != llvm::StringRef::npos) {
      bool race = line.starts_with("RACECHECK");
      llvm::StringRef count =
          race ? line.split('(').second : line.drop_front(at + 9);
      summary.complete = !count.consumeInteger(10, summary.errors) &&
                         count.starts_with(" error");
      continue;
    }
    // The first message, and where it is.
    if (summary.first.empty() && !detail && !line.empty() &&
        line != "COMPUTE-SANITIZER") {
      summary.first = line.take_front(300).str();
      wantsPlace = true;
    } else if (wantsPlace && detail && line.starts_with("at ")) {
      summary.first += "; " + line.take_front(300).str();
      wantsPlace = false;
    }
  }
  return summary;
}
