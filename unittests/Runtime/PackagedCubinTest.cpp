//===- PackagedCubinTest.cpp - Tests that a cubin is that of its PTX ------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Target/Ptxas.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <fstream>

using namespace sparseditto;
namespace fs = llvm::sys::fs;

namespace {
class PackagedCubin : public testing::Test {
protected:
  void SetUp() override {
    if (findPtxas().empty())
      GTEST_SKIP() << "no ptxas";
    llvm::SmallString<128> path;
    ASSERT_FALSE(fs::createUniqueDirectory("sd-cubin", path));
    package.directory = std::string(path);
    kernel.symbol = "k";
    kernel.strategy.family = "custom";
    kernel.format = "rows";
    kernel.problem = {.m = 4, .k = 4};
    kernel.chip = "sm_80";
    kernel.ptxVersion = 80;
    kernel.ptxFile = "k.ptx";
    kernel.cubinFile = "k.cubin";
    for (const KernelArg &arg : activationArgs(kernel.problem))
      kernel.args.push_back(arg);
  }
  void TearDown() override { fs::remove_directories(package.directory); }

  static std::string ptxOf(const std::string &body) {
    return ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n, "
           ".param .u32 ldx, .param .u32 ldy)\n{\n  .reg .b32 %r<4>;\n"
           "  .reg .b64 %rd<4>;\n  ld.param.u64 %rd1, [y];\n" +
           body + "\n  ret;\n}\n";
  }
  static std::string assembled(const std::string &ptx) {
    std::string cubin;
    PtxasReport report =
        llvm::cantFail(runPtxas(ptx, "sm_80", PtxasOptions(), &cubin));
    EXPECT_TRUE(report.ok()) << report.log;
    return cubin;
  }
  std::string check(const std::string &ptx, const std::string &cubin) {
    std::ofstream(package.directory + "/k.ptx") << ptx;
    std::ofstream(package.directory + "/k.cubin", std::ios::binary) << cubin;
    return llvm::toString(checkPackagedCubin(package, kernel));
  }

  Package package;
  KernelManifest kernel;
};
} // namespace

TEST_F(PackagedCubin, IsThatOfThePtx) {
  std::string ptx = ptxOf("  mov.b32 %r1, 1;\n  st.global.b32 [%rd1], %r1;");
  EXPECT_EQ(check(ptx, assembled(ptx)), "");
}

TEST_F(PackagedCubin, OfOtherPtxIsRefused) {
  // The text is harmless; the code waits.
  std::string shown = ptxOf("  mov.b32 %r1, 1;\n  st.global.b32 [%rd1], %r1;");
  std::string hidden = ptxOf("  nanosleep.u32 5;");
  std::string message = check(shown, assembled(hidden));
  EXPECT_EQ(message.find("k.cubin is not what ptxas (release "), 0u) << message;
}

TEST_F(PackagedCubin, OfAnotherPtxasIsNotRead) {
  std::string cubin = assembled(ptxOf(""));
  PtxasVersion version = llvm::cantFail(ptxasVersion(findPtxas()));
  size_t at = cubin.find(version.build);
  ASSERT_NE(at, std::string::npos) << version.build;
  cubin.replace(at, version.build.size(),
                std::string(version.build.size(), '9'));
  EXPECT_EQ(check(ptxOf(""), cubin), "");
}

TEST_F(PackagedCubin, NothingIllegalReachesPtxas) {
  std::string message = check(ptxOf("  mov.u32 %r1, %clock;"), "anything");
  EXPECT_EQ(message.find("k.ptx: PTX line "), 0u) << message;
}

TEST_F(PackagedCubin, RefusalIsAStatus) {
  std::ofstream(package.directory + "/k.ptx") << ptxOf("  nanosleep.u32 5;");
  std::ofstream(package.directory + "/k.cubin") << "anything";
  JobResult result =
      runPackageJob("/nonexistent", package, kernel, Job(), JobOptions());
  EXPECT_EQ(result.status, RunStatus::Illegal);
  EXPECT_NE(result.message.find("'nanosleep.u32'"), std::string::npos)
      << result.message;
}
