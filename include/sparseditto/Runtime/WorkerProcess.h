//===- WorkerProcess.h - The process a kernel runs in -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What parent and worker agree on: the directory of a job, the environment, and
// what the worker may use (docs/Runtime.md, "The sandbox").
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_WORKERPROCESS_H
#define SPARSEDITTO_RUNTIME_WORKERPROCESS_H

#include "sparseditto/Support/Process.h"
#include "sparseditto/Support/Sandbox.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace sparseditto {

/// A directory for one job, readable by this user alone, removed with the
/// object. Its name tells its process: a parent that was killed cannot remove
/// it, so another one does.
class JobDirectory {
public:
  static llvm::Expected<JobDirectory> create();
  JobDirectory(JobDirectory &&other);
  JobDirectory &operator=(JobDirectory &&) = delete;
  ~JobDirectory();

  llvm::StringRef path() const { return folder; }
  std::string file(llvm::StringRef name) const {
    return folder + "/" + name.str();
  }

private:
  explicit JobDirectory(std::string folder) : folder(std::move(folder)) {}
  std::string folder;
};

/// Removes the directories of jobs whose process is gone.
void removeAbandonedJobDirectories();

/// Variables of this process that a worker needs: paths, locale, and those of
/// CUDA, Python's environments, sanitizers and this project; none whose name
/// speaks of a key, a token, a password or a secret. Temporary files go to
/// `directory`, and the driver keeps no compilation cache.
std::vector<std::string> workerEnvironment(llvm::StringRef directory);

/// Three quarters of the machine's memory, or of what the control group allows.
uint64_t defaultWorkerMemory();

/// How a worker runs, and the limits that its parent watches.
ProcessOptions workerOptions(llvm::StringRef directory, unsigned timeoutSeconds,
                             uint64_t memoryBytes);

/// The sandbox of a worker whose result goes to `directory`, with the layers
/// off that $SPARSEDITTO_SANDBOX_OFF names.
llvm::Expected<SandboxOptions> workerSandbox(llvm::StringRef directory,
                                             bool gpu, uint64_t cpuSeconds);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_WORKERPROCESS_H
