//===- SandboxTest.cpp - What a locked-in process can still do ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/Sandbox.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sparseditto;
using L = SandboxLayer;

static constexpr SandboxLayers all = (1u << numSandboxLayers) - 1;

/// `body`'s result, 0 to 127, from a forked process; 128 + the signal that
/// ended it.
static int inChild(llvm::function_ref<int()> body) {
  pid_t pid = fork();
  if (pid == 0)
    _exit(body());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

namespace {
class SandboxTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sd-sandbox", path));
    root = std::string(path);
    inside = root + "/job";
    ASSERT_FALSE(llvm::sys::fs::create_directory(inside));
    std::ofstream(root + "/old") << "old";
    options.directory = inside;
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  /// Runs `body` in the sandbox.
  int locked(llvm::function_ref<int()> body) {
    return inChild([&] {
      SandboxReport report = enterSandbox(options);
      for (L layer : needed)
        if (!report[layer].inForce)
          return 127;
      return body();
    });
  }
  /// errno of a call that returned -1, else 0.
  static int errorOf(long result) { return result < 0 ? errno : 0; }

  /// Skips where the kernel lacks a layer that the test is about.
  bool has(std::vector<L> layers) {
    needed = layers;
    static const SandboxReport possible =
        llvm::cantFail(probeSandbox(SandboxOptions()));
    for (L layer : layers)
      if (!possible[layer].inForce)
        return false;
    return true;
  }
  void only(std::vector<L> layers) {
    options.off = all;
    for (L layer : layers)
      options.off &= ~layerBit(layer);
  }

  SandboxOptions options;
  std::vector<L> needed;
  std::string root, inside;
};
} // namespace

#define NEEDS(...)                                                             \
  if (!has({__VA_ARGS__}))                                                     \
  GTEST_SKIP() << "the kernel does not have the layer"

static int openForWriting(const std::string &path, int flags = O_CREAT) {
  int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0600);
  int code = errno;
  if (fd >= 0)
    close(fd);
  return fd < 0 ? code : 0;
}

//===----------------------------------------------------------------------===//
// Names, the switch, the report
//===----------------------------------------------------------------------===//

TEST(Sandbox, LayersAreTurnedOffByName) {
  setenv(sandboxOffVariable, "landlock, seccomp", 1);
  EXPECT_EQ(llvm::cantFail(sandboxLayersTurnedOff()),
            layerBit(L::Landlock) | layerBit(L::SystemCalls));
  setenv(sandboxOffVariable, "lock", 1);
  auto wrong = sandboxLayersTurnedOff();
  ASSERT_FALSE(bool(wrong));
  std::string message = llvm::toString(wrong.takeError());
  EXPECT_EQ(message.find("$SPARSEDITTO_SANDBOX_OFF names 'lock', which is no "
                         "layer of the sandbox (pdeathsig, "),
            0u)
      << message;
  unsetenv(sandboxOffVariable);
  EXPECT_EQ(llvm::cantFail(sandboxLayersTurnedOff()), 0u);
}

TEST(Sandbox, OneLayerForFilesIsEnough) {
  SandboxReport report;
  for (auto &layer : report.layers)
    layer.inForce = true;
  EXPECT_EQ(report.missingText(), "");
  report[L::NetworkNamespace] = {false, "no"};
  report[L::Landlock] = {false, "too old"};
  EXPECT_EQ(report.missingText(), "");
  report[L::MountNamespace] = {false, "not allowed"};
  EXPECT_EQ(report.missingText(),
            "mount-namespace (not allowed), landlock (too old)");
  report[L::Landlock].inForce = true;
  report[L::SystemCalls] = {false, "gone"};
  EXPECT_EQ(report.missingText(), "seccomp (gone)");
}

TEST(Sandbox, TheProbeSaysWhatIsOff) {
  for (size_t i = 0; i < numSandboxLayers; ++i) {
    SandboxOptions options;
    options.off = layerBit(L(i));
    SandboxReport report = llvm::cantFail(probeSandbox(options));
    EXPECT_FALSE(report.layers[i].inForce) << name(L(i)).str();
    EXPECT_EQ(report.layers[i].detail,
              "turned off by $SPARSEDITTO_SANDBOX_OFF");
  }
  SandboxOptions options;
  options.off = all;
  EXPECT_EQ(llvm::cantFail(probeSandbox(options)).missing().size(), 8u);
}

