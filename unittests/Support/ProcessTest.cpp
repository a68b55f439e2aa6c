//===- ProcessTest.cpp - Running other programs ---------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/Process.h"
#include "gtest/gtest.h"
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sparseditto;

static ProcessResult shell(const std::string &script, unsigned timeout = 20,
                           size_t maxOutput = 1 << 20) {
  return llvm::cantFail(
      runProcess({"/bin/sh", "-c", script}, timeout, maxOutput));
}

static double seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

TEST(Process, CollectsBothStreamsAndTheExitCode) {
  ProcessResult result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.timedOut);
  EXPECT_FALSE(result.truncated);
}

TEST(Process, StdinIsEmpty) {
  EXPECT_EQ(shell("cat; echo end").output, "end\n");
}

TEST(Process, StdinIsTheInputAndStderrIsKeptApart) {
  // Larger than a pipe's buffer, and not read to its end.
  std::string input = "first\n" + std::string(1 << 20, 'x');
  ProcessOptions options;
  options.input = input;
  options.separateErrors = true;
  options.timeoutSeconds = 20;
  auto result = runProcess(
      {"/bin/sh", "-c", "read line; echo $line; wc -c; echo err >&2"}, options);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->output, "first\n1048576\n");
  EXPECT_EQ(result->errors, "err\n");
  options.input = "unread";
  result = runProcess({"/bin/sh", "-c", "exit 0"}, options);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->output + result->errors, "");
}

TEST(Process, CancelKillsIt) {
  std::atomic<bool> cancelled = false;
  ProcessOptions options;
  options.cancelled = &cancelled;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancelled = true;
  });
  auto result = runProcess({"/bin/sh", "-c", "sleep 60"}, options);
  canceller.join();
  ASSERT_TRUE(bool(result));
  EXPECT_TRUE(result->cancelled);
  EXPECT_FALSE(result->timedOut);
  EXPECT_EQ(result->signal, SIGKILL);
}

TEST(Process, Signal) {
  ProcessResult result = shell("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.exitCode, 128 + SIGSEGV);
}

TEST(Process, TimeoutKillsTheWholeGroup) {
  auto start = std::chrono::steady_clock::now();
  // The grandchild says its number and sleeps on; so does the child.
  ProcessResult result = shell("sleep 60 & echo $!; wait", /*timeout=*/1);
  EXPECT_TRUE(result.timedOut);
  EXPECT_LT(seconds(start), 10.0);
  pid_t grandchild = std::atoi(result.output.c_str());
  ASSERT_GT(grandchild, 1);
  // Killed; whoever inherited it may need a moment to reap it.
  for (int i = 0; i < 200 && kill(grandchild, 0) == 0; ++i) {
    std::string state = shell("ps -o stat= -p " + result.output).output;
    if (state.empty() || state[0] == 'Z')
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(kill(grandchild, 0), 0);
}

TEST(Process, DoesNotWaitForAChildThatHoldsTheOutputOpen) {
  auto start = std::chrono::steady_clock::now();
  ProcessResult result = shell("sleep 60 & echo done");
  EXPECT_EQ(result.output, "done\n");
  EXPECT_LT(seconds(start), 10.0);
}

TEST(Process, FloodIsCut) {
  ProcessResult result =
      shell("head -c 3000000 /dev/zero", 20, /*maxOutput=*/1000);
  EXPECT_EQ(result.output.size(), 1000u);
  EXPECT_TRUE(result.truncated);
  EXPECT_EQ(result.exitCode, 0);
}

TEST(Process, EndlessFloodTimesOut) {
  ProcessResult result = shell("while :; do echo flood; done", /*timeout=*/1,
                               /*maxOutput=*/5000);
  EXPECT_TRUE(result.timedOut);
  EXPECT_EQ(result.output.size(), 5000u);
}

TEST(Process, KeepsAllOfALongOutput) {
  ProcessResult result =
      shell("head -c 300000 /dev/zero | tr '\\0' x", 20, 1 << 20);
  EXPECT_EQ(result.output, std::string(300000, 'x'));
  EXPECT_FALSE(result.truncated);
}

TEST(Process, MissingProgram) {
  auto result = runProcess({"/nonexistent/ptxas"}, 5);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "cannot run '/nonexistent/ptxas': No such file or directory");
}

TEST(Forked, ReturnsThePayload) {
  std::string payload;
  auto result = runForked(
      [](int file) {
        return write(file, "result", 6) == 6 && write(2, "said", 4) == 4 ? 5
                                                                         : 99;
      },
      20, 0, payload);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->exitCode, 5);
  EXPECT_EQ(payload, "result");
  EXPECT_EQ(result->output, "said");
}

TEST(Forked, AbortStaysInTheChild) {
  std::string payload;
  auto result = runForked([](int) -> int { std::abort(); }, 20, 0, payload);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->signal, SIGABRT);
  EXPECT_EQ(payload, "");
}

TEST(Forked, EndlessLoopTimesOut) {
  std::string payload;
  auto result = runForked(
      [](int) {
        while (true)
          pause();
        return 0;
      },
      1, 0, payload);
  ASSERT_TRUE(bool(result));
  EXPECT_TRUE(result->timedOut);
}

TEST(Forked, MemoryLimit) {
  std::string payload;
  auto take = [](size_t bytes) {
    return [bytes](int) {
      // Volatile: a compiler may leave out memory that nobody looks at.
      void *volatile memory = std::malloc(bytes);
      bool got = memory != nullptr;
      std::free(memory);
      return got ? 0 : 1;
    };
  };
  uint64_t limit = uint64_t(256) << 20;
  auto small = runForked(take(16 << 20), 20, limit, payload);
  ASSERT_TRUE(bool(small));
  EXPECT_EQ(small->exitCode, 0);
  auto large = runForked(take(size_t(1) << 30), 20, limit, payload);
  ASSERT_TRUE(bool(large));
  EXPECT_EQ(large->exitCode, 1);
}
