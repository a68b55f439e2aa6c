//===- sd-sweep.cpp - The sweep outside of the tests ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reproduces one case, or runs a plan: in shards, and from where it stopped.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace sparseditto;
using namespace sparseditto::test;
namespace cl = llvm::cl;

static cl::OptionCategory category("Sweep");
static cl::opt<std::string> oneCase("case", cl::desc("Run this case"),
                                    cl::value_desc("text"), cl::cat(category));
static cl::opt<bool> full("full",
                          cl::desc("The nightly plan instead of the sample"),
                          cl::cat(category));
static cl::opt<bool> list("list", cl::desc("Print the cases, run none"),
                          cl::cat(category));
static cl::opt<bool> thorough(
    "thorough",
    cl::desc("Every stride variant at each N, and every one-hot column"),
    cl::cat(category));
static cl::opt<std::string> familyName("family", cl::desc("Only this family"),
                                       cl::value_desc("name"),
                                       cl::cat(category));
static cl::opt<std::string> shard("shard", cl::desc("Every n-th case, from i"),
                                  cl::value_desc("i/n"), cl::init("1/1"),
                                  cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::desc("Of the plan (default 1)"),
                              cl::init(1), cl::cat(category));
static cl::opt<double> seconds("seconds",
                               cl::desc("Start no case after so many"),
                               cl::init(0), cl::cat(category));
static cl::opt<std::string> logFile(
    "log",
    cl::desc("Append what is run; cases with a result in the file are not run "
             "again, and one that was begun twice without one has crashed"),
    cl::value_desc("file"), cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "sd-sweep: " << message << '\n';
  return 2;
}

static void printFailure(llvm::StringRef text, llvm::StringRef what) {
  llvm::outs() << "FAIL " << what << "\n  reproduce: build/unittests/sd-sweep"
               << (thorough ? " --thorough" : "") << " --case '" << text
               << "'\n";
  llvm::outs().flush();
}

namespace {
/// What earlier runs left of a case.
struct Known {
  unsigned begun = 0;
  std::string result; ///< Empty if none, else "ok" or the failure.
};
} // namespace

static llvm::StringMap<Known> readLog() {
  llvm::StringMap<Known> known;
  auto buffer = llvm::MemoryBuffer::getFile(logFile);
  if (!buffer)
    return known;
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    auto [word, rest] = line.split(' ');
    auto [text, result] = rest.split(" | ");
    if (word == "run")
      ++known[text].begun;
    else if (word == "end")
      known[text].result = result.str();
  }
  return known;
}

static int runPlan(const std::vector<SweepCase> &plan) {
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  const llvm::StringMap<Known> before = readLog();
  std::unique_ptr<llvm::raw_fd_ostream> log;
  if (!logFile.empty()) {
    std::error_code error;
    log = std::make_unique<llvm::raw_fd_ostream>(logFile, error,
                                                 llvm::sys::fs::OF_Append);
    if (error)
      return fail("cannot write '" + logFile + "': " + error.message());
  }
  auto record = [&](const llvm::Twine &line) {
    if (log) {
      *log << line << '\n';
      log->flush();
    }
  };
  size_t passed = 0, failed = 0, left = 0;
  int64_t launches = 0;
  double build = 0, total = 0;
  for (const SweepCase &sweepCase : plan) {
    std::string text = sweepCase.str();
    const Known known = before.lookup(text);
    if (known.result == "ok") {
      ++passed;
      continue;
    }
    if (!known.result.empty() || known.begun > 1) {
      ++failed;
      printFailure(text, known.result.empty() ? "crashed" : known.result);
      continue;
    }
    if (seconds > 0 && elapsed() > seconds) {
      ++left;
      continue;
    }
    record("run " + text);
    SweepOutcome outcome = runCase(sweepCase, thorough);
    record("end " + text + " | " +
           (outcome.failure.empty() ? "ok" : outcome.failure));
    launches += outcome.launches;
    build += outcome.buildSeconds;
    total += outcome.totalSeconds;
    if (outcome.failure.empty()) {
      ++passed;
      continue;
    }
    ++failed;
    printFailure(text, outcome.failure);
  }
  llvm::outs() << passed << " cases passed, " << failed << " failed, " << left
               << " left; " << launches << " launches, "
               << llvm::format("%.1f s, %.1f s of them building", total, build)
               << '\n';
  return failed != 0;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "Runs kernels of every family in the emulator.\n");
  if (!oneCase.empty()) {
    auto parsed = SweepCase::parse(oneCase);
    if (!parsed)
      return fail(llvm::toString(parsed.takeError()));
    return runPlan({*parsed});
  }
  auto [first, count] = llvm::StringRef(shard).split('/');
  size_t index, shards;
  if (first.getAsInteger(10, index) || count.getAsInteger(10, shards) ||
      index < 1 || index > shards)
    return fail("--shard is '" + shard + "', expected i/n with 1 <= i <= n");
  if (!familyName.empty() && !findFamily(familyName))
    return fail("no family '" + familyName + "'");
  std::vector<SweepCase> plan;
  size_t next = 0;
  for (const KernelFamily *family : allFamilies()) {
    if (!familyName.empty() && family->name() != familyName)
      continue;
    for (SweepCase &sweepCase :
         full ? fullPlan(*family, seed) : samplePlan(*family, seed))
      if (next++ % shards == index - 1)
        plan.push_back(std::move(sweepCase));
  }
  if (!list)
    return runPlan(plan);
  for (const SweepCase &sweepCase : plan)
    llvm::outs() << sweepCase.str() << '\n';
  return 0;
}
