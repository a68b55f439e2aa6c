//===- WorkerTest.cpp - Workers that misbehave, and what is kept ----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/ResultLog.h"
#include "sparseditto/Runtime/SanitizeJob.h"
#include "sparseditto/Runtime/WorkerProcess.h"
#include "sparseditto/Target/ComputeSanitizer.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <arpa/inet.h>
#include <cstdlib>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sparseditto;

static std::string contents(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

namespace {
class WorkerTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sd-worker", path));
    root = std::string(path);
    // Job directories of these tests alone.
    setenv("TMPDIR", root.c_str(), 1);
    options.timeoutSeconds = 30;
    options.memoryBytes = uint64_t(512) << 20;
    options.directoryBytes = uint64_t(16) << 20;
    options.directoryFiles = 200;
  }
  void TearDown() override {
    // The next one runs as if nothing had been.
    if (!IsSkipped()) {
      JobResult next = run("behave");
      EXPECT_EQ(next.status, RunStatus::Verified) << next.message;
      EXPECT_EQ(entries(), leftBefore);
    }
    unsetenv("TMPDIR");
    llvm::sys::fs::remove_directories(root);
  }
  JobResult run(const std::string &deed, const std::string &package = "p",
                const std::string &symbol = "s") {
    Job job;
    job.layer = deed;
    job.package = package;
    job.symbol = symbol;
    job.emulate = true;
    return runJob(SD_MISBEHAVING_WORKER, job, options);
  }
  unsigned entries() const {
    unsigned count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator entry(root, code), end;
         !code && entry != end; entry.increment(code))
      ++count;
    return count;
  }
  /// A sandbox without any gap, or there is no point.
  static bool sandboxed() {
    return llvm::cantFail(probeSandbox(SandboxOptions())).missing().empty();
  }

  std::string root;
  JobOptions options;
  unsigned leftBefore = 0;
};
} // namespace

TEST_F(WorkerTest, Hang) {
  options.timeoutSeconds = 1;
  JobResult result = run("hang");
  EXPECT_EQ(result.status, RunStatus::TimedOut);
  EXPECT_EQ(result.message, "the worker was killed after 1 s");
  options.timeoutSeconds = 30;
}

TEST_F(WorkerTest, Crashes) {
  JobResult result = run("segv");
  EXPECT_EQ(result.status, RunStatus::Crashed);
  EXPECT_EQ(result.message.find("the worker was ended by signal 11"), 0u)
      << result.message;
  result = run("abort");
  EXPECT_EQ(result.status, RunStatus::Crashed);
  EXPECT_EQ(result.message.find("the worker was ended by signal 6"), 0u)
      << result.message;
}

TEST_F(WorkerTest, EatsMemory) {
  JobResult result = run("memory");
  EXPECT_EQ(result.status, RunStatus::OverLimits);
  EXPECT_NE(result.message.find("MB of memory, 512 MB allowed"),
            std::string::npos)
      << result.message;
}

TEST_F(WorkerTest, FloodsTheDisk) {
  JobResult result = run("file");
  EXPECT_EQ(result.status, RunStatus::OverLimits);
  EXPECT_EQ(result.message, "the worker was ended for the size of a file");
  result = run("files");
  EXPECT_EQ(result.status, RunStatus::OverLimits);
  EXPECT_NE(result.message.find("MB of files, 16 MB allowed"),
            std::string::npos)
      << result.message;
  result = run("names");
  EXPECT_EQ(result.status, RunStatus::OverLimits);
  EXPECT_EQ(result.message, "the worker was killed for more than 200 files");
}

TEST_F(WorkerTest, FloodsItsOutput) {
  JobResult result = run("output");
  EXPECT_EQ(result.status, RunStatus::OverLimits);
  EXPECT_NE(result.message.find("MB of output, 64 MB allowed"),
            std::string::npos)
      << result.message;
}

TEST_F(WorkerTest, StartsThreads) {
  JobResult result = run("threads");
  // The system itself may allow fewer.
  EXPECT_TRUE(result.status == RunStatus::OverLimits ||
              result.status == RunStatus::Crashed)
      << name(result.status).str();
  EXPECT_TRUE(result.status != RunStatus::OverLimits ||
              result.message.find("threads, 4096 allowed") != std::string::npos)
      << result.message;
}

