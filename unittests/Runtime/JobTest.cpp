//===- JobTest.cpp - Tests of launches, jobs and libraries ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/ColdRead.h"
#include "sparseditto/Runtime/Device.h"
#include "sparseditto/Runtime/Kernel.h"
#include "sparseditto/Target/Ptxas.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <fstream>

using namespace sparseditto;

//===----------------------------------------------------------------------===//
// Launch contract
//===----------------------------------------------------------------------===//

static KernelManifest manifest() {
  KernelManifest kernel;
  kernel.symbol = "k";
  kernel.strategy.family = "csr";
  kernel.format = "csr";
  kernel.problem = {.m = 64, .k = 32};
  kernel.problem.epilogue.residual = true;
  kernel.nMax = 1000;
  kernel.grid = {GridDim{4, 0}, GridDim{1, 16}, GridDim{}};
  kernel.args.push_back({ArgKind::Packed, "values", ElementType::F16, 256});
  for (KernelArg &arg : activationArgs(kernel.problem))
    kernel.args.push_back(arg);
  return kernel;
}

TEST(Launch, GridFollowsN) {
  KernelManifest kernel = manifest();
  EXPECT_EQ(llvm::cantFail(gridFor(kernel, 17)),
            (std::array<unsigned, 3>{4, 2, 1}));
  kernel.grid[1] = {1, 1};
  auto grid = gridFor(kernel, 70000);
  EXPECT_EQ(llvm::toString(grid.takeError()),
            "kernel 'k': grid dimension 1 is 70000 for N = 70000, at most "
            "65535 is possible");
}

TEST(Launch, DiagnosesArguments) {
  KernelManifest kernel = manifest();
  cuda::DevicePtr packed[] = {0x1000, 0x2000};
  auto errorOf = [&](auto change) {
    LaunchArguments arguments;
    arguments.packed = llvm::ArrayRef<cuda::DevicePtr>(packed, 1);
    arguments.x = 0x3002;
    arguments.y = 0x4002;
    arguments.residual = 0x5002;
    arguments.n = 8;
    arguments.ldx = 32;
    arguments.ldy = 64;
    arguments.ldr = 70;
    change(arguments);
    return llvm::toString(checkLaunchArguments(kernel, arguments));
  };
  EXPECT_EQ(errorOf([](auto &) {}), "");
  EXPECT_EQ(errorOf([](auto &a) { a.n = 1001; }),
            "kernel 'k': N = 1001 is outside [1, 1000]");
  EXPECT_EQ(errorOf([](auto &a) { a.n = 0; }),
            "kernel 'k': N = 0 is outside [1, 1000]");
  EXPECT_EQ(errorOf([](auto &a) { a.ldx = 31; }),
            "kernel 'k': ldx is 31, a row has 32 elements and strides are "
            "32-bit");
  EXPECT_EQ(errorOf([](auto &a) { a.ldr = int64_t(1) << 31; }),
            "kernel 'k': ldr is 2147483648, a row has 64 elements and strides "
            "are 32-bit");
  EXPECT_EQ(errorOf([](auto &a) { a.y = 0; }),
            "kernel 'k': argument 'y' is a null pointer");
  EXPECT_EQ(errorOf([](auto &a) { a.x = 0x3001; }),
            "kernel 'k': argument 'x' is at 0x3001, which is not aligned to 2 "
            "bytes");
  EXPECT_EQ(errorOf([](auto &a) { a.packed = {}; }),
            "kernel 'k': got 0 packed buffers, 'values' is missing");
  EXPECT_EQ(errorOf([&](auto &a) { a.packed = packed; }),
            "kernel 'k': got 2 packed buffers, it reads 1");
}

