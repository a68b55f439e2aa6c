//===- ResultLog.h - Results that outlive their run -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line of JSON for each job that is done, on the disk before the next one
// starts. A run that is killed has lost the job it was at; another run goes on
// from there.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_RESULTLOG_H
#define SPARSEDITTO_RUNTIME_RESULTLOG_H

#include "sparseditto/Runtime/Job.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>

namespace sparseditto {

/// Whether a result says something about the kernel, so that the job need not
/// be done again. A worker that crashed or left nothing may have been the
/// victim of somebody else.
bool isFinished(RunStatus status);

/// A digest of everything in the package's directory.
llvm::Expected<std::string> packageDigest(llvm::StringRef directory);

class ResultLog {
public:
  /// Opens or makes the file. `environment` is what results depend on besides
  /// the job: the package's digest, the device, ... With `resume` the results
  /// of the same environment that stand in the file are found again. A file
  /// with other contents is an error, a torn or damaged line is not.
  static llvm::Expected<ResultLog>
  open(llvm::StringRef path, llvm::StringRef environment, bool resume);
  ResultLog(ResultLog &&other);
  ResultLog &operator=(ResultLog &&) = delete;
  ~ResultLog();

  /// The last result of this job if it is finished, else null. The nonce and
  /// the path of the package are no part of the job.
  const JobResult *find(const Job &job, const JobOptions &options) const;
  /// On the disk when it returns.
  llvm::Error append(const Job &job, const JobOptions &options,
                     const JobResult &result);

private:
  ResultLog(int fd, llvm::StringRef path, llvm::StringRef environment)
      : fd(fd), path(path), environment(environment) {}
  llvm::Error read();
  std::string key(const Job &job, const JobOptions &options) const;

  int fd;
  std::string path, environment;
  llvm::StringMap<JobResult> finished;
  /// The file ends in the middle of a line.
  bool torn = false;
};

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_RESULTLOG_H