TEST(Sandbox, AnOldKernelsLandlockIsNamed) {
  SandboxOptions options;
  options.landlockAbi = 0;
  options.off = layerBit(L::MountNamespace);
  SandboxReport report = llvm::cantFail(probeSandbox(options));
  EXPECT_FALSE(report[L::Landlock].inForce);
  EXPECT_NE(report.missingText().find("landlock ("), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST_F(SandboxTest, WithoutFileLayersEverythingIsWritable) {
  only({L::NoNewPrivileges});
  EXPECT_EQ(locked([&] { return openForWriting(root + "/new"); }), 0);
}

TEST_F(SandboxTest, LandlockKeepsFilesOutsideTheDirectory) {
  NEEDS(L::Landlock);
  only({L::NoNewPrivileges, L::Landlock});
  // Every interface since the first, of which some know fewer rights.
  for (int abi : {1, 2, 3, 4, 5, 6, 7}) {
    options.landlockAbi = abi;
    EXPECT_EQ(locked([&] { return openForWriting(root + "/new"); }), EACCES);
    EXPECT_EQ(locked([&] { return openForWriting(root + "/old", 0); }), EACCES);
    EXPECT_EQ(locked([&] { return errorOf(unlink((root + "/old").c_str())); }),
              EACCES);
    EXPECT_EQ(locked([&] { return openForWriting(inside + "/new"); }), 0);
    EXPECT_EQ(locked([&] { return openForWriting("/dev/null", 0); }), 0);
    EXPECT_EQ(locked([&] {
                return errorOf(open((root + "/old").c_str(), O_RDONLY));
              }),
              0);
  }
}

TEST_F(SandboxTest, ReadOnlyMountsKeepFilesOutsideTheDirectory) {
  NEEDS(L::MountNamespace);
  only({L::MountNamespace});
  EXPECT_EQ(locked([&] { return openForWriting(root + "/new"); }), EROFS);
  EXPECT_EQ(locked([&] { return openForWriting(root + "/old", 0); }), EROFS);
  EXPECT_EQ(locked([&] { return openForWriting(inside + "/new"); }), 0);
  EXPECT_EQ(locked([&] { return openForWriting("/dev/null", 0); }), 0);
  // The parent's mounts are as they were.
  EXPECT_EQ(openForWriting(root + "/new"), 0);
}

TEST_F(SandboxTest, AGpuGetsASharedMemoryOfItsOwn) {
  NEEDS(L::MountNamespace, L::Landlock);
  if (access("/dev/shm", W_OK) != 0)
    GTEST_SKIP() << "no /dev/shm";
  std::string file = "/dev/shm/sd-sandbox-" + std::to_string(getpid());
  options.gpu = true;
  EXPECT_EQ(locked([&] { return openForWriting(file); }), 0);
  EXPECT_NE(access(file.c_str(), F_OK), 0);
  options.gpu = false;
  EXPECT_NE(locked([&] { return openForWriting(file); }), 0);
  // Without a namespace the one of the machine is not writable.
  options.gpu = true;
  options.off = layerBit(L::MountNamespace);
  needed = {L::Landlock};
  EXPECT_EQ(locked([&] { return openForWriting(file); }), EACCES);
}

TEST_F(SandboxTest, AGpuMayNameItsThreads) {
  // cuInit writes to /proc/self/task/<thread>/comm, and fails if it cannot.
  auto name = [&] {
    int result = -1;
    std::thread([&] {
      std::string file =
          "/proc/self/task/" + std::to_string(syscall(SYS_gettid)) + "/comm";
      result = openForWriting(file, O_TRUNC);
    }).join();
    return result;
  };
  for (L layer : {L::MountNamespace, L::Landlock}) {
    if (!has({layer}))
      continue;
    only({layer, L::NoNewPrivileges});
    options.gpu = true;
    EXPECT_EQ(locked(name), 0);
    // What decides about others is still out of reach.
    EXPECT_NE(locked([] { return openForWriting("/proc/self/oom_score_adj"); }),
              0);
    EXPECT_NE(locked([] {
                return openForWriting("/proc/sys/kernel/core_pattern", 0);
              }),
              0);
    options.gpu = false;
    EXPECT_NE(locked(name), 0);
  }
}

TEST_F(SandboxTest, AttributesStayAsTheyAre) {
  NEEDS(L::SystemCalls);
  std::string old = root + "/old";
  EXPECT_EQ(locked([&] { return errorOf(chmod(old.c_str(), 0777)); }), EPERM);
  EXPECT_EQ(locked([&] { return errorOf(truncate(old.c_str(), 0)); }), EPERM);
  EXPECT_EQ(locked([&] {
              return errorOf(utimensat(AT_FDCWD, old.c_str(), nullptr, 0));
            }),
            EPERM);
}

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

namespace {
/// A listening TCP socket on this machine.
struct Listener {
  Listener() {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(fd, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
        listen(fd, 1) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0)
      abort();
  }
  ~Listener() { close(fd); }
  /// errno of the attempt to connect, 0 if it worked.
  int reach() const {
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (client < 0)
      return errno;
    int result = connect(client, reinterpret_cast<const sockaddr *>(&address),
                         sizeof(address));
    return result < 0 ? errno : 0;
  }
  int fd = -1;
  sockaddr_in address = {};
};
} // namespace

TEST_F(SandboxTest, TheNetworkIsOutOfReachByEachLayer) {
  Listener listener;
  only({});
  ASSERT_EQ(locked([&] { return listener.reach(); }), 0);
  if (has({L::SystemCalls})) {
    only({L::NoNewPrivileges, L::SystemCalls});
    EXPECT_EQ(locked([&] { return listener.reach(); }), EPERM);
    for (int family : {AF_INET6, AF_PACKET, AF_NETLINK, AF_VSOCK, AF_ALG})
      EXPECT_EQ(locked([&] { return errorOf(socket(family, SOCK_RAW, 0)); }),
                EPERM);
  }
  if (has({L::NetworkNamespace})) {
    only({L::NetworkNamespace});
    EXPECT_EQ(locked([&] { return listener.reach(); }), ENETUNREACH);
  }
}

TEST_F(SandboxTest, LocalSocketsCannotBeReached) {
  NEEDS(L::SystemCalls);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::string path = inside + "/s";
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto *any = reinterpret_cast<sockaddr *>(&address);
  ASSERT_EQ(bind(listener, any, sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  auto reach = [&]() -> int {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
      return 100;
    return errorOf(connect(fd, any, sizeof(address)));
  };
  // Without a GPU there is no socket at all; with one it only listens.
  EXPECT_EQ(locked(reach), 100);
  options.gpu = true;
  EXPECT_EQ(locked(reach), EPERM);
  EXPECT_EQ(locked([] { return errorOf(socket(AF_UNIX, SOCK_DGRAM, 0)); }),
            EPERM);
  EXPECT_EQ(locked([] {
              return errorOf(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
            }),
            0);
  options.off = layerBit(L::LocalSockets);
  EXPECT_EQ(locked(reach), 0);
  close(listener);
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

TEST_F(SandboxTest, NoProcessesAndNoPrograms) {
  NEEDS(L::SystemCalls);
  EXPECT_EQ(locked([] { return errorOf(fork()); }), EPERM);
  EXPECT_EQ(locked([] { return errorOf(syscall(SYS_vfork)); }), EPERM);
  EXPECT_EQ(
      locked([] { return errorOf(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }),
      EPERM);
  EXPECT_EQ(locked([] {
              char program[] = "/bin/true";
              char *argv[] = {program, nullptr};
              return errorOf(execv(program, argv));
            }),
            EPERM);
  EXPECT_EQ(locked([] { return errorOf(setsid()); }), EPERM);
}

TEST_F(SandboxTest, ThreadsWork) {
  EXPECT_EQ(locked([] {
              int sum = 0;
              std::thread thread([&] { sum = 42; });
              thread.join();
              return sum;
            }),
            42);
}

TEST_F(SandboxTest, OtherProcessesAreOutOfReach) {
  NEEDS(L::SystemCalls);
  const pid_t parent = getpid();
  EXPECT_EQ(locked([&] { return errorOf(kill(parent, 0)); }), EPERM);
  EXPECT_EQ(locked([&] {
              return errorOf(ptrace(PTRACE_ATTACH, parent, nullptr, nullptr));
            }),
            EPERM);
  EXPECT_EQ(locked([&] {
              rlimit limit;
              return errorOf(prlimit(parent, RLIMIT_CORE, nullptr, &limit));
            }),
            EPERM);
  // Its own signals arrive.
  EXPECT_EQ(locked([] { return raise(SIGUSR1); }), 128 + SIGUSR1);
}

TEST_F(SandboxTest, WideDoorsAreClosed) {
  NEEDS(L::SystemCalls);
  for (long number : {SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
                      SYS_io_uring_setup, SYS_add_key, SYS_keyctl, SYS_mount,
                      SYS_unshare, SYS_setns, SYS_kexec_load, SYS_init_module,
                      SYS_process_vm_readv, SYS_process_vm_writev, SYS_shmget})
    EXPECT_EQ(
        locked([&] { return errorOf(syscall(number, 0, 0, 0, 0, 0, 0)); }),
        EPERM)
        << number;
  // What is newer than the list does not exist, nor do calls whose flags the
  // filter cannot see.
  EXPECT_EQ(locked([] { return errorOf(syscall(100000)); }), ENOSYS);
  EXPECT_EQ(locked([] { return errorOf(syscall(SYS_clone3, 0, 0)); }), ENOSYS);
#ifdef __x86_64__
  // The other interface of the processor is the end.
  EXPECT_EQ(locked([] { return errorOf(syscall(0x40000000 | 39)); }),
            128 + SIGSYS);
#endif
}

TEST_F(SandboxTest, LimitsHold) {
  options.fileBytes = 4096;
  options.openFiles = 16;
  options.cpuSeconds = 1;
  EXPECT_EQ(locked([&] {
              int fd = open((inside + "/f").c_str(), O_WRONLY | O_CREAT, 0600);
              char page[4096] = {};
              for (int i = 0; i < 3; ++i)
                if (write(fd, page, sizeof(page)) < 0)
                  return 1;
              return 0;
            }),
            128 + SIGXFSZ);
  EXPECT_EQ(locked([] {
              for (int i = 0; i < 32; ++i)
                if (open("/dev/null", O_RDONLY) < 0)
                  return errno;
              return 0;
            }),
            EMFILE);
  EXPECT_EQ(locked([] {
              while (getppid() != 0) {
              }
              return 0;
            }),
            128 + SIGXCPU);
}

TEST_F(SandboxTest, RootLosesItsPowers) {
  if (geteuid() != 0)
    GTEST_SKIP() << "not root";
  only({L::Capabilities});
  std::string file = root + "/foreign";
  std::ofstream(file) << "text";
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(locked([&] { return openForWriting(file, 0); }), EACCES);
  EXPECT_EQ(locked([&] { return errorOf(open(file.c_str(), O_RDONLY)); }), 0);
  EXPECT_EQ(locked([&] { return errorOf(sethostname("x", 1)); }), EPERM);
}

/// A process whose parent enters `body` and then waits to be killed: both have
/// to be gone when the parent is.
TEST_F(SandboxTest, NobodyOutlivesItsParent) {
  for (bool withLayer : {true, false}) {
    options.off = withLayer ? 0 : all;
    int fds[2];
    ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
    pid_t middle = fork();
    if (middle == 0) {
      if (fork() == 0) {
        enterSandbox(options);
        // Holds the pipe open for as long as it lives.
        if (write(fds[1], "x", 1) == 1)
          sleep(withLayer ? 30 : 1);
        _exit(0);
      }
      close(fds[1]);
      pause();
    }
    close(fds[1]);
    char byte;
    ASSERT_EQ(read(fds[0], &byte, 1), 1);
    kill(middle, SIGKILL);
    waitpid(middle, nullptr, 0);
    pollfd poller = {fds[0], POLLIN, 0};
    EXPECT_EQ(poll(&poller, 1, 300), withLayer ? 1 : 0);
    EXPECT_EQ(read(fds[0], &byte, 1), 0);
    close(fds[0]);
  }
}