TEST(Launch, ChipsRunWhereTheyMay) {
  DeviceInfo h200;
  h200.computeCapability = 90;
  EXPECT_TRUE(h200.runs("sm_90"));
  EXPECT_TRUE(h200.runs("sm_90a"));
  for (const char *chip : {"sm_80", "sm_100a", "sm_91", "sm_90x", "sm_", ""})
    EXPECT_FALSE(h200.runs(chip)) << chip;
  DeviceInfo ada;
  ada.computeCapability = 89;
  EXPECT_TRUE(ada.runs("sm_80"));
  EXPECT_FALSE(ada.runs("sm_90"));
}

TEST(Driver, PtxFollowsTheDriver) {
  EXPECT_EQ(maxPtxOfDriver(13000), 90u);
  EXPECT_EQ(maxPtxOfDriver(12080), 88u);
  EXPECT_EQ(maxPtxOfDriver(11040), 74u);
  EXPECT_EQ(maxPtxOfDriver(10020), 0u);
}

TEST(ColdRead, Assembles) {
  PtxasOptions options;
  if (findPtxas().empty())
    GTEST_SKIP() << "no ptxas";
  for (const char *chip : {"sm_80", "sm_90a"}) {
    std::string cubin;
    auto report = runPtxas(coldReadPtx(), chip, options, &cubin);
    ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
    EXPECT_TRUE(report->ok()) << report->log;
    EXPECT_FALSE(cubin.empty());
    const KernelResources *resources = report->find("sd_cold_read");
    ASSERT_NE(resources, nullptr);
    EXPECT_EQ(resources->spillStoreBytes, 0u);
  }
}

//===----------------------------------------------------------------------===//
// Jobs: workers that misbehave
//===----------------------------------------------------------------------===//

namespace {
class JobTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sd-job", path));
    root = std::string(path);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  /// Runs a job with a worker that is this shell script; $2 is the job file,
  /// $3 the result file.
  JobResult with(const std::string &script, unsigned timeout = 20) {
    std::string program = root + "/worker.sh";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    llvm::cantFail(llvm::errorCodeToError(
        llvm::sys::fs::setPermissions(program, llvm::sys::fs::perms::all_all)));
    Job job;
    job.package = "p";
    return runJob(program, job, timeout);
  }
  /// A valid result with a place for the nonce.
  static std::string resultText(const std::string &nonce) {
    JobResult result;
    result.nonce = nonce;
    result.status = RunStatus::Verified;
    std::string text;
    llvm::raw_string_ostream(text) << result.toJSON();
    return text;
  }
  std::string root;
};
} // namespace

TEST_F(JobTest, ReadsAResultOfTheSameJob) {
  JobResult result = with("nonce=$(sed -n 's/.*\"nonce\": \"\\(.*\\)\".*/\\1/p'"
                          " \"$2\")\ncat > \"$3\" <<END\n" +
                          resultText("$nonce") + "\nEND");
  EXPECT_EQ(result.status, RunStatus::Verified) << result.message;
  EXPECT_GT(result.seconds, 0);
}

TEST_F(JobTest, RefusesAForgedNonce) {
  JobResult result = with("echo '" + resultText("0123") + "' > \"$3\"");
  EXPECT_EQ(result.status, RunStatus::NoResult);
  EXPECT_EQ(result.message, "the worker's result is not of this job");
}

TEST_F(JobTest, RefusesSilenceAndGarbage) {
  EXPECT_EQ(with("exit 0").status, RunStatus::NoResult);
  EXPECT_EQ(with("echo garbage > \"$3\"").status, RunStatus::NoResult);
  EXPECT_EQ(with("echo '{\"schema\": 1}' > \"$3\"").status,
            RunStatus::NoResult);
  EXPECT_EQ(with("mkdir \"$3\"").status, RunStatus::NoResult);
  EXPECT_EQ(with("truncate -s 1G \"$3\"").status, RunStatus::NoResult);
}

