//===- WorkerProcess.cpp - The process a kernel runs in -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/WorkerProcess.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

using namespace sparseditto;

static constexpr uint64_t mebibyte = uint64_t(1) << 20;
// A result is 16 MB at most.
static constexpr uint64_t workerFileBytes = 256 * mebibyte;
static constexpr uint64_t workerOpenFiles = 1024;
static constexpr unsigned workerThreads = 4096;
static constexpr uint64_t workerOutputBytes = 64 * mebibyte;
static constexpr size_t workerKeptOutput = size_t(1) << 16;

//===----------------------------------------------------------------------===//
// Directories
//===----------------------------------------------------------------------===//

static constexpr char directoryPrefix[] = "sparseditto-job-";

/// A file of the kernel, whose size is not known before it is read.
static std::string fileText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// When the process started, in clock ticks after boot; empty if it is gone.
/// With its number, this names it for as long as the machine runs.
static std::string startTime(llvm::StringRef pid) {
  std::string text = fileText(("/proc/" + pid + "/stat").str());
  // The second field is the program's name, with whatever characters.
  llvm::SmallVector<llvm::StringRef> fields;
  llvm::StringRef(text).rsplit(')').second.split(fields, ' ', -1, false);
  // A zombie no longer looks after anything.
  return fields.size() > 19 && fields[0] != "Z" ? fields[19].str() : "";
}

/// The namespace that process numbers are of: a temporary directory may be
/// shared with a container. "4026531836"
static std::string pidNamespace() {
  struct stat status;
  return stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino)
                                                 : "0";
}

static std::string temporaryDirectory() {
  llvm::SmallString<128> path;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  return std::string(path);
}

llvm::Expected<JobDirectory> JobDirectory::create() {
  std::string self = std::to_string(getpid());
  std::string path = temporaryDirectory() + "/" + directoryPrefix +
                     pidNamespace() + "-" + self + "-" + startTime(self) +
                     "-XXXXXX";
  if (!mkdtemp(path.data()))
    return makeError("cannot make a job directory {0}: {1}", path,
                     std::strerror(errno));
  return JobDirectory(path);
}

JobDirectory::JobDirectory(JobDirectory &&other)
    : folder(std::move(other.folder)) {
  other.folder.clear();
}

JobDirectory::~JobDirectory() {
  if (!folder.empty())
    llvm::sys::fs::remove_directories(folder);
}

void sparseditto::removeAbandonedJobDirectories() {
  std::string here = pidNamespace();
  std::error_code code;
  llvm::sys::fs::directory_iterator entry(temporaryDirectory(), code, false),
      end;
  for (; !code && entry != end; entry.increment(code)) {
    llvm::StringRef name = llvm::sys::path::filename(entry->path());
    if (!name.consume_front(directoryPrefix))
      continue;
    // Namespace, process, start, random.
    llvm::SmallVector<llvm::StringRef> parts;
    name.split(parts, '-');
    unsigned pid = 0;
    if (parts.size() != 4 || parts[0] != here || parts[2].empty() ||
        parts[1].getAsInteger(10, pid) || startTime(parts[1]) == parts[2])
      continue;
    struct stat status;
    if (lstat(entry->path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        status.st_uid == geteuid())
      llvm::sys::fs::remove_directories(entry->path());
  }
}

//===----------------------------------------------------------------------===//
// The environment
//===----------------------------------------------------------------------===//

static bool passesOn(llvm::StringRef variable) {
  for (const char *word : {"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"})
    if (variable.contains_insensitive(word))
      return false;
  static const llvm::StringRef names[] = {"PATH",
                                          "HOME",
                                          "USER",
                                          "LANG",
                                          "TZ",
                                          "TERM",
                                          "LD_LIBRARY_PATH",
                                          "VIRTUAL_ENV",
                                          "CONDA_PREFIX"};
  static const llvm::StringRef prefixes[] = {
      "LC_",   "CUDA_",  "CUBLAS", "NVIDIA_", "SPARSEDITTO_", "ASAN_",
      "LSAN_", "UBSAN_", "TSAN_",  "MSAN_",   "LLVM_"};
  return llvm::is_contained(names, variable) ||
         llvm::any_of(prefixes, [&](llvm::StringRef prefix) {
           return variable.starts_with(prefix);
         });
}

std::vector<std::string>
sparseditto::workerEnvironment(llvm::StringRef directory) {
  std::vector<std::string> variables;
  for (char **entry = environ; entry && *entry; ++entry) {
    llvm::StringRef variable = llvm::StringRef(*entry).split('=').first;
    if (passesOn(variable) && variable != "CUDA_CACHE_DISABLE" &&
        variable != "CUDA_CACHE_PATH")
      variables.push_back(*entry);
  }
  variables.push_back(("TMPDIR=" + directory).str());
  // It lies in the home directory, which is read-only; a cache that dies with
  // the job is of no use.
  variables.push_back("CUDA_CACHE_DISABLE=1");
  return variables;
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

uint64_t sparseditto::defaultWorkerMemory() {
  uint64_t bytes =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  for (const char *path : {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    uint64_t limit = 0;
    // "max" is no number.
    if (!llvm::StringRef(fileText(path)).trim().getAsInteger(10, limit))
      bytes = std::min(bytes, limit);
  }
  return bytes / 4 * 3;
}

ProcessOptions sparseditto::workerOptions(llvm::StringRef directory,
                                          unsigned timeoutSeconds,
                                          uint64_t memoryBytes) {
  ProcessOptions options;
  options.timeoutSeconds = timeoutSeconds;
  options.maxOutput = workerKeptOutput;
  options.limits.outputBytes = workerOutputBytes;
  options.limits.memoryBytes = memoryBytes;
  options.limits.threads = workerThreads;
  options.limits.directory = directory.str();
  return options;
}

llvm::Expected<SandboxOptions>
sparseditto::workerSandbox(llvm::StringRef directory, bool gpu,
                           uint64_t cpuSeconds) {
  llvm::Expected<SandboxLayers> off = sandboxLayersTurnedOff();
  if (!off)
    return off.takeError();
  SandboxOptions options;
  options.directory = directory.str();
  options.gpu = gpu;
  options.cpuSeconds = cpuSeconds;
  options.fileBytes = workerFileBytes;
  options.openFiles = workerOpenFiles;
  options.off = *off;
  return options;
}
