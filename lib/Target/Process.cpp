//===- Process.cpp - Running another program ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// llvm::sys::ExecuteAndWait kills only the child when its time is up; a driver
// script's children would live on and hold the output open.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Process.h"
#include "llvm/ADT/ScopeExit.h"
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

using namespace sparseditto;
using Clock = std::chrono::steady_clock;

/// Appends what is readable now; false at the end of the stream.
static bool drain(int fd, ProcessResult &result, size_t maxOutput) {
  char buffer[1 << 16];
  while (true) {
    ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n > 0) {
      size_t room = maxOutput - std::min(maxOutput, result.output.size());
      result.output.append(buffer, std::min(size_t(n), room));
      result.truncated |= size_t(n) > room;
      // One buffer at a time: a flood must not keep us from the clock.
      return true;
    }
    if (n < 0 && errno == EINTR)
      continue;
    return n < 0 && errno == EAGAIN;
  }
}

/// Waits for the child `pid`, the leader of its process group, and collects
/// what it writes to the pipe `fd`. Kills the group when its time is up, and
/// what is left of it at the end.
static ProcessResult supervise(pid_t pid, int fd, unsigned timeoutSeconds,
                               size_t maxOutput) {
  ProcessResult result;
  Clock::time_point start = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  fcntl(fd, F_SETFL, O_NONBLOCK);
  bool open = true;
  int status = 0;
  while (true) {
    // The end of the stream usually means that the program is gone; a child of
    // its own may hold it open though, so its exit is looked for as well.
    pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR))
      break;
    if (timeoutSeconds != 0 && elapsed() >= timeoutSeconds) {
      result.timedOut = true;
      kill(-pid, SIGKILL);
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    if (open) {
      pollfd poller = {fd, POLLIN, 0};
      if (poll(&poller, 1, /*milliseconds=*/10) > 0)
        open = drain(fd, result, maxOutput);
    } else {
      usleep(500);
    }
  }
  // What was written before the end is still in the pipe (64 KiB at most).
  for (int i = 0; open && i < 16; ++i) {
    pollfd poller = {fd, POLLIN, 0};
    if (poll(&poller, 1, 0) <= 0)
      break;
    open = drain(fd, result, maxOutput);
  }
  // Children that outlived the program.
  kill(-pid, SIGKILL);
  result.seconds = elapsed();
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.exitCode = 128 + result.signal;
  } else {
    result.exitCode = WEXITSTATUS(status);
  }
  return result;
}

static llvm::Error systemError(const llvm::Twine &what, int code) {
  return llvm::createStringError("cannot " + what + ": " + std::strerror(code));
}

llvm::Expected<ProcessResult>
sparseditto::runProcess(llvm::ArrayRef<std::string> args,
                        unsigned timeoutSeconds, size_t maxOutput) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    return systemError("make a pipe", errno);
  llvm::scope_exit closeRead([&] { close(fds[0]); });

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char *> argv;
  for (const std::string &arg : args)
    argv.push_back(const_cast<char *>(arg.c_str()));
  argv.push_back(nullptr);
  pid_t pid;
  int code =
      posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  if (code != 0)
    return systemError("run '" + args[0] + "'", code);
  return supervise(pid, fds[0], timeoutSeconds, maxOutput);
}

/// Bytes of address space this process uses now; 0 if that is not known.
static uint64_t addressSpace() {
  unsigned long long pages = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu", &pages) != 1)
      pages = 0;
    std::fclose(file);
  }
  return pages * uint64_t(sysconf(_SC_PAGESIZE));
}

/// Makes the forked child a process that can be thrown away.
static void prepareChild(int output, uint64_t memoryBytes) {
  setpgid(0, 0);
  int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  dup2(output, 1);
  dup2(output, 2);
  // The tool's own crash handlers would print and symbolize for seconds.
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGTERM,
                     SIGINT, SIGPIPE})
    std::signal(signal, SIG_DFL);
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  uint64_t now = addressSpace();
  if (memoryBytes != 0 && now != 0) {
    rlimit memory = {now + memoryBytes, now + memoryBytes};
    setrlimit(RLIMIT_AS, &memory);
  }
}

static bool readFile(int fd, std::string &contents) {
  off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0)
    return false;
  contents.resize(size_t(size));
  size_t done = 0;
  while (done < contents.size()) {
    ssize_t n =
        pread(fd, contents.data() + done, contents.size() - done, off_t(done));
    if (n <= 0)
      return false;
    done += size_t(n);
  }
  return true;
}

llvm::Expected<ProcessResult>
sparseditto::runForked(llvm::function_ref<int(int resultFile)> body,
                       unsigned timeoutSeconds, uint64_t memoryBytes,
                       std::string &payload, size_t maxOutput) {
  int file = memfd_create("sparseditto", MFD_CLOEXEC);
  if (file < 0)
    return systemError("make a file in memory", errno);
  llvm::scope_exit closeFile([&] { close(file); });
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    return systemError("make a pipe", errno);
  llvm::scope_exit closeRead([&] { close(fds[0]); });
  // Buffered text would be written once more by the child.
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid < 0) {
    int code = errno;
    close(fds[1]);
    return systemError("fork", code);
  }
  if (pid == 0) {
    prepareChild(fds[1], memoryBytes);
    // No destructors and no exit handlers of the parent.
    _exit(body(file));
  }
  // In both processes, so that it holds whoever runs first.
  setpgid(pid, pid);
  close(fds[1]);
  ProcessResult result = supervise(pid, fds[0], timeoutSeconds, maxOutput);
  if (!readFile(file, payload))
    return systemError("read the result of a child process", errno);
  return result;
}
