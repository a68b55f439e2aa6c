//===- NcuReportTest.cpp - Counters from Nsight Compute -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/NcuReport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <random>

using namespace sparseditto;

namespace {
using Texts = std::vector<std::string>;
using Counters = std::map<std::string, double>;
} // namespace

// `ncu --csv --metrics ...`: a row a metric, in front of it what ncu and the
// program print.
static const char details[] =
    R"csv(==PROF== Connected to process 4711 (sd-tune)
ok 1 of 1
==PROF== Profiling "sd_nm" - 0: 0%....50%....100% - 8 passes
==WARNING== Unable to access the following 1 metric: x.y.
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","sd-tune","127.0.0.1","sd_nm(int, ""x"")","1","7","(512, 1, 1)","(128, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","ns","7,760"
"0","4711","sd-tune","127.0.0.1","sd_nm(int, ""x"")","1","7","(512, 1, 1)","(128, 1, 1)","0","9.0","Command line profiler metrics","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","%","41.25"
"0","4711","sd-tune","127.0.0.1","sd_nm(int, ""x"")","1","7","(512, 1, 1)","(128, 1, 1)","0","9.0","Command line profiler metrics","l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum","","1,234,567"
"0","4711","sd-tune","127.0.0.1","sd_nm(int, ""x"")","1","7","(512, 1, 1)","(128, 1, 1)","0","9.0","Command line profiler metrics","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active","%","n/a"
"0","4711","sd-tune","127.0.0.1","sd_nm(int, ""x"")","1","7","(512, 1, 1)","(128, 1, 1)","0","9.0","Command line profiler metrics","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","inst","7.5"
"1","4711","sd-tune","127.0.0.1","sd_nm_2","1","7","(512, 1, 1)","(128, 1, 1)","0","9.0","Command line profiler metrics","launch__waves_per_multiprocessor","","0.48"
)csv";

// `ncu --csv --page raw`: a row a launch, units in the second row.
static const char raw[] =
    R"csv("ID","Kernel Name","Block Size","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","sm__warps_active.avg.pct_of_peak_sustained_active","lts__t_sector_hit_rate.pct"
"","","","us","%","%","%"
"0","k","(64, 1, 1)","5.5","12","34.5","67"
"1","k","(64, 1, 1)","6.5","13","35.5","68"
)csv";

TEST(NcuReport, DetailsPage) {
  NcuReport report = llvm::cantFail(parseNcuCsv(details));
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.kernels[0].name, "sd_nm(int, \"x\")");
  EXPECT_EQ(report.kernels[0].microseconds, 7.76);
  EXPECT_EQ(report.kernels[0].counters,
            (Counters{{"memory_throughput_pct", 41.25},
                      {"shared_bank_conflicts", 1234567},
                      {"stall_long_scoreboard", 7.5}}));
  EXPECT_EQ(report.kernels[1].counters, (Counters{{"waves_per_sm", 0.48}}));
  ASSERT_EQ(report.messages.size(), 1u);
  EXPECT_EQ(report.messages[0],
            "==WARNING== Unable to access the following 1 metric: x.y.");
  EXPECT_EQ(report.find("sd_nm"), &report.kernels[0]);
  EXPECT_EQ(report.find("sd_nm_2"), &report.kernels[1]);
  EXPECT_EQ(report.find("sd"), nullptr);
  EXPECT_EQ(
      absentCounters(report.kernels[0]),
      (Texts{"compute_throughput_pct", "tensor_pipe_pct",
             "achieved_occupancy_pct", "waves_per_sm", "l2_hit_rate_pct"}));
  EXPECT_EQ(absentCounters(report.kernels[1]).back(), "stall reasons");
}

TEST(NcuReport, RawPage) {
  NcuReport report = llvm::cantFail(parseNcuCsv(raw));
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.kernels[0].microseconds, 5.5);
  EXPECT_EQ(report.find("k"), &report.kernels[1]) << "the last launch";
  EXPECT_EQ(report.kernels[1].counters,
            (Counters{{"compute_throughput_pct", 13},
                      {"achieved_occupancy_pct", 35.5},
                      {"l2_hit_rate_pct", 68}}));
}

TEST(NcuReport, RealReport) {
  const char *data = std::getenv("SPARSEDITTO_TEST_DATA");
  auto file = llvm::MemoryBuffer::getFile(std::string(data ? data : "") +
                                          "/ncu/copy_blocked.csv");
  if (!file)
    GTEST_SKIP() << "no test data";
  NcuReport report = llvm::cantFail(parseNcuCsv((*file)->getBuffer()));
  ASSERT_EQ(report.kernels.size(), 1u);
  const NcuKernel &kernel = report.kernels[0];
  EXPECT_EQ(llvm::StringRef(kernel.name).take_front(16), "copy_blocked[v1,");
  // By the titles of the details page; the rate of the same title is none.
  EXPECT_NEAR(kernel.counters.at("memory_throughput_pct"), 61.7, 1);
  EXPECT_NEAR(kernel.counters.at("compute_throughput_pct"), 1.3, 0.2);
  EXPECT_GT(kernel.counters.at("achieved_occupancy_pct"), 10);
  EXPECT_GT(kernel.counters.at("waves_per_sm"), 1);
  EXPECT_NEAR(kernel.microseconds, 20850, 500);
}

