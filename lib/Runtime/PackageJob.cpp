//===- PackageJob.cpp - A package's kernel as a job -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Target/CandidatePolicy.h"
#include "sparseditto/Target/Ptxas.h"

using namespace sparseditto;

llvm::Error sparseditto::checkPackagedCubin(const Package &package,
                                            const KernelManifest &kernel) {
  if (kernel.cubinFile.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> cubin =
      readPackageFile(package, kernel.cubinFile);
  if (!cubin)
    return cubin.takeError();
  llvm::Expected<std::string> ptx = readPackageFile(package, kernel.ptxFile);
  if (!ptx)
    return ptx.takeError();
  // The worker says the same; but nothing goes to ptxas before.
  if (llvm::Error error = checkCandidatePtx(*ptx, kernel))
    return makeError("{0}: {1}", kernel.ptxFile,
                     llvm::toString(std::move(error)));
  PtxasOptions options;
  options.path = findPtxas();
  if (options.path.empty())
    return llvm::Error::success();
  llvm::Expected<PtxasVersion> version = ptxasVersion(options.path);
  if (!version)
    return version.takeError();
  // Another ptxas makes other code of the same text, which proves nothing.
  if (version->build.empty() ||
      !llvm::StringRef(*cubin).contains(version->build))
    return llvm::Error::success();
  std::string again;
  llvm::Expected<PtxasReport> report =
      runPtxas(*ptx, kernel.chip, options, &again);
  if (!report)
    return report.takeError();
  if (again == *cubin)
    return llvm::Error::success();
  return makeError("{0} is not what ptxas ({1}) makes of {2}; without it the "
                   "driver compiles the PTX",
                   kernel.cubinFile, version->build, kernel.ptxFile);
}

JobResult sparseditto::runPackageJob(llvm::StringRef program,
                                     const Package &package,
                                     const KernelManifest &kernel, Job job,
                                     const JobOptions &options) {
  job.package = package.directory;
  job.symbol = kernel.symbol;
  job.chip = kernel.chip;
  if (job.policy && !job.emulate)
    if (llvm::Error error = checkPackagedCubin(package, kernel)) {
      JobResult refused;
      refused.status = RunStatus::Illegal;
      refused.message = llvm::toString(std::move(error));
      refused.seed = job.seed;
      return refused;
    }
  return runJob(program, std::move(job), options);
}
