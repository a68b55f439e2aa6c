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
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
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

llvm::Expected<ProcessResult>
sparseditto::runProcess(llvm::ArrayRef<std::string> args,
                        unsigned timeoutSeconds, size_t maxOutput) {
  auto systemError = [&](llvm::StringRef what, int code) {
    return llvm::createStringError("cannot " + what.str() + " '" + args[0] +
                                   "': " + std::strerror(code));
  };
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    return systemError("make a pipe for", errno);
  llvm::scope_exit closeRead([&] { close(fds[0]); });
  fcntl(fds[0], F_SETFL, O_NONBLOCK);

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
  Clock::time_point start = Clock::now();
  pid_t pid;
  int code =
      posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  if (code != 0)
    return systemError("run", code);

  ProcessResult result;
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
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
      pollfd poller = {fds[0], POLLIN, 0};
      if (poll(&poller, 1, /*milliseconds=*/10) > 0)
        open = drain(fds[0], result, maxOutput);
    } else {
      usleep(500);
    }
  }
  // What was written before the end is still in the pipe (64 KiB at most).
  for (int i = 0; open && i < 16; ++i) {
    pollfd poller = {fds[0], POLLIN, 0};
    if (poll(&poller, 1, 0) <= 0)
      break;
    open = drain(fds[0], result, maxOutput);
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
