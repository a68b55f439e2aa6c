//===- MisbehavingWorker.cpp - A worker gone wrong ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Stands where `sd-tune worker` would, in the same sandbox, and does what the
// job's layer names: what a kernel that took over its process could try. What
// it may go on after is reported in the message of a good result.
//

#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/WorkerProcess.h"
#include "llvm/Support/Path.h"
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sparseditto;

static std::string errorName(long result) {
  return result < 0 ? std::strerror(errno) : "it worked";
}

static void eatMemory() {
  constexpr size_t step = size_t(16) << 20;
  while (true) {
    void *memory = mmap(nullptr, step, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      _exit(9);
    std::memset(memory, 1, step);
  }
}

/// One file of any size.
static void growFile(const std::string &directory) {
  int fd = open((directory + "/f").c_str(), O_WRONLY | O_CREAT, 0600);
  for (off_t size = 1; ftruncate(fd, size) == 0; size *= 2) {
  }
  _exit(9);
}

/// Files of 1 MB each.
static void writeFiles(const std::string &directory) {
  std::vector<char> block(size_t(1) << 20, 'x');
  for (unsigned i = 0;; ++i) {
    int fd = open((directory + "/f" + std::to_string(i)).c_str(),
                  O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, block.data(), block.size()) < 0)
      _exit(9);
    close(fd);
  }
}

static void emptyFiles(const std::string &directory) {
  for (unsigned i = 0;; ++i)
    if (mkdir((directory + "/d" + std::to_string(i)).c_str(), 0700) != 0)
      _exit(9);
}

static void floodOutput() {
  std::vector<char> block(size_t(1) << 16, 'x');
  while (write(1, block.data(), block.size()) > 0) {
  }
}

static void startThreads() {
  while (true)
    std::thread([] { pause(); }).detach();
}

static std::string connectTo(const std::string &port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0)
    return errorName(fd);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(std::stoi(port)));
  return errorName(
      connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)));
}

static std::string forkAway() {
  pid_t pid = fork();
  if (pid == 0) {
    setsid();
    sleep(60);
    _exit(0);
  }
  return errorName(pid);
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  Job job = llvm::cantFail(
      Job::fromJSON(llvm::cantFail(readJSONFile(argv[2], 1 << 20))));
  std::string resultFile = argv[3];
  std::string directory = llvm::sys::path::parent_path(resultFile).str();
  SandboxReport sandbox =
      enterSandbox(llvm::cantFail(workerSandbox(directory, !job.emulate, 0)));

  JobResult result;
  result.nonce = job.nonce;
  result.status = RunStatus::Verified;
  result.sandboxMissing = sandbox.missingText();
  const std::string &deed = job.layer;
  if (deed == "hang") {
    while (true)
      pause();
  } else if (deed == "segv") {
    raise(SIGSEGV);
  } else if (deed == "abort") {
    abort();
  } else if (deed == "memory") {
    eatMemory();
  } else if (deed == "file") {
    growFile(directory);
  } else if (deed == "files") {
    writeFiles(directory);
  } else if (deed == "names") {
    emptyFiles(directory);
  } else if (deed == "output") {
    floodOutput();
  } else if (deed == "threads") {
    startThreads();
  } else if (deed == "fork") {
    result.message = forkAway();
  } else if (deed == "connect") {
    result.message = connectTo(job.symbol);
  } else if (deed == "write") {
    result.message =
        errorName(open(job.package.c_str(), O_WRONLY | O_CREAT, 0600));
  } else if (deed == "secret") {
    const char *secret = std::getenv("SD_TEST_API_KEY");
    result.message = secret ? secret : "none";
  } else if (deed == "forge") {
    result.nonce = "00000000000000000000000000000000";
  } else if (deed == "silent") {
    return 0;
  } else if (deed == "link") {
    // A good result, but not where the parent's eyes should be led.
    std::string elsewhere = job.package;
    llvm::cantFail(writeJSONFile(elsewhere, result.toJSON()));
    return symlink(elsewhere.c_str(), resultFile.c_str()) == 0 ? 0 : 3;
  } else if (deed != "behave") {
    return 3;
  }
  llvm::cantFail(writeJSONFile(resultFile, result.toJSON()));
  return 0;
}
