//===- PtxasLogTest.cpp - Reading ptxas logs ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Ptxas.h"
#include "gtest/gtest.h"
#include <random>

using namespace sparseditto;

using Banks = std::vector<std::pair<unsigned, unsigned>>;

// The logs below are what ptxas 13.0 prints, unless a test says otherwise.

TEST(PtxasLog, TwoKernels) {
  PtxasReport report = parsePtxasLog(
      R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k2' for 'sm_80'
ptxas info    : Function properties for k2
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers, 4096 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 17.243 ms
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 368 bytes cmem[0]
ptxas info    : Compile time = 0.694 ms
)");
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_TRUE(report.messages.empty());
  EXPECT_TRUE(report.ok());
  const KernelResources *first = report.find("k2", "sm_80");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->registers, 8u);
  EXPECT_EQ(first->barriers, 1u);
  EXPECT_EQ(first->sharedBytes, 4096u);
  EXPECT_EQ(first->constantBanks, (Banks{{0, 360}}));
  const KernelResources *second = report.find("k");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->registers, 10u);
  EXPECT_EQ(second->barriers, 0u);
  EXPECT_EQ(second->sharedBytes, 0u);
  EXPECT_EQ(report.find("k", "sm_90a"), nullptr);
  EXPECT_EQ(report.find("k3"), nullptr);
}

TEST(PtxasLog, SpillsAndTheWarningAboutThem) {
  PtxasReport report = parsePtxasLog(
      R"(ptxas warning : Registers are spilled to local memory in function 'spiller', 180 bytes spill stores, 240 bytes spill loads
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'spiller' for 'sm_80'
ptxas info    : Function properties for spiller
    184 bytes stack frame, 180 bytes spill stores, 240 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 184 bytes cumulative stack size, 360 bytes cmem[0]
)");
  const KernelResources *kernel = report.find("spiller", "sm_80");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->stackFrameBytes, 184u);
  EXPECT_EQ(kernel->spillStoreBytes, 180u);
  EXPECT_EQ(kernel->spillLoadBytes, 240u);
  EXPECT_EQ(kernel->cumulativeStackBytes, 184u);
  EXPECT_EQ(kernel->registers, 64u);
  ASSERT_EQ(report.messages.size(), 1u);
  EXPECT_EQ(report.messages[0].severity, PtxasSeverity::Warning);
  EXPECT_EQ(report.messages[0].kernel, "spiller");
  EXPECT_EQ(report.messages[0].code, "");
  EXPECT_FALSE(report.hasPerformanceFault());
}

TEST(PtxasLog, DeviceFunctionAfterTheEntry) {
  PtxasReport report = parsePtxasLog(
      R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'caller' for 'sm_80'
ptxas info    : Function properties for caller
    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 64 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Compile time = 2.422 ms
ptxas info    : Function properties for helper
    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
)");
  ASSERT_EQ(report.kernels.size(), 1u);
  EXPECT_EQ(report.kernels[0].kernel, "caller");
  EXPECT_EQ(report.kernels[0].stackFrameBytes, 64u);
  EXPECT_EQ(report.kernels[0].spillStoreBytes, 0u);
}

// From CUDA 11: the properties of a device function stand between an entry's
// lines and its resources, and MSBuild numbers the lines.
TEST(PtxasLog, DeviceFunctionInsideTheEntryBehindMSBuild) {
  PtxasReport report = parsePtxasLog(
      "  1>ptxas info    : 0 bytes gmem, 32768 bytes cmem[3]\r\n"
      "  1>ptxas info    : Compiling entry function '_Z4mainPf' for 'sm_86'\r\n"
      "  1>ptxas info    : Function properties for _Z4mainPf\r\n"
      "  1>    32 bytes stack frame, 1 bytes spill stores, 2 bytes spill "
      "loads\r\n"
      "  1>ptxas info    : Function properties for _Z3sqrf\r\n"
      "  1>    8 bytes stack frame, 70 bytes spill stores, 80 bytes spill "
      "loads\r\n"
      "  1>ptxas info    : Used 63 registers, 712 bytes cumulative stack size, "
      "8192+16 bytes smem, 324 bytes cmem[0], 4 bytes cmem[2], 24 bytes lmem, "
      "1 textures\r\n"
      "12>  ptxas info    : Compiling entry function '_Z4mainPf' for "
      "'sm_90'\r\n"
      "12>  ptxas info    : Used 40 registers\r\n");
  ASSERT_EQ(report.kernels.size(), 2u);
  const KernelResources *first = report.find("_Z4mainPf", "sm_86");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->registers, 63u);
  EXPECT_EQ(first->stackFrameBytes, 32u);
  EXPECT_EQ(first->spillStoreBytes, 1u);
  EXPECT_EQ(first->spillLoadBytes, 2u);
  EXPECT_EQ(first->cumulativeStackBytes, 712u);
  EXPECT_EQ(first->sharedBytes, 8208u);
  EXPECT_EQ(first->localBytes, 24u);
  EXPECT_EQ(first->constantBanks, (Banks{{0, 324}, {2, 4}}));
  const KernelResources *second = report.find("_Z4mainPf", "sm_90");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->registers, 40u);
  EXPECT_TRUE(report.messages.empty());
}