TEST_F(WorkerTest, Forks) {
  if (!sandboxed())
    GTEST_SKIP() << "the sandbox is not complete here";
  JobResult result = run("fork");
  EXPECT_EQ(result.status, RunStatus::Verified);
  EXPECT_EQ(result.message, "Operation not permitted");
}

TEST_F(WorkerTest, Connects) {
  if (!sandboxed())
    GTEST_SKIP() << "the sandbox is not complete here";
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto *any = reinterpret_cast<sockaddr *>(&address);
  ASSERT_EQ(bind(listener, any, size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, any, &size), 0);
  std::string port = std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(run("connect", "p", port).message, "Operation not permitted");
  // And it is the sandbox that refuses.
  setenv(sandboxOffVariable, "seccomp,landlock,network-namespace", 1);
  JobResult result = run("connect", "p", port);
  unsetenv(sandboxOffVariable);
  EXPECT_EQ(result.message, "it worked");
  EXPECT_NE(result.sandboxMissing.find("seccomp (turned off"),
            std::string::npos);
  close(listener);
}

TEST_F(WorkerTest, WritesElsewhere) {
  if (!sandboxed())
    GTEST_SKIP() << "the sandbox is not complete here";
  JobResult result = run("write", root + "/elsewhere");
  EXPECT_TRUE(result.message == "Permission denied" ||
              result.message == "Read-only file system")
      << result.message;
  EXPECT_FALSE(llvm::sys::fs::exists(root + "/elsewhere"));
}

TEST_F(WorkerTest, LooksForSecrets) {
  setenv("SD_TEST_API_KEY", "sk-1", 1);
  setenv("SPARSEDITTO_API_KEY", "sk-2", 1);
  EXPECT_EQ(run("secret").message, "none");
  for (const std::string &variable : workerEnvironment("d"))
    EXPECT_EQ(variable.find("sk-"), std::string::npos) << variable;
  unsetenv("SD_TEST_API_KEY");
  unsetenv("SPARSEDITTO_API_KEY");
}

TEST_F(WorkerTest, ForgesItsResult) {
  JobResult result = run("forge");
  EXPECT_EQ(result.status, RunStatus::NoResult);
  EXPECT_EQ(result.message, "the worker's result is not of this job");
  EXPECT_EQ(run("silent").status, RunStatus::NoResult);
  // Landlock would not even let it make a link.
  setenv(sandboxOffVariable, "landlock,mount-namespace", 1);
  result = run("link", root + "/elsewhere");
  unsetenv(sandboxOffVariable);
  EXPECT_EQ(result.status, RunStatus::NoResult);
  EXPECT_EQ(result.message, "the worker left no result file");
  llvm::sys::fs::remove(root + "/elsewhere");
}

TEST_F(WorkerTest, DirectoriesOfKilledParentsAreRemoved) {
  // This one is in use.
  llvm::Expected<JobDirectory> mine = JobDirectory::create();
  ASSERT_TRUE(bool(mine));
  pid_t pid = fork();
  if (pid == 0) {
    JobDirectory lost = llvm::cantFail(JobDirectory::create());
    std::ofstream(lost.file("job.json")) << "{}";
    _exit(0);
  }
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  // And these are somebody else's.
  std::string other = root + "/sparseditto-job-1-2-3-abcdef";
  ASSERT_FALSE(llvm::sys::fs::create_directory(other));
  ASSERT_FALSE(llvm::sys::fs::create_directory(root + "/sparseditto-job-x"));
  EXPECT_EQ(entries(), 4u);
  removeAbandonedJobDirectories();
  EXPECT_EQ(entries(), 3u);
  EXPECT_TRUE(llvm::sys::fs::exists(mine->path()));
  EXPECT_TRUE(llvm::sys::fs::exists(other));
  leftBefore = 2;
}

//===----------------------------------------------------------------------===//
// Results on the disk
//===----------------------------------------------------------------------===//

namespace {
class ResultLogTest : public WorkerTest {
protected:
  void SetUp() override {
    WorkerTest::SetUp();
    path = root + "/results.jsonl";
    job.layer = "l";
    job.symbol = "s";
    job.checkN = {1};
    result.status = RunStatus::Verified;
    result.launches = 42;
    leftBefore = 1;
  }
  ResultLog open(bool resume = true, const std::string &environment = "e") {
    return llvm::cantFail(ResultLog::open(path, environment, resume));
  }
  std::string path;
  Job job;
  JobResult result;
};
} // namespace

