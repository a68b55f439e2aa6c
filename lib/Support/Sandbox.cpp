//===- Sandbox.cpp - A process that can do little harm --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/Sandbox.h"
#include "SandboxLayers.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::sandbox;

static constexpr struct {
  const char *name, *purpose;
} layerTexts[numSandboxLayers] = {
    {"pdeathsig", "killed when its parent dies"},
    {"no-new-privs", "no set-user-id programs"},
    {"capabilities", "no powers of root but reading"},
    {"rlimits", "CPU time, file size, open files, no core file"},
    {"mount-namespace", "read-only mounts, but for its directory"},
    {"landlock", "writes below its directory only"},
    {"network-namespace", "a network without devices"},
    {"seccomp", "no sockets, programs, processes, tracing, mounts"},
    {"local-sockets", "no connection to local sockets"},
};

llvm::StringRef sparseditto::name(SandboxLayer layer) {
  return layerTexts[size_t(layer)].name;
}

llvm::StringRef sparseditto::purpose(SandboxLayer layer) {
  return layerTexts[size_t(layer)].purpose;
}

llvm::Expected<SandboxLayers> sparseditto::sandboxLayersTurnedOff() {
  const char *value = std::getenv(sandboxOffVariable);
  SandboxLayers layers = 0;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(value ? value : "").split(words, ',', -1, false);
  for (llvm::StringRef word : words) {
    size_t i = 0;
    while (i < numSandboxLayers && word.trim() != layerTexts[i].name)
      ++i;
    if (i == numSandboxLayers) {
      std::string known;
      for (const auto &text : layerTexts)
        known += (known.empty() ? "" : ", ") + std::string(text.name);
      return makeError("${0} names '{1}', which is no layer of the sandbox "
                       "({2})",
                       sandboxOffVariable, word.trim(), known);
    }
    layers |= layerBit(SandboxLayer(i));
  }
  return layers;
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

std::vector<SandboxLayer> SandboxReport::missing() const {
  std::vector<SandboxLayer> result;
  for (SandboxLayer layer :
       {SandboxLayer::ParentDeath, SandboxLayer::NoNewPrivileges,
        SandboxLayer::Capabilities, SandboxLayer::ResourceLimits,
        SandboxLayer::SystemCalls, SandboxLayer::LocalSockets})
    if (!(*this)[layer].inForce)
      result.push_back(layer);
  if (!(*this)[SandboxLayer::Landlock].inForce &&
      !(*this)[SandboxLayer::MountNamespace].inForce) {
    result.push_back(SandboxLayer::Landlock);
    result.push_back(SandboxLayer::MountNamespace);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string SandboxReport::missingText() const {
  std::string text;
  for (SandboxLayer layer : missing()) {
    text += (text.empty() ? "" : ", ") + name(layer).str();
    text += " (" + (*this)[layer].detail + ")";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// The small layers
//===----------------------------------------------------------------------===//

Layer sandbox::failed(const char *call) {
  return {false, std::string(call) + ": " + std::strerror(errno)};
}

static Layer dieWithParent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return failed("prctl");
  // It may have died before the call, which then never fires.
  if (getppid() != parent)
    _exit(1);
  return {true, ""};
}

static Layer limitResources(const SandboxOptions &options) {
  bool good = true;
  auto limit = [&](auto resource, uint64_t value) {
    rlimit now;
    if (getrlimit(resource, &now) != 0) {
      good = false;
      return;
    }
    now.rlim_cur = std::min(now.rlim_max, rlim_t(value));
    // At the hard limit of CPU time comes SIGKILL, which does not tell why.
    now.rlim_max = std::min(now.rlim_max,
                            rlim_t(value) + (resource == RLIMIT_CPU ? 1 : 0));
    good &= setrlimit(resource, &now) == 0;
  };
  // A core file would be less than a page, and a core handler that reads from
  // a pipe is told not to start by just this number.
  limit(RLIMIT_CORE, 1);
  if (options.cpuSeconds)
    limit(RLIMIT_CPU, options.cpuSeconds);
  if (options.fileBytes)
    limit(RLIMIT_FSIZE, options.fileBytes);
  if (options.openFiles)
    limit(RLIMIT_NOFILE, options.openFiles);
  return good ? Layer{true, ""} : failed("setrlimit");
}

static Layer dropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0)
    return failed("capget");
  // Root reads files of other users, and packages may be such; writing is
  // what it must not do.
  const uint32_t kept = 1u << CAP_DAC_READ_SEARCH;
  data[0].effective &= kept;
  data[0].permitted &= kept;
  data[0].inheritable = 0;
  data[1] = {};
  if (syscall(SYS_capset, &header, data) != 0)
    return failed("capset");
  return {true, data[0].permitted ? "reading any file is kept" : ""};
}

static bool writeText(const char *path, const std::string &text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  bool good = write(fd, text.data(), text.size()) == ssize_t(text.size());
  close(fd);
  return good;
}

/// New namespaces by the rights at hand, or else in a user namespace.
static Layer newNamespaces(int flags) {
  if (unshare(flags) == 0)
    return {true, ""};
  if (errno != EPERM)
    return failed("unshare");
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | flags) != 0)
    return failed("unshare with a user namespace");
  // Files that the process makes shall have its owner.
  writeText("/proc/self/setgroups", "deny");
  std::string id = std::to_string(user);
  writeText("/proc/self/uid_map", id + " " + id + " 1");
  id = std::to_string(group);
  writeText("/proc/self/gid_map", id + " " + id + " 1");
  return {true, "in a user namespace"};
}

