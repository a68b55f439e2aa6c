//===- ProfileJob.cpp - A worker under Nsight Compute ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/ProfileJob.h"
#include "sparseditto/Support/Error.h"

using namespace sparseditto;

llvm::Expected<NcuKernel> sparseditto::profileJob(llvm::StringRef program,
                                                  Job job,
                                                  const JobOptions &options) {
  job.shorten();
  job.hiddenN = 0;
  auto report = profileWith(
      [&](std::vector<std::string> arguments) -> llvm::Expected<NcuOutput> {
        JobOptions wrapped = options;
        wrapped.wrapper = std::move(arguments);
        NcuOutput output;
        wrapped.output = &output.text;
        JobResult result = runJob(program, job, wrapped);
        if (result.status == RunStatus::TimedOut)
          return makeError("ncu: {0}", result.message);
        output.exitCode = result.exitCode;
        return output;
      },
      job.symbol, /*skip=*/0);
  if (!report)
    return report.takeError();
  return *report->find(job.symbol);
}