TEST(NcuReport, Errors) {
  auto error = [](llvm::StringRef text) {
    auto report = parseNcuCsv(text);
    return report ? "no error" : llvm::toString(report.takeError());
  };
  EXPECT_EQ(error(""), "no table of ncu --csv found");
  EXPECT_EQ(error("==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no "
                  "permission\n"),
            "no table of ncu --csv found; ncu says: ==ERROR== "
            "ERR_NVGPUCTRPERM - no permission");
  EXPECT_EQ(error("==ERROR== kernel \x1b[2J\xff\n"),
            "no table of ncu --csv found; ncu says: ==ERROR== kernel  [2J ");
  EXPECT_EQ(error("\"ID\",\"Kernel Name\n"),
            "ncu --csv: a quoted field does not end");
  EXPECT_EQ(error("\"ID\",\"Kernel Name\"\n\"0\",\"k\n"),
            "ncu --csv: a quoted field does not end");
  EXPECT_EQ(error("\"ID\",\"Metric Name\"\n"),
            "ncu --csv: the table has no \"ID\" or no \"Kernel Name\"");
  std::string many = "ID,Kernel Name\n";
  for (int i = 0; i < 10001; ++i)
    many += std::to_string(i) + ",k\n";
  EXPECT_EQ(error(many), "ncu --csv: more than 10000 launches");
}

TEST(NcuReport, DamagedText) {
  for (llvm::StringRef text :
       {llvm::StringRef(details), llvm::StringRef(raw)}) {
    for (size_t size = 0; size <= text.size(); ++size)
      llvm::consumeError(parseNcuCsv(text.take_front(size)).takeError());
    std::mt19937 random(1);
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = text.str();
      for (int j = 0; j < 4; ++j)
        damaged[random() % damaged.size()] = "\",\n\r\0=9e"[random() % 8];
      if (auto report = parseNcuCsv(damaged)) {
        for (const NcuKernel &kernel : report->kernels)
          for (const auto &[name, value] : kernel.counters)
            EXPECT_TRUE(std::isfinite(value));
      } else {
        llvm::consumeError(report.takeError());
      }
    }
  }
}

TEST(NcuRunner, RunsAProgramAndDropsUnknownMetrics) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("ncu", folder));
  std::string script = (folder + "/ncu").str();
  auto write = [&](llvm::StringRef text) {
    std::error_code code;
    llvm::raw_fd_ostream os(script, code);
    os << "#!/bin/sh\n" << text;
    os.close();
    llvm::sys::fs::setPermissions(script, llvm::sys::fs::all_all);
  };
  setenv("SPARSEDITTO_NCU", script.c_str(), 1);
  EXPECT_EQ(findNcu(), "") << "not there yet";
  // Refuses a metric once; then prints what it was called with.
  write("case \"$*\" in *sm__pipe_tensor_cycles_active*)\n"
        "  echo '==ERROR== Failed to find metric "
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active'\n"
        "  exit 1;;\nesac\n"
        "echo \"==WARNING== $*\"\n"
        "echo '\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric "
        "Value\"'\n"
        "echo '\"0\",\"k\",\"Waves Per SM\",\"\",\"2.5\"'\n");
  auto report = profile({"worker", "job"}, "k", 3, 20);
  ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
  ASSERT_TRUE(report->find("k"));
  EXPECT_EQ(report->find("k")->counters.at("waves_per_sm"), 2.5);
  llvm::StringRef called = report->messages.at(0);
  EXPECT_TRUE(called.contains("--clock-control none")) << called.str();
  EXPECT_TRUE(called.contains("--kernel-name k --launch-skip 3"));
  // Another kernel, another error, no program.
  auto text = [](llvm::Expected<NcuReport> report) {
    return report ? "no error" : llvm::toString(report.takeError());
  };
  EXPECT_EQ(text(profile({"w"}, "other", 0, 20)),
            "ncu, exit code 0: ncu saw no launch of 'other'");
  write("echo '==ERROR== ERR_NVGPUCTRPERM'; exit 3\n");
  EXPECT_EQ(text(profile({"w"}, "k", 0, 20)),
            "ncu, exit code 3: no table of ncu --csv found; ncu says: "
            "==ERROR== ERR_NVGPUCTRPERM");
  write("sleep 30\n");
  EXPECT_EQ(text(profile({"w"}, "k", 0, 1)), "ncu did not finish in 1 s");
  llvm::sys::fs::remove_directories(folder);
  EXPECT_EQ(text(profile({"w"}, "k", 0, 1)),
            "ncu not found in $SPARSEDITTO_NCU, $CUDA_HOME, PATH or "
            "/usr/local/cuda");
  unsetenv("SPARSEDITTO_NCU");
}