//===----------------------------------------------------------------------===//
// All together
//===----------------------------------------------------------------------===//

SandboxReport sparseditto::enterSandbox(const SandboxOptions &options) {
  const pid_t parent = getppid();
  SandboxReport report;
  auto wanted = [&](SandboxLayer layer) {
    if ((options.off & layerBit(layer)) == 0)
      return true;
    report[layer] = {false,
                     std::string("turned off by $") + sandboxOffVariable};
    return false;
  };
  if (wanted(SandboxLayer::ParentDeath))
    report[SandboxLayer::ParentDeath] = dieWithParent(parent);
  // Mounts and the network apart from each other: a system may grant one.
  auto enter = [&](SandboxLayer layer, int flag) {
    if (!wanted(layer))
      return;
    report[layer] = options.namespaces
                        ? newNamespaces(flag)
                        : Layer{false, "not used for a short-lived process"};
  };
  enter(SandboxLayer::NetworkNamespace, CLONE_NEWNET);
  enter(SandboxLayer::MountNamespace, CLONE_NEWNS);
  Layer &mounts = report[SandboxLayer::MountNamespace];
  if (mounts.inForce) {
    std::string how = mounts.detail;
    mounts = makeMountsReadOnly(options);
    if (mounts.inForce)
      mounts.detail = how;
  }
  if (wanted(SandboxLayer::ResourceLimits))
    report[SandboxLayer::ResourceLimits] = limitResources(options);
  if (wanted(SandboxLayer::Capabilities))
    report[SandboxLayer::Capabilities] = dropCapabilities();
  if (wanted(SandboxLayer::NoNewPrivileges))
    report[SandboxLayer::NoNewPrivileges] =
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? Layer{true, ""}
                                                    : failed("prctl");
  if (wanted(SandboxLayer::Landlock))
    report[SandboxLayer::Landlock] = restrictFiles(options, mounts.inForce);
  // A change of rights forgets the signal.
  if (report[SandboxLayer::ParentDeath].inForce)
    report[SandboxLayer::ParentDeath] = dieWithParent(parent);
  // Last: what comes before needs calls that it refuses.
  const bool localSockets = wanted(SandboxLayer::LocalSockets);
  if (wanted(SandboxLayer::SystemCalls))
    report[SandboxLayer::SystemCalls] =
        filterSystemCalls(options, localSockets);
  if (localSockets) {
    const Layer &filter = report[SandboxLayer::SystemCalls];
    report[SandboxLayer::LocalSockets] =
        filter.inForce ? Layer{true, "part of seccomp"}
                       : Layer{false, "part of seccomp, which is missing"};
  }
  return report;
}