TEST_F(ResultLogTest, FindsWhatWasDone) {
  llvm::cantFail(open().append(job, options, result));
  // Another nonce and another place are the same job.
  job.nonce = "n";
  job.package = "elsewhere";
  ResultLog log = open();
  const JobResult *found = log.find(job, options);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->launches, 42);
  EXPECT_EQ(open(/*resume=*/false).find(job, options), nullptr);
  EXPECT_EQ(open(true, "other device").find(job, options), nullptr);
  JobOptions longer = options;
  longer.timeoutSeconds = 99;
  EXPECT_EQ(log.find(job, longer), nullptr);
  job.seed = 7;
  EXPECT_EQ(log.find(job, options), nullptr);
}

TEST_F(ResultLogTest, TheLastOneCounts) {
  llvm::cantFail(open().append(job, options, result));
  result.status = RunStatus::WrongResult;
  llvm::cantFail(open().append(job, options, result));
  EXPECT_EQ(open().find(job, options)->status, RunStatus::WrongResult);
  // What may be no fault of the kernel is done again.
  for (RunStatus status :
       {RunStatus::Crashed, RunStatus::NoResult, RunStatus::Error}) {
    result.status = status;
    llvm::cantFail(open().append(job, options, result));
    EXPECT_EQ(open().find(job, options), nullptr);
  }
}

TEST_F(ResultLogTest, ATornLineLosesNoOther) {
  llvm::cantFail(open().append(job, options, result));
  std::string line = contents(path);
  ASSERT_EQ(line.back(), '\n');
  Job second = job;
  second.symbol = "t";
  // A run that was killed at any byte of the second line.
  for (size_t length = 0; length < line.size(); length += 31) {
    std::ofstream(path) << line << line.substr(0, length);
    {
      ResultLog log = open();
      EXPECT_NE(log.find(job, options), nullptr);
      EXPECT_EQ(log.find(second, options), nullptr);
      llvm::cantFail(log.append(second, options, result));
    }
    ResultLog log = open();
    EXPECT_NE(log.find(job, options), nullptr) << length;
    EXPECT_NE(log.find(second, options), nullptr) << length;
  }
  // Or of the first.
  for (size_t length = 1; length < line.size() - 1; length += 31) {
    std::ofstream(path) << line.substr(0, length);
    llvm::cantFail(open().append(job, options, result));
    EXPECT_NE(open().find(job, options), nullptr) << length;
  }
}

TEST_F(ResultLogTest, ForeignFilesAreLeftAlone) {
  std::ofstream(path) << "layer,shape\nfc1,256x64\n";
  auto log = ResultLog::open(path, "e", true);
  ASSERT_FALSE(bool(log));
  EXPECT_EQ(llvm::toString(log.takeError()),
            path + ": not a file of results, nothing is added to it");
  EXPECT_EQ(contents(path), "layer,shape\nfc1,256x64\n");
  auto none = ResultLog::open(root + "/none/r.jsonl", "e", true);
  EXPECT_FALSE(bool(none));
  llvm::consumeError(none.takeError());
}

TEST_F(ResultLogTest, TheDigestIsOfTheWholePackage) {
  leftBefore = 1;
  std::string package = root + "/package";
  llvm::sys::fs::create_directories(package + "/kernels");
  std::ofstream(package + "/manifest.json") << "{}";
  std::ofstream(package + "/kernels/a.ptx") << "ab";
  std::string digest = llvm::cantFail(packageDigest(package));
  EXPECT_EQ(llvm::cantFail(packageDigest(package + "/")), digest);
  std::ofstream(package + "/kernels/a.ptx") << "ac";
  EXPECT_NE(llvm::cantFail(packageDigest(package)), digest);
  std::ofstream(package + "/kernels/a.ptx") << "ab";
  EXPECT_EQ(llvm::cantFail(packageDigest(package)), digest);
  std::ofstream(package + "/kernels/b.ptx") << "";
  EXPECT_NE(llvm::cantFail(packageDigest(package)), digest);
}