TEST_F(JobTest, NamesCrashes) {
  JobResult result = with("echo last words; kill -SEGV $$");
  EXPECT_EQ(result.status, RunStatus::Crashed);
  EXPECT_EQ(result.message, "the worker was ended by signal 11 (Segmentation "
                            "fault): last words");
  result = with("exit 7");
  EXPECT_EQ(result.status, RunStatus::Crashed);
  EXPECT_EQ(result.message, "the worker exited with code 7");
}

TEST_F(JobTest, KillsHangs) {
  JobResult result = with("sleep 1000 & sleep 1000", 1);
  EXPECT_EQ(result.status, RunStatus::TimedOut);
  EXPECT_EQ(result.message, "the worker was killed after 1 s");
  EXPECT_LT(result.seconds, 10);
}

TEST_F(JobTest, NeedsAProgram) {
  Job job;
  EXPECT_EQ(runJob(root + "/missing", job, 5).status, RunStatus::Error);
}

TEST(Job, RoundTrips) {
  Job job;
  job.nonce = "ab";
  job.layer = "l";
  job.checkN = {1, 17};
  job.timeN = {16};
  job.emulate = true;
  auto again = Job::fromJSON(job.toJSON());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->toJSON(), job.toJSON());

  llvm::json::Value bad = job.toJSON();
  (*bad.getAsObject())["check_n"] = llvm::json::Array{0};
  auto refused = Job::fromJSON(bad);
  EXPECT_EQ(llvm::toString(refused.takeError()),
            "job: \"check_n\" holds something that is not an N");

  JobResult result;
  result.status = RunStatus::FasterThanFloor;
  result.message = "\xff is not UTF-8";
  Measurement measurement;
  measurement.n = 16;
  measurement.kernel.median = 2.25;
  result.measurements.push_back(measurement);
  auto same = JobResult::fromJSON(result.toJSON());
  ASSERT_TRUE(bool(same)) << llvm::toString(same.takeError());
  EXPECT_EQ(same->status, RunStatus::FasterThanFloor);
  EXPECT_DOUBLE_EQ(same->measurements[0].kernel.median, 2.25);
}

TEST(Job, ModulesRoundTrip) {
  Job job;
  EXPECT_FALSE(job.toJSON().getAsObject()->get("module"));
  job.module.emplace();
  job.module->path = "/a/module";
  job.module->name = "<stdin>";
  job.module->entry = "f";
  job.module->inputs = {"/x.npy", "/w.safetensors#x"};
  job.module->n = 9;
  auto again = Job::fromJSON(job.toJSON());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  ASSERT_TRUE(again->module);
  EXPECT_EQ(again->toJSON(), job.toJSON());
  llvm::json::Value bad = job.toJSON();
  (*bad.getAsObject()->getObject("module"))["n"] = 0;
  auto refused = Job::fromJSON(bad);
  EXPECT_EQ(llvm::toString(refused.takeError()),
            "job: module job: \"n\" is not an integer in [1, 2147483647]");

  JobResult result;
  result.status = RunStatus::Executed;
  ModuleJobResult &module = result.module.emplace();
  module.entry = "f";
  module.kernels.push_back({"k", 2, 8, 256, 10, "4x1x1", "32x1x1", 0.5});
  module.inputs.push_back({"2x3xf32", -1, 2, 1});
  module.results.push_back({"f16", 0, 0, 0});
  module.leakedBytes = 12;
  auto read = JobResult::fromJSON(result.toJSON());
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->toJSON(), result.toJSON());
  bad = result.toJSON();
  bad.getAsObject()->getObject("module")->getArray("kernels")->push_back("k");
  auto wrong = JobResult::fromJSON(bad);
  EXPECT_EQ(llvm::toString(wrong.takeError()),
            "result: module result: kernels is not an object");
}

TEST(Job, StatusNamesRoundTrip) {
  for (int i = 0; i <= int(RunStatus::Error); ++i)
    EXPECT_EQ(parseRunStatus(name(RunStatus(i))), RunStatus(i));
  EXPECT_FALSE(parseRunStatus("fine"));
}
