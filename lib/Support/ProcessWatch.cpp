//===- ProcessWatch.cpp - What a running program uses ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessWatch.h"
#include "llvm/Support/FileSystem.h"
#include <cstdio>
#include <sys/stat.h>

using namespace sparseditto;

/// "312 MB of memory, 256 MB allowed"
static std::string megabytes(const char *what, uint64_t used, uint64_t limit) {
  return std::to_string(used >> 20) + " MB of " + what + ", " +
         std::to_string(limit >> 20) + " MB allowed";
}

static std::string exceededByProcess(pid_t pid, const ProcessLimits &limits) {
  // Once the process is gone, there is nothing to read.
  FILE *file =
      std::fopen(("/proc/" + std::to_string(pid) + "/status").c_str(), "re");
  if (!file)
    return "";
  unsigned long long resident = 0, anonymous = 0, shared = 0, threads = 0;
  char line[256];
  while (std::fgets(line, sizeof(line), file)) {
    std::sscanf(line, "VmRSS: %llu kB", &resident);
    std::sscanf(line, "RssAnon: %llu kB", &anonymous);
    std::sscanf(line, "RssShmem: %llu kB", &shared);
    std::sscanf(line, "Threads: %llu", &threads);
  }
  std::fclose(file);
  // A kernel without the parts (gVisor) tells the sum.
  const uint64_t memory =
      (anonymous + shared != 0 ? anonymous + shared : resident) * 1024;
  if (limits.memoryBytes && memory > limits.memoryBytes)
    return megabytes("memory", memory, limits.memoryBytes);
  if (limits.threads && threads > limits.threads)
    return std::to_string(threads) + " threads, " +
           std::to_string(limits.threads) + " allowed";
  return "";
}

static std::string exceededByFiles(const ProcessLimits &limits) {
  uint64_t bytes = 0;
  unsigned files = 0;
  std::error_code code;
  llvm::sys::fs::recursive_directory_iterator entry(limits.directory, code,
                                                    /*follow_symlinks=*/false),
      end;
  // An error is a file that was there a moment ago.
  for (; !code && entry != end; entry.increment(code)) {
    struct stat status;
    if (lstat(entry->path().c_str(), &status) == 0)
      bytes += uint64_t(status.st_blocks) * 512;
    if (limits.directoryFiles && ++files > limits.directoryFiles)
      return "more than " + std::to_string(limits.directoryFiles) + " files";
    if (limits.directoryBytes && bytes > limits.directoryBytes)
      return megabytes("files", bytes, limits.directoryBytes);
  }
  return "";
}

std::string sparseditto::exceededLimit(pid_t pid, const ProcessLimits &limits,
                                       uint64_t output) {
  if (limits.outputBytes && output > limits.outputBytes)
    return megabytes("output", output, limits.outputBytes);
  std::string text;
  if (limits.memoryBytes || limits.threads)
    text = exceededByProcess(pid, limits);
  if (text.empty() && !limits.directory.empty())
    text = exceededByFiles(limits);
  return text;
}
