//===- SassFactsTest.cpp - What the machine code says to an author --------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/SassFacts.h"
#include "sparseditto/Target/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace sparseditto;

namespace {
using Texts = std::vector<std::string>;
}

/// values, metadata, X, Y, then scalars: 0x210, 0x218, 0x220, 0x228 on sm_90.
static KernelManifest manifestOf(llvm::StringRef symbol) {
  KernelManifest manifest;
  manifest.symbol = symbol.str();
  manifest.problem.m = 16;
  manifest.problem.k = 32;
  manifest.weightBytes = 576;
  manifest.args = {{ArgKind::Packed, "values", ElementType::F16, 256},
                   {ArgKind::Packed, "metadata", ElementType::U32, 256}};
  llvm::append_range(manifest.args, activationArgs(manifest.problem));
  return manifest;
}

/// A function of these instructions for sm_90a, as nvdisasm prints them;
/// "L:" is a label.
static std::string sass(llvm::ArrayRef<llvm::StringRef> lines) {
  std::string text = "\t.target\tsm_90a\n.text.k:\n";
  unsigned address = 0;
  for (llvm::StringRef line : lines) {
    if (line.ends_with(":")) {
      text += line.str() + "\n";
      continue;
    }
    std::string hex = llvm::utohexstr(address, /*LowerCase=*/true, /*Width=*/4);
    text += "        /*" + hex + "*/                   " + line.str() + " ;\n";
    address += 16;
  }
  return text;
}

static Texts factsOf(llvm::ArrayRef<llvm::StringRef> lines) {
  return sassFacts(sass(lines), manifestOf("k"));
}

static bool has(const Texts &texts, llvm::StringRef text) {
  return llvm::is_contained(texts, text);
}

TEST(SassFacts, FollowsPointersAndSaysWhatIsLate) {
  Texts facts = factsOf({
      "LDC.64 R2, c[0x0][0x210]",         // values
      "ULDC.64 UR4, c[0x0][0x218]",       // metadata
      "LDC R19, c[0x0][0x220]",           // X
      "IMAD.WIDE.U32 R2, R11, 0x10, R2",  //
      "IADD3 R8, P0, R7, UR4, RZ",        //
      "IADD3.X R9, RZ, UR5, RZ, P0, !PT", //
      "LEA R10, P1, R5, R19, 0x1",        //
      "LDGSTS.E.BYPASS.128 [R34], desc[UR12][R10.64], !P2",
      "LDG.E R20, desc[UR6][R8.64+0x4]",
      "DEPBAR.LE SB0, 0x0",
      "LDG.E.128 R24, desc[UR6][R2.64]",
      "BAR.SYNC.DEFER_BLOCKING 0x0",
      "LDG.E.128 R28, desc[UR6][R2.64+0x200]",
      // What was loaded is no pointer any more.
      "LDG.E.U16.CONSTANT R30, desc[UR6][R24.64]",
      "EXIT",
  });
  EXPECT_EQ(facts,
            (Texts{"fault: 1 of 3 weight loads stand between the wait for "
                   "asynchronous copies and the first barrier: issue them "
                   "before that wait",
                   "2 of 3 weight loads stand before the first barrier",
                   "loads of weights: 2 of 128 bits, 1 of 32 bits",
                   "loads of X: 1 of 128 bits, 1 straight to shared memory",
                   "loads of what could not be told: 1 of 16 bits, 1 through "
                   "the read-only path",
                   "1.12 packed bytes a position of W, dense 2",
                   "15 instructions: 5 global memory, 0 shared memory, 0 "
                   "matrix, 0 floating point, 10 others"}));
}

TEST(SassFacts, LateLoadsAreFaults) {
  const llvm::StringRef load = "LDG.E.128 R24, desc[UR6][R2.64]";
  Texts facts = factsOf({"LDC.64 R2, c[0x0][0x210]", "ACQBULK",
                         "BAR.SYNC.DEFER_BLOCKING 0x0", load, load});
  EXPECT_TRUE(has(facts, "fault: all 2 weight loads stand behind the wait for "
                         "the launch before (ACQBULK): nothing is prefetched"));
  EXPECT_TRUE(has(facts, "fault: all 2 weight loads stand behind the first "
                         "barrier: no weight is on its way while the block "
                         "waits"));
  facts = factsOf({"LDC.64 R2, c[0x0][0x210]", load, "ACQBULK", load});
  EXPECT_TRUE(has(facts, "1 of 2 weight loads stand before the wait for the "
                         "launch before (ACQBULK)"))
      << llvm::join(facts, "\n");
  // sm_80 has its parameters elsewhere.
  std::string text = "\tcode for sm_80\n\tFunction : k\n"
                     "        /*0000*/ MOV R2, c[0x0][0x160] ;\n"
                     "        /*0010*/ LDG.E.64 R4, [R2.64] ;\n";
  EXPECT_TRUE(
      has(sassFacts(text, manifestOf("k")), "loads of weights: 1 of 64 bits"));
}