TEST(PtxasLog, OrderedMetadataAdvisory) {
  PtxasReport report = parsePtxasLog(
      "ptxas sp.ptx, line 41; info    : Advisory: Modifier "
      "'.sp::ordered_metadata' should be used on instruction 'mma' instead of "
      "modifier '.sp' as it is expected to have substantially reduced "
      "performance on some future architectures\n");
  ASSERT_EQ(report.messages.size(), 1u);
  EXPECT_EQ(report.messages[0].severity, PtxasSeverity::Advisory);
  EXPECT_EQ(report.messages[0].code, "ordered-metadata");
  EXPECT_EQ(report.messages[0].line, 41u);
  EXPECT_EQ(report.messages[0].text.find("Modifier"), 0u);
  EXPECT_TRUE(report.hasPerformanceFault());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.firstError(), "");
}

TEST(PtxasLog, SerializedWgmma) {
  PtxasReport report = parsePtxasLog(
      "ptxas info    : (C7519) warpgroup.arrive is injected in around line 150 "
      "by compiler to allow use of registers in GMMA in function 'k'\n"
      "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async "
      "instructions are serialized due to non wgmma instructions reading "
      "accumulator registers of  a wgmma between start and end of the pipeline "
      "stage in the function 'k'\n");
  ASSERT_EQ(report.messages.size(), 2u);
  EXPECT_EQ(report.messages[0].code, "C7519");
  EXPECT_EQ(report.messages[0].line, 150u);
  EXPECT_EQ(report.messages[0].kernel, "k");
  EXPECT_EQ(report.messages[1].code, "C7514");
  EXPECT_EQ(report.messages[1].line, 0u);
  EXPECT_EQ(report.messages[1].kernel, "k");
  EXPECT_EQ(report.messages[1].text.find("Potential Performance Loss"), 0u);
  EXPECT_TRUE(report.hasPerformanceFault());
}

TEST(PtxasLog, WhichCodesAreFaults) {
  auto isFault = [](const std::string &code) {
    return parsePtxasLog("ptxas info    : (" + code + ") text in function 'k'")
        .hasPerformanceFault();
  };
  for (const char *code :
       {"C7510", "C7511", "C7512", "C7513", "C7514", "C7515", "C7517", "C7519"})
    EXPECT_TRUE(isFault(code)) << code;
  for (const char *code : {"C7508", "C7516", "C7520", "C75100", "X7510", "C"})
    EXPECT_FALSE(isFault(code)) << code;
}

TEST(PtxasLog, ErrorsWithTheirLines) {
  PtxasReport report = parsePtxasLog(
      "ptxas bad.ptx, line 5; error   : Not a name of any known instruction: "
      "'bad'\n"
      "ptxas /tmp/a, line x; b/bad.ptx, line 7; error   : Unknown symbol "
      "'%f9'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n");
  ASSERT_EQ(report.messages.size(), 3u);
  EXPECT_EQ(report.messages[0].line, 5u);
  EXPECT_EQ(report.messages[1].line, 7u);
  EXPECT_EQ(report.messages[1].text, "Unknown symbol '%f9'");
  EXPECT_EQ(report.messages[2].severity, PtxasSeverity::Fatal);
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.firstError(),
            "line 5: Not a name of any known instruction: 'bad'");
}

TEST(PtxasLog, FatalAlone) {
  PtxasReport report =
      parsePtxasLog("ptxas fatal   : Unresolved extern function 'foo'\n");
  EXPECT_EQ(report.firstError(), "Unresolved extern function 'foo'");
  EXPECT_EQ(report.messages[0].kernel, "foo");
  EXPECT_FALSE(report.ok());
}

