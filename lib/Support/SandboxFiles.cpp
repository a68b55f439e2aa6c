//===- SandboxFiles.cpp - Files and mounts in the sandbox -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Landlock and mount_setattr by number and layout: the kernel that runs this
// may be newer than the headers that it was built with.
//

#include "SandboxLayers.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::sandbox;

//===----------------------------------------------------------------------===//
// Mounts
//===----------------------------------------------------------------------===//

namespace {
struct MountAttributes {
  uint64_t set = 0, clear = 0, propagation = 0, userNamespace = 0;
};
} // namespace

static constexpr long mountSetattr = 442;
static constexpr uint64_t readOnly = 1;       // MOUNT_ATTR_RDONLY
static constexpr unsigned recursive = 0x8000; // AT_RECURSIVE
static constexpr char sharedMemory[] = "/dev/shm";

/// Where a process names its threads, which CUDA's driver does: cuInit fails
/// (CUDA_ERROR_OPERATING_SYSTEM) when it cannot write to <thread>/comm here.
/// Whatever else is in it is of this process alone.
static std::string threadFiles() {
  return "/proc/" + std::to_string(getpid()) + "/task";
}

static bool setAttributes(const char *path, unsigned flags,
                          MountAttributes attributes) {
  return syscall(mountSetattr, AT_FDCWD, path, flags, &attributes,
                 sizeof(attributes)) == 0;
}

Layer sandbox::makeMountsReadOnly(const SandboxOptions &options) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return failed("mount");
  const char *directory = options.directory.c_str();
  // A mount of its own, which may stay writable.
  if (*directory && mount(directory, directory, nullptr, MS_BIND, nullptr) != 0)
    return failed("mount");
  const std::string threads = options.gpu ? threadFiles() : "";
  if (options.gpu &&
      mount(threads.c_str(), threads.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return failed("mount of /proc/self/task");
  if (!setAttributes("/", recursive, {.set = readOnly}))
    return failed("mount_setattr");
  if (*directory && !setAttributes(directory, 0, {.clear = readOnly}))
    return failed("mount_setattr");
  if (options.gpu && !setAttributes(threads.c_str(), 0, {.clear = readOnly}))
    return failed("mount_setattr of /proc/self/task");
  if (options.gpu && access(sharedMemory, F_OK) == 0) {
    std::string size = "mode=1777,size=" + std::to_string(uint64_t(256) << 20);
    if (mount("tmpfs", sharedMemory, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              size.c_str()) != 0)
      return failed("mount of a private /dev/shm");
  }
  return {true, ""};
}

//===----------------------------------------------------------------------===//
// Landlock
//===----------------------------------------------------------------------===//

namespace {
enum FileAccess : uint64_t {
  Execute = 1 << 0,
  WriteFile = 1 << 1,
  ReadFile = 1 << 2,
  ReadDir = 1 << 3,
  RemoveDir = 1 << 4,
  RemoveFile = 1 << 5,
  MakeDir = 1 << 7,
  MakeRegular = 1 << 8,
  AllOfAbi1 = (1 << 13) - 1,
  Refer = 1 << 13,    // ABI 2
  Truncate = 1 << 14, // ABI 3
};
struct Ruleset {
  uint64_t files = 0;
  uint64_t network = 0; // ABI 4
  uint64_t scoped = 0;  // ABI 6
};
struct __attribute__((packed)) PathRule {
  uint64_t allowed = 0;
  int32_t parent = -1;
};
} // namespace

static constexpr long createRuleset = 444, addRule = 445, restrictSelf = 446;
static constexpr unsigned askAbi = 1, pathRule = 1;

/// Allows `access` below `path`; what does not exist needs no rule. A rule
/// holds for the inode that it names, which procfs makes anew unless somebody
/// keeps it: `keep` leaves the file open for the life of the process.
static bool allow(int ruleset, const std::string &path, uint64_t access,
                  bool keep = false) {
  int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
  PathRule rule;
  rule.allowed = access;
  rule.parent = fd;
  bool good = syscall(addRule, ruleset, pathRule, &rule, 0) == 0;
  int code = errno;
  if (!keep)
    close(fd);
  errno = code;
  return good;
}

/// Device files that a driver opens for writing.
static std::vector<std::string> deviceFiles(bool gpu) {
  std::vector<std::string> files = {"/dev/null", "/dev/zero"};
  if (!gpu)
    return files;
  // /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm; /dev/nvmap and /dev/nvhost-*
  // of embedded boards; /dev/dxg under WSL.
  if (DIR *devices = opendir("/dev")) {
    while (const dirent *entry = readdir(devices)) {
      llvm::StringRef file = entry->d_name;
      if (file.starts_with("nvidia") || file.starts_with("nvhost") ||
          file == "nvmap" || file == "dxg")
        files.push_back(("/dev/" + file).str());
    }
    closedir(devices);
  }
  return files;
}

Layer sandbox::restrictFiles(const SandboxOptions &options, bool privateShm) {
  long abi = syscall(createRuleset, nullptr, 0, askAbi);
  if (abi < 1)
    return failed("landlock_create_ruleset");
  abi = std::min(abi, long(options.landlockAbi));
  if (abi < 1)
    return {false, "its use is turned off"};
  Ruleset attributes;
  attributes.files = AllOfAbi1;
  if (abi >= 2)
    attributes.files |= Refer;
  if (abi >= 3)
    attributes.files |= Truncate;
  size_t size = 8;
  if (abi >= 4) {
    attributes.network = 3; // Binding to and connecting by TCP.
    size = 16;
  }
  if (abi >= 6) {
    attributes.scoped = 3; // Abstract sockets and signals of other processes.
    size = 24;
  }
  int ruleset = int(syscall(createRuleset, &attributes, size, 0));
  if (ruleset < 0)
    return failed("landlock_create_ruleset");
  const uint64_t reading = ReadFile | ReadDir;
  const uint64_t everything = (reading | WriteFile | RemoveDir | RemoveFile |
                               MakeDir | MakeRegular | Refer | Truncate) &
                              attributes.files;
  bool good = allow(ruleset, "/", reading);
  if (!options.directory.empty())
    good = good && allow(ruleset, options.directory, everything);
  if (options.gpu && privateShm)
    good = good && allow(ruleset, sharedMemory, everything);
  if (options.gpu)
    good = good && allow(ruleset, threadFiles(),
                         (WriteFile | Truncate) & attributes.files,
                         /*keep=*/true);
  for (const std::string &file : deviceFiles(options.gpu))
    // /dev/nvidia-caps is a directory of device files.
    good = good && allow(ruleset, file, WriteFile);
  Layer layer;
  if (!good)
    layer = failed("landlock_add_rule");
  else if (syscall(restrictSelf, ruleset, 0) != 0)
    layer = failed("landlock_restrict_self");
  else
    layer = {true, "ABI " + std::to_string(abi)};
  close(ruleset);
  return layer;
}
