//===- Job.h - One kernel to check and time, as files -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A job and its result are files, so that a kernel runs in a process that may
// crash or hang, on this machine or another. The result echoes the job's nonce:
// a worker that dies early, or a kernel that makes it write nonsense, gives a
// typed status and never a pass.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_JOB_H
#define SPARSEDITTO_RUNTIME_JOB_H

#include "sparseditto/Runtime/Measure.h"
#include "sparseditto/Runtime/ModuleJob.h"
#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Verify/Checker.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <atomic>
#include <string>
#include <vector>

namespace sparseditto {

struct Job {
  std::string nonce;
  std::string package; ///< Directory.
  std::string layer, symbol, chip;
  bool emulate = false;
  int device = 0; ///< GPU ordinal.
  /// Checked besides the hostile N, or instead of them.
  std::vector<int64_t> checkN;
  bool onlyGivenN = false;
  /// N that nobody can foresee, besides (CheckOptions).
  unsigned hiddenN = 3;
  int64_t hiddenLimit = 300;
  bool allVariants = true;
  int64_t maxOneHotLaunches = 1 << 20;
  std::vector<int64_t> timeN; ///< Empty: no timing.
  /// Symbol of another kernel of the layer and chip, verified before, that is
  /// timed in between; empty for none.
  std::string rival;
  /// Of all inputs. 0: runJob draws one, so that no kernel can know it.
  uint64_t seed = 0;
  /// Whether checkCandidateModule and checkCandidatePtx come first. Off only to
  /// show that the checks behind them hold.
  bool policy = true;
  /// Run this instead of a kernel of a package; only `seed` and it are read.
  std::optional<ModuleJob> module;

  /// For the emulator, which is thousands of times slower than a GPU: a few N
  /// around the tile sizes unless checkN has some, one hidden one, the variants
  /// in turn, a sample of the columns, and no times.
  void emulateBriefly();
  /// For tools that slow a kernel down: the first N alone, one variant, a few
  /// launches, no times.
  void shorten();

  llvm::json::Value toJSON() const;
  static llvm::Expected<Job> fromJSON(const llvm::json::Value &value);
};

enum class RunStatus : uint8_t {
  Verified,
  Executed, ///< A module ran to its end; nothing was compared.
  Illegal,  ///< Contains what no candidate may (CandidatePolicy.h); never ran.
  WrongResult,
  Nondeterministic,
  InputModified,
  OutOfBounds,
  LaunchFailed,
  LoadFailed,      ///< The driver or the emulator does not take the kernel.
  FasterThanFloor, ///< Right, but faster than memory allows.
  Crashed,    ///< The worker was ended by a signal or exited with an error.
  TimedOut,   ///< The worker was killed when its time was up.
  OverLimits, ///< It was killed for its memory, files, threads or output.
  Sanitizer,  ///< compute-sanitizer found an error.
  NoResult,   ///< The worker ended well and left no valid result.
  Error,      ///< The job could not be done (package, device, ...).
};
llvm::StringRef name(RunStatus status); ///< "verified", "wrong_result", ...
std::optional<RunStatus> parseRunStatus(llvm::StringRef text);
RunStatus runStatus(CheckStatus status);

struct JobResult {
  std::string nonce;
  RunStatus status = RunStatus::Error;
  std::string message;  ///< Empty if verified.
  std::string executor; ///< Where it ran.
  uint64_t seed = 0;    ///< The job's, to run it again.
  // Of the check.
  int64_t launches = 0, elements = 0, exactElements = 0, columnsProbed = 0;
  double maxErrorOverBound = 0;
  std::vector<int64_t> n;
  // As loaded; zero under emulation.
  int registers = 0, localBytes = 0, staticSharedBytes = 0;
  bool compiledByDriver = false;
  /// With a rival, the mean of the times before and after the rival's.
  std::vector<Measurement> measurements;
  std::vector<Measurement> rivals; ///< Of the rival, as `measurements`.
  std::optional<ModuleJobResult> module;
  double seconds = 0; ///< Wall time of the worker, filled in by the parent.
  int exitCode = 0;   ///< Of the worker or its wrapper; not in the JSON.
  /// Layers of the sandbox that the worker was without, with the reasons.
  std::string sandboxMissing;

  llvm::json::Value toJSON() const;
  static llvm::Expected<JobResult> fromJSON(const llvm::json::Value &value);
};

struct JobOptions {
  unsigned timeoutSeconds = 600;
  uint64_t memoryBytes = 0; ///< Resident; 0: defaultWorkerMemory().
  /// Of all files in the job's directory together, and how many.
  uint64_t directoryBytes = uint64_t(512) << 20;
  unsigned directoryFiles = 4096;
  /// The worker refuses to work without all layers of the sandbox.
  bool requireSandbox = false;
  /// Arguments to put before the program, which then runs the worker as its
  /// child: that of compute-sanitizer.
  std::vector<std::string> wrapper;
  /// Receives the first of what they wrote to stdout and stderr.
  std::string *output = nullptr;
  /// The worker is ended when this is set. May be null.
  const std::atomic<bool> *cancelled = nullptr;
};

/// Runs `program worker JOB RESULT` in a process group and a directory of its
/// own and reads what it left. Sets the job's nonce. Whatever goes wrong is a
/// status of the result.
JobResult runJob(llvm::StringRef program, Job job, const JobOptions &options);
inline JobResult runJob(llvm::StringRef program, Job job,
                        unsigned timeoutSeconds) {
  JobOptions options;
  options.timeoutSeconds = timeoutSeconds;
  return runJob(program, std::move(job), options);
}

/// Success unless the kernel's cubin claims to be made by the ptxas that is
/// here and is not what that makes of the kernel's PTX, or the PTX is no legal
/// candidate. Without ptxas, or with another version, the cubin stays unread.
llvm::Error checkPackagedCubin(const Package &package,
                               const KernelManifest &kernel);

/// runJob for one kernel of a package: fills in the job's package, symbol and
/// chip. On a GPU, a cubin that checkPackagedCubin refuses is `illegal`.
JobResult runPackageJob(llvm::StringRef program, const Package &package,
                        const KernelManifest &kernel, Job job,
                        const JobOptions &options);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_JOB_H