TEST(PtxasLog, ErrorBesideResources) {
  PtxasReport report = parsePtxasLog(
      R"(ptxas error   : Entry function 'k' uses too much shared data (0xea60 bytes, 0xc000 max)
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers, 60000 bytes smem, 352 bytes cmem[0]
)");
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.messages[0].kernel, "k");
  ASSERT_NE(report.find("k"), nullptr);
  EXPECT_EQ(report.find("k")->sharedBytes, 60000u);
}

// nvJitLink prints the same lines without the program's name.
TEST(PtxasLog, WithoutProgramName) {
  PtxasReport report = parsePtxasLog(
      "info    : Function properties for k\n"
      "    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "info    : Used 12 registers, used 0 barriers, 528 bytes cmem[0], 0 "
      "bytes "
      "lmem\n"
      "warning : something\n");
  ASSERT_EQ(report.kernels.size(), 1u);
  EXPECT_EQ(report.kernels[0].kernel, "k");
  EXPECT_EQ(report.kernels[0].chip, "");
  EXPECT_EQ(report.kernels[0].registers, 12u);
  EXPECT_EQ(report.kernels[0].spillLoadBytes, 8u);
  ASSERT_EQ(report.messages.size(), 1u);
  EXPECT_EQ(report.messages[0].severity, PtxasSeverity::Warning);
}

TEST(PtxasLog, KeepsTheTextAndIgnoresWhatItDoesNotKnow) {
  std::string log = "nvcc warning : incompatible redefinition\n\n"
                    "some linker chatter: 12 bytes stack frame of mind\n"
                    "ptxas info    : Overriding maximum register limit 256 for "
                    "'k' with  32 of maxrregcount option";
  PtxasReport report = parsePtxasLog(log);
  EXPECT_EQ(report.log, log);
  ASSERT_EQ(report.messages.size(), 1u);
  EXPECT_EQ(report.messages[0].severity, PtxasSeverity::Info);
}

TEST(PtxasLog, NumbersThatDoNotFit) {
  PtxasReport report =
      parsePtxasLog("ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
                    "ptxas info    : Used 99999999999999999999 registers, -3 "
                    "bytes smem, used "
                    "2 barriers, 8 bytes cmem[x], 9 bytes cmem[1, 10 bytes "
                    "cmem[4294967296]\n");
  ASSERT_EQ(report.kernels.size(), 1u);
  EXPECT_EQ(report.kernels[0].registers, 0u);
  EXPECT_EQ(report.kernels[0].sharedBytes, 0u);
  EXPECT_EQ(report.kernels[0].barriers, 2u);
  EXPECT_TRUE(report.kernels[0].constantBanks.empty());
}

TEST(PtxasLog, FloodOfMessages) {
  std::string log;
  for (int i = 0; i < 50000; ++i)
    log += "ptxas k.ptx, line 1; error   : no\n";
  PtxasReport report = parsePtxasLog(log);
  EXPECT_EQ(report.messages.size(), 1000u);
  EXPECT_EQ(report.log.size(), log.size());
}

TEST(PtxasLog, ErrorBehindAFlood) {
  std::string log;
  for (int i = 0; i < 1500; ++i)
    log += "ptxas info    : (C7508) Setmaxnreg ignored\n";
  log += "ptxas k.ptx, line 9; error   : no\n";
  PtxasReport report = parsePtxasLog(log);
  EXPECT_EQ(report.messages.size(), 1000u);
  EXPECT_EQ(report.firstError(), "line 9: no");
  EXPECT_FALSE(report.ok());
}

// Cuts and byte flips of a real log: no crash, and no kernel out of nothing.
TEST(PtxasLog, DamagedText) {
  const std::string log =
      R"(ptxas sp.ptx, line 41; info    : Advisory: Modifier '.sp::ordered_metadata' should
ptxas info    : (C7514) Potential Performance Loss: in the function 'k'
ptxas info    : Compiling entry function 'sp' for 'sm_80'
ptxas info    : Function properties for sp
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 26 registers, used 0 barriers, 8+8 bytes smem, 384 bytes cmem[0]
)";
  for (size_t size = 0; size <= log.size(); ++size)
    EXPECT_LE(
        parsePtxasLog(llvm::StringRef(log).take_front(size)).kernels.size(),
        1u);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = log;
    for (int i = 0; i < 8; ++i)
      damaged[random() % damaged.size()] = char(random());
    EXPECT_LE(parsePtxasLog(damaged).kernels.size(), 3u);
  }
}
