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

#include "sparseditto/Support/Process.h"
#include "ProcessWatch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

using namespace sparseditto;
using Clock = std::chrono::steady_clock;

namespace {
/// The reading end of a pipe that the child writes to.
struct Stream {
  int fd;
  std::string *text; ///< In the result.
  bool open = true;
  uint64_t written = 0; ///< Bytes, kept or not.
};
} // namespace

/// Appends what is readable now; false at the end of the stream.
static bool drain(Stream &stream, ProcessResult &result, size_t maxOutput) {
  char buffer[1 << 16];
  while (true) {
    ssize_t n = read(stream.fd, buffer, sizeof(buffer));
    if (n > 0) {
      stream.written += uint64_t(n);
      size_t room = maxOutput - std::min(maxOutput, stream.text->size());
      stream.text->append(buffer, std::min(size_t(n), room));
      result.truncated |= size_t(n) > room;
      // One buffer at a time: a flood must not keep us from the clock.
      return true;
    }
    if (n < 0 && errno == EINTR)
      continue;
    return n < 0 && errno == EAGAIN;
  }
}

/// Waits up to `milliseconds` for a stream to become readable and reads from
/// those that are; false if none was.
static bool drainReady(llvm::MutableArrayRef<Stream> streams, int milliseconds,
                       ProcessResult &result, size_t maxOutput) {
  llvm::SmallVector<pollfd, 2> pollers;
  // poll() ignores negative descriptors.
  for (const Stream &stream : streams)
    pollers.push_back({stream.open ? stream.fd : -1, POLLIN, 0});
  if (poll(pollers.data(), pollers.size(), milliseconds) <= 0)
    return false;
  for (auto &&[stream, poller] : llvm::zip(streams, pollers))
    if (poller.revents != 0)
      stream.open = drain(stream, result, maxOutput);
  return true;
}

/// Waits for the child `pid`, the leader of its process group, and collects
/// what it writes to `streams`, which point into `result`. Kills the group when
/// its time is up or it exceeds a limit, and what is left of it at the end.
static void supervise(pid_t pid, llvm::MutableArrayRef<Stream> streams,
                      const ProcessOptions &options, ProcessResult &result) {
  Clock::time_point start = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (const Stream &stream : streams)
    fcntl(stream.fd, F_SETFL, O_NONBLOCK);
  auto anyOpen = [&] {
    return llvm::any_of(streams, [](const Stream &s) { return s.open; });
  };
  constexpr double watchSeconds = 0.005;
  double nextWatch = 0;
  auto exceeded = [&]() -> std::string {
    double begin = elapsed();
    if (begin < nextWatch)
      return "";
    uint64_t written = 0;
    for (const Stream &stream : streams)
      written += stream.written;
    std::string text = exceededLimit(pid, options.limits, written);
    // Looking may itself take long, at a directory full of files.
    double now = elapsed();
    nextWatch = now + std::max(watchSeconds, now - begin);
    return text;
  };
  int status = 0;
  while (true) {
    // The end of the stream usually means that the program is gone; a child of
    // its own may hold it open though, so its exit is looked for as well.
    pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR))
      break;
    result.timedOut =
        options.timeoutSeconds != 0 && elapsed() >= options.timeoutSeconds;
    result.cancelled = options.cancelled && *options.cancelled;
    if (!result.timedOut && !result.cancelled)
      result.overLimit = exceeded();
    if (result.timedOut || result.cancelled || !result.overLimit.empty()) {
      kill(-pid, SIGKILL);
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    if (anyOpen())
      drainReady(streams, /*milliseconds=*/10, result, options.maxOutput);
    else
      usleep(500);
  }
  // What was written before the end is still in the pipes (64 KiB at most).
  for (int i = 0; anyOpen() && i < 16; ++i)
    if (!drainReady(streams, 0, result, options.maxOutput))
      break;
  // Children that outlived the program.
  kill(-pid, SIGKILL);
  result.seconds = elapsed();
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.exitCode = 128 + result.signal;
  } else {
    result.exitCode = WEXITSTATUS(status);
  }
}

static llvm::Error systemError(const llvm::Twine &what, int code) {
  return llvm::createStringError("cannot " + what + ": " + std::strerror(code));
}

/// A file in memory with these bytes, read from its start.
static int memoryFile(llvm::StringRef contents) {
  int fd = memfd_create("sparseditto", MFD_CLOEXEC);
  while (fd >= 0 && !contents.empty()) {
    ssize_t n = write(fd, contents.data(), contents.size());
    if (n > 0) {
      contents = contents.drop_front(size_t(n));
    } else if (errno != EINTR) {
      close(fd);
      return -1;
    }
  }
  if (fd >= 0)
    lseek(fd, 0, SEEK_SET);
  return fd;
}

