//===- SanitizeJob.cpp - A kernel under compute-sanitizer -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/SanitizeJob.h"
#include "sparseditto/Target/ComputeSanitizer.h"

using namespace sparseditto;

JobResult sparseditto::sanitizeJob(llvm::StringRef program, Job job,
                                   const JobOptions &options,
                                   llvm::StringRef sanitizer) {
  job.shorten();
  JobResult result;
  for (const char *tool : {"memcheck", "racecheck"}) {
    JobOptions wrapped = options;
    wrapped.wrapper = computeSanitizerArguments(sanitizer, tool);
    std::string output;
    wrapped.output = &output;
    result = runJob(program, job, wrapped);
    SanitizerSummary summary = parseSanitizerOutput(output);
    // The exit code counts as well: a kernel may print a summary of its own.
    const bool found =
        summary.errors != 0 || result.exitCode == sanitizerErrorCode;
    if (found) {
      result.status = RunStatus::Sanitizer;
      result.message = std::string(tool) + " found " +
                       std::to_string(summary.errors) + " errors, the first: " +
                       (summary.first.empty() ? "not named" : summary.first);
      return result;
    }
    if (result.status != RunStatus::Verified) {
      result.message = std::string(tool) + ": " + result.message;
      return result;
    }
    if (!summary.complete) {
      result.status = RunStatus::Error;
      result.message = std::string(tool) + " gave no summary";
      return result;
    }
  }
  return result;
}