//===----------------------------------------------------------------------===//
// compute-sanitizer, played by a script
//===----------------------------------------------------------------------===//

namespace {
class SanitizeTest : public WorkerTest {
protected:
  /// Runs a job under a tool that runs the worker and then this.
  JobResult sanitize(const std::string &after,
                     const std::string &deed = "behave") {
    std::string tool = root + "/compute-sanitizer";
    std::ofstream(tool)
        << "#!/bin/sh\ntool=$2\necho \"$@\" >> " << root
        << "/calls\nwhile [ \"$1\" != " << SD_MISBEHAVING_WORKER
        << " ]; do shift; done\necho '========= COMPUTE-SANITIZER'\n"
        << "\"$@\"\ncode=$?\n"
        << after << "\nexit $code\n";
    llvm::cantFail(llvm::errorCodeToError(
        llvm::sys::fs::setPermissions(tool, llvm::sys::fs::perms::all_all)));
    leftBefore = 2;
    Job job;
    job.layer = deed;
    job.checkN = {8, 16};
    job.timeN = {16};
    // The fake worker is a CPU's.
    job.emulate = true;
    return sanitizeJob(SD_MISBEHAVING_WORKER, job, options, tool);
  }
};
} // namespace

static constexpr char clean[] =
    "if [ $tool = memcheck ]; then echo '========= ERROR SUMMARY: 0 errors'\n"
    "else echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 "
    "warnings)'; fi";

TEST_F(SanitizeTest, CleanIsVerifiedByBothTools) {
  JobResult result = sanitize(clean);
  EXPECT_EQ(result.status, RunStatus::Verified) << result.message;
  std::string calls = contents(root + "/calls");
  EXPECT_NE(calls.find("--tool memcheck --error-exitcode 77"),
            std::string::npos);
  EXPECT_NE(calls.find("--tool racecheck --error-exitcode 77"),
            std::string::npos);
  EXPECT_NE(calls.find(" --sanitized"), std::string::npos);
}

TEST_F(SanitizeTest, ErrorsAreNamed) {
  JobResult result =
      sanitize("echo '========= Invalid __global__ write of size 4 bytes'\n"
               "echo '=========     at sd_csr_1+0x120'\n"
               "echo '=========     by thread (0,0,0) in block (0,0,0)'\n"
               "echo '========= ERROR SUMMARY: 3 errors'; code=77");
  EXPECT_EQ(result.status, RunStatus::Sanitizer);
  EXPECT_EQ(result.message, "memcheck found 3 errors, the first: Invalid "
                            "__global__ write of size 4 bytes; at "
                            "sd_csr_1+0x120");
  result = sanitize(
      "if [ $tool = memcheck ]; then echo '========= ERROR SUMMARY: 0 errors'\n"
      "else echo '========= Error: Race reported between Write access at k+0x1 "
      "and Read access at k+0x2 [16 hazards]'\n"
      "echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 "
      "warnings)'; code=77; fi");
  EXPECT_EQ(result.status, RunStatus::Sanitizer);
  EXPECT_EQ(result.message.find("racecheck found 1 errors, the first: Error: "
                                "Race reported between"),
            0u)
      << result.message;
}

TEST_F(SanitizeTest, SilenceIsNoPass) {
  EXPECT_EQ(sanitize("").status, RunStatus::Error);
  // A kernel that prints a summary does not hide the exit code.
  EXPECT_EQ(
      sanitize("echo '========= ERROR SUMMARY: 0 errors'; code=77").status,
      RunStatus::Sanitizer);
  JobResult result = sanitize(clean, "silent");
  EXPECT_EQ(result.status, RunStatus::NoResult);
  EXPECT_EQ(result.message.find("memcheck: the worker left no result"), 0u)
      << result.message;
}

TEST_F(SanitizeTest, IsFoundByName) {
  sanitize(clean);
  std::string tool = root + "/compute-sanitizer";
  setenv("SPARSEDITTO_COMPUTE_SANITIZER", tool.c_str(), 1);
  EXPECT_EQ(findComputeSanitizer(), tool);
  setenv("SPARSEDITTO_COMPUTE_SANITIZER", (tool + "x").c_str(), 1);
  EXPECT_EQ(findComputeSanitizer(), "");
  unsetenv("SPARSEDITTO_COMPUTE_SANITIZER");
}