TEST(SassFacts, SerialMatrixProducts) {
  auto mma = [](const char *d, const char *c) {
    return std::string("HMMA.16816.F32 ") + d + ", R20.reuse, R24, " + c;
  };
  std::string a = mma("R4", "R4"), b = mma("R8", "R8");
  Texts facts = factsOf({a, a, a, a});
  EXPECT_TRUE(has(facts, "fault: 3 of 4 matrix instructions add to the result "
                         "of the one just before and wait for it: use more "
                         "accumulators in turn"))
      << llvm::join(facts, "\n");
  facts = factsOf({a, b, a, b});
  EXPECT_TRUE(has(facts, "4 matrix instructions")) << llvm::join(facts, "\n");
  EXPECT_FALSE(llvm::StringRef(facts[0]).starts_with("fault"));
  const llvm::StringRef wgmma =
                            "HGMMA.SP.64x128x32.F32 R24, R4, gdesc[UR4], R24",
                        wait = "WARPGROUP.DEPBAR.LE gsb0, 0x0";
  facts = factsOf({wgmma, wait, wgmma, wait});
  EXPECT_TRUE(has(facts, "fault: 2 of 2 warp-group products are waited for one "
                         "by one"))
      << llvm::join(facts, "\n");
  EXPECT_TRUE(has(facts, "2 matrix instructions, 2 of them sparse, 2 of a warp "
                         "group"));
  facts = factsOf({wgmma, wgmma, wgmma, wait});
  EXPECT_FALSE(llvm::StringRef(facts[0]).starts_with("fault"));
}

TEST(SassFacts, LoopsAndLocalMemory) {
  Texts facts = factsOf({"MOV R1, R2", ".L_x_1:", "FFMA R1, R1, R2, R3",
                         "LDS R4, [R5]", "@P0 BRA `(.L_x_1)", "STL [R1], R2"});
  EXPECT_EQ(facts[0], "fault: 1 access to local memory: spills, or an array "
                      "with run-time indices");
  EXPECT_EQ(facts.back(),
            "5 instructions: 0 global memory, 1 shared memory, 0 matrix, 1 "
            "floating point, 3 others; in loops 3 instructions: 0 global "
            "memory, 1 shared memory, 0 matrix, 1 floating point, 1 others");
  // cuobjdump names the target by its address; a branch ahead is no loop.
  facts = factsOf({"FADD R1, R1, R2", "BRA 0x0", "BRA 0x40", "EXIT"});
  EXPECT_NE(facts.back().find("in loops 2 instructions"), std::string::npos);
}

TEST(SassFacts, OtherText) {
  EXPECT_TRUE(sassFacts("", manifestOf("k")).empty());
  EXPECT_TRUE(sassFacts(sass({"EXIT"}), manifestOf("other")).empty());
  // Damaged operands, registers out of range, no operands.
  std::string text =
      sass({"LDG.E", "LDG.E R999, desc[UR6][R998.64]", "IADD3 R255, R254",
            "LDC.64 R255, c[0x0][0x210]", "LDC R1, c[0x0][0xfffffffffff]",
            "IMAD.WIDE R, , ,", "HMMA", "BRA", "BRA `(", "BRA 0xzz", "DEPBAR",
            "LDG.E.128 R255, desc[UR6][UR255.64]"});
  for (size_t size = 0; size <= text.size(); ++size)
    sassFacts(llvm::StringRef(text).take_front(size), manifestOf("k"));
  EXPECT_FALSE(sassFacts(text, manifestOf("k")).empty());
}

TEST(SassFacts, MissingAndFailingDisassembler) {
  setenv("SPARSEDITTO_CUOBJDUMP", "/nonexistent/cuobjdump", 1);
  auto none = sassFactsOfCubin("x", manifestOf("k"));
  ASSERT_TRUE(bool(none));
  EXPECT_TRUE(none->empty());
  setenv("SPARSEDITTO_CUOBJDUMP", "/bin/false", 1);
  auto failed = sassFactsOfCubin("x", manifestOf("k"));
  EXPECT_FALSE(bool(failed));
  llvm::consumeError(failed.takeError());
  unsetenv("SPARSEDITTO_CUOBJDUMP");
}
