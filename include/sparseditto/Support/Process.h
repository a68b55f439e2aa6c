//===- Process.h - Running another program ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_PROCESS_H
#define SPARSEDITTO_SUPPORT_PROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace sparseditto {

struct ProcessResult {
  int exitCode = 0;       ///< 128 + the signal for a program killed by one.
  int signal = 0;         ///< 0 if it ended by itself.
  bool timedOut = false;  ///< It and its children were killed.
  bool truncated = false; ///< It wrote more than the limit.
  bool cancelled = false; ///< As timedOut, by ProcessOptions::cancelled.
  /// As timedOut, for this: "312 MB of memory, 256 MB allowed". Else empty.
  std::string overLimit;
  std::string output; ///< stdout and stderr, in the order written.
  std::string errors; ///< stderr, where it is kept apart.
  double seconds = 0; ///< Wall time.
};

/// What a program may use; one that uses more is killed with its group. Looked
/// at every few milliseconds, so that it may briefly be exceeded. 0: no limit.
struct ProcessLimits {
  uint64_t outputBytes = 0; ///< Written to all streams together.
  /// Resident memory that is not a file's, of the program itself. Address space
  /// would be the wrong measure: a CUDA driver reserves terabytes of it.
  uint64_t memoryBytes = 0;
  unsigned threads = 0;
  /// All files below this directory together.
  std::string directory;
  uint64_t directoryBytes = 0;
  unsigned directoryFiles = 0;
};

struct ProcessOptions {
  llvm::StringRef input;              ///< stdin, a file; none: empty.
  bool separateErrors = false;        ///< Keep stderr out of `output`.
  double timeoutSeconds = 0;          ///< 0 = no limit.
  size_t maxOutput = size_t(4) << 20; ///< Of each stream.
  const std::atomic<bool> *cancelled = nullptr; ///< Looked at all the time.
  /// "NAME=value", instead of the environment of this process.
  const std::vector<std::string> *environment = nullptr;
  ProcessLimits limits;
};

/// Runs `args` (args[0] is the program's path) with empty stdin and no other
/// inherited file in its own process group, keeps up to `maxOutput` bytes of
/// what it writes and throws the rest away. After `timeoutSeconds` (0 = no
/// limit) the whole group is killed; the program is killed as well when the
/// calling thread dies. An Error means that it could not be started.
llvm::Expected<ProcessResult> runProcess(llvm::ArrayRef<std::string> args,
                                         unsigned timeoutSeconds,
                                         size_t maxOutput = size_t(4) << 20);

/// The same with more to choose.
llvm::Expected<ProcessResult> runProcess(llvm::ArrayRef<std::string> args,
                                         const ProcessOptions &options);

/// Runs `body` in a forked copy of this process, which a crash of the code
/// cannot leave: the child has its own process group, default signal actions,
/// no core dumps and at most `memoryBytes` of address space more than now (0 =
/// no limit). `body` gets a file to write its result to and returns an exit
/// code; `payload` receives the file. stdout and stderr end up in `output`.
///
/// Only the calling thread exists in the child: `body` must not wait for others
/// (an MLIR context of its own, without threads, is fine).
llvm::Expected<ProcessResult>
runForked(llvm::function_ref<int(int resultFile)> body, unsigned timeoutSeconds,
          uint64_t memoryBytes, std::string &payload,
          size_t maxOutput = size_t(1) << 20);

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_PROCESS_H