llvm::Expected<ProcessResult>
sparseditto::runProcess(llvm::ArrayRef<std::string> args,
                        unsigned timeoutSeconds, size_t maxOutput) {
  ProcessOptions options;
  options.timeoutSeconds = timeoutSeconds;
  options.maxOutput = maxOutput;
  return runProcess(args, options);
}

/// Marks every file but the standard ones to be closed by exec. What others
/// opened without O_CLOEXEC, or we inherited ourselves, is not the child's.
static void closeOthersOnExec() {
  constexpr long closeRange = 436;
  constexpr unsigned onExec = 4;
  syscall(closeRange, 3u, ~0u, onExec);
}

/// The new process: makes itself what runProcess promises and starts the
/// program. Only async-signal-safe calls, since other threads' locks may be
/// held in this copy.
[[noreturn]] static void startProgram(char *const *argv, char *const *envp,
                                      int input, int output, int errors,
                                      int failure, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (input < 0)
    input = open("/dev/null", O_RDONLY);
  if (input >= 0 && dup2(input, 0) == 0 && dup2(output, 1) == 1 &&
      dup2(errors, 2) == 2) {
    closeOthersOnExec();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    // Had it died before the call above, nobody would kill us.
    if (getppid() != parent)
      _exit(127);
    execve(argv[0], argv, envp);
  }
  int code = errno;
  if (write(failure, &code, sizeof(code)) < 0)
    _exit(126);
  _exit(127);
}

static std::vector<char *> pointersTo(llvm::ArrayRef<std::string> strings) {
  std::vector<char *> pointers;
  for (const std::string &string : strings)
    pointers.push_back(const_cast<char *>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

llvm::Expected<ProcessResult>
sparseditto::runProcess(llvm::ArrayRef<std::string> args,
                        const ProcessOptions &options) {
  llvm::SmallVector<int, 5> ours;
  llvm::scope_exit closeOurs([&] {
    for (int fd : ours)
      close(fd);
  });
  ProcessResult result;
  llvm::SmallVector<Stream, 2> streams;
  llvm::SmallVector<int, 2> writers;
  for (int i = 0; i < (options.separateErrors ? 2 : 1); ++i) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
      return systemError("make a pipe", errno);
    ours.append({fds[0], fds[1]});
    streams.push_back({fds[0], i == 0 ? &result.output : &result.errors});
    writers.push_back(fds[1]);
  }
  int input = -1;
  if (!options.input.empty()) {
    // A file and not a pipe: the program may read it late or not at all.
    input = memoryFile(options.input);
    if (input < 0)
      return systemError("make a file in memory", errno);
    ours.push_back(input);
  }

  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0)
    return systemError("make a pipe", errno);
  ours.push_back(failure[0]);

  std::vector<char *> argv = pointersTo(args), envp;
  if (options.environment)
    envp = pointersTo(*options.environment);
  const pid_t parent = getpid();
  pid_t pid = fork();
  if (pid == 0)
    startProgram(argv.data(), options.environment ? envp.data() : environ,
                 input, writers.front(), writers.back(), failure[1], parent);
  int code = errno;
  close(failure[1]);
  // The streams end only when nobody holds their writing ends.
  for (int writer : writers) {
    close(writer);
    llvm::erase(ours, writer);
  }
  if (pid < 0)
    return systemError("fork", code);
  // In both processes, so that it holds whoever runs first.
  setpgid(pid, pid);
  // Ends without a byte once the program has started.
  ssize_t got;
  do
    got = read(failure[0], &code, sizeof(code));
  while (got < 0 && errno == EINTR);
  if (got == ssize_t(sizeof(code))) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return systemError("run '" + args[0] + "'", code);
  }
  supervise(pid, streams, options, result);
  return result;
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
static void prepareChild(int output, uint64_t memoryBytes, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(127);
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
  int file = memoryFile("");
  if (file < 0)
    return systemError("make a file in memory", errno);
  llvm::scope_exit closeFile([&] { close(file); });
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    return systemError("make a pipe", errno);
  llvm::scope_exit closeRead([&] { close(fds[0]); });
  // Buffered text would be written once more by the child.
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) {
    int code = errno;
    close(fds[1]);
    return systemError("fork", code);
  }
  if (pid == 0) {
    prepareChild(fds[1], memoryBytes, parent);
    // No destructors and no exit handlers of the parent.
    _exit(body(file));
  }
  // In both processes, so that it holds whoever runs first.
  setpgid(pid, pid);
  close(fds[1]);
  ProcessResult result;
  Stream stream = {fds[0], &result.output};
  ProcessOptions options;
  options.timeoutSeconds = timeoutSeconds;
  options.maxOutput = maxOutput;
  supervise(pid, stream, options, result);
  if (!readFile(file, payload))
    return systemError("read the result of a child process", errno);
  return result;
}