//===----------------------------------------------------------------------===//
// The probe
//===----------------------------------------------------------------------===//

/// Tries in the sandbox what the layers should refuse; a layer that lets it
/// pass is not in force whatever the kernel said.
static void attack(const SandboxOptions &options, const std::string &outside,
                   SandboxReport &report) {
  auto through = [&](SandboxLayer layer, bool open, const char *what) {
    if (open && report[layer].inForce)
      report[layer] = {false, std::string("set up without error, but ") + what +
                                  " was possible"};
  };
  auto canSocket = [](int family) {
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd >= 0)
      close(fd);
    return fd >= 0;
  };
  auto canWrite = [](const std::string &path) {
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
      close(fd);
    return fd >= 0;
  };
  through(SandboxLayer::SystemCalls, canSocket(AF_INET), "an internet socket");
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  if (child > 0)
    waitpid(child, nullptr, 0);
  through(SandboxLayer::SystemCalls, child > 0, "a new process");
  bool writes = canWrite(outside);
  through(SandboxLayer::Landlock, writes, "a file outside the directory");
  through(SandboxLayer::MountNamespace, writes, "a file outside the directory");
  if (!canWrite(options.directory + "/probe"))
    for (SandboxLayer layer :
         {SandboxLayer::Landlock, SandboxLayer::MountNamespace})
      if (report[layer].inForce)
        report[layer] = {false, std::string("the directory itself is not "
                                            "writable: ") +
                                    std::strerror(errno)};
  through(SandboxLayer::NoNewPrivileges,
          prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1, "a set-user-id program");
  rlimit core = {};
  getrlimit(RLIMIT_CORE, &core);
  through(SandboxLayer::ResourceLimits, core.rlim_cur > 1, "a core file");
}

static void sendReport(const SandboxReport &report, int fd) {
  std::string text;
  for (const Layer &layer : report.layers) {
    text += layer.inForce ? '1' : '0';
    text += layer.detail;
    text += '\n';
  }
  // Less than a pipe holds.
  if (write(fd, text.data(), text.size()) < 0)
    _exit(1);
}

static bool receiveReport(int fd, SandboxReport &report) {
  std::string text;
  char buffer[4096];
  while (true) {
    ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    text.append(buffer, size_t(n));
  }
  llvm::StringRef rest = text;
  for (Layer &layer : report.layers) {
    if (rest.empty())
      return false;
    auto [line, after] = rest.split('\n');
    layer = {line.consume_front("1"), ""};
    if (!layer.inForce)
      line.consume_front("0");
    layer.detail = line.str();
    rest = after;
  }
  return true;
}

llvm::Expected<SandboxReport>
sparseditto::probeSandbox(SandboxOptions options) {
  llvm::SmallString<128> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("sparseditto-probe", folder))
    return makeError("cannot make a directory to probe the sandbox: {0}",
                     code.message());
  llvm::scope_exit cleanUp([&] { llvm::sys::fs::remove_directories(folder); });
  std::string outside = (folder + "/outside").str();
  options.directory = (folder + "/job").str();
  if (std::error_code code = llvm::sys::fs::create_directory(options.directory))
    return makeError("{0}: {1}", options.directory, code.message());
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    return makeError("cannot make a pipe: {0}", std::strerror(errno));
  pid_t child = fork();
  if (child == 0) {
    SandboxReport report = enterSandbox(options);
    attack(options, outside, report);
    sendReport(report, fds[1]);
    _exit(0);
  }
  close(fds[1]);
  llvm::scope_exit closeRead([&] { close(fds[0]); });
  if (child < 0)
    return makeError("cannot fork: {0}", std::strerror(errno));
  SandboxReport report;
  bool good = receiveReport(fds[0], report);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!good || status != 0)
    return makeError("the process that probes the sandbox ended with status "
                     "{0}",
                     status);
  return report;
}
