//===- SassTest.cpp - Facts about machine code ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Sass.h"
#include "sparseditto/Target/Ptxas.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace sparseditto;

// From `cuobjdump -sass` of a block-sparse kernel for sm_90a, arithmetic left
// out.
static const char blockKernel[] = R"sass(
	code for sm_90a
	.target	sm_90a

		Function : bsr
	.headerflags	@"EF_CUDA_ACCELERATORS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/    LDC R1, c[0x0][0x28] ;    /* 0x00000a00ff017b82 */
    /* 0x000fe20000000800 */
        /*0060*/    LDG.E.CONSTANT R5, desc[UR12][R2.64] ;                 /* 0x0000000c02057981 */
    /* 0x000ea8000c1e9900 */
        /*0070*/    LDG.E.CONSTANT R4, desc[UR12][R2.64+0x4] ;             /* 0x0000040c02047981 */
    /* 0x000ee2000c1e9900 */
        /*0480*/    LDG.E.CONSTANT R20, desc[UR12][R22.64] ;               /* 0x0000000c16147981 */
    /* 0x000ea2000c1e9900 */
        /*05a0*/    LDGSTS.E.BYPASS.128 [R34], desc[UR12][R22.64] ;        /* 0x0000000016227fae */
    /* 0x000fe2000b901c4c */
        /*05c0*/    LDGSTS.E.BYPASS.128 [R34+0x880], desc[UR12][R24.64] ;  /* 0x0088000018227fae */
    /* 0x000fe8000b901c4c */
        /*05d0*/    LDGDEPBAR ;    /* 0x00000000000079af */
    /* 0x000e280000000000 */
        /*05e0*/    LDG.E.128.CONSTANT R20, desc[UR12][R36.64+-0x8] ;      /* 0xfffff80c24147981 */
    /* 0x0002a2000c1e9d00 */
        /*0680*/    DEPBAR.LE SB0, 0x0 ;    /* 0x000080000000791a */
    /* 0x000fc80000000000 */
        /*0690*/    BAR.SYNC.DEFER_BLOCKING 0x0 ;    /* 0x0000000000007b1d */
    /* 0x000fec0000010000 */
        /*06a0*/    LDSM.16.MT88.4 R24, [R35] ;    /* 0x000000002318783b */
    /* 0x000ea80000004200 */
        /*06b0*/    LDSM.16.MT88.4 R28, [R35+0x20] ;    /* 0x00002000231c783b */
    /* 0x000e620000004200 */
        /*06c0*/    BAR.SYNC.DEFER_BLOCKING 0x0 ;    /* 0x0000000000007b1d */
    /* 0x000fe20000010000 */
        /*06d0*/    HMMA.16816.F32.BF16 R4, R20.reuse, R24, R4 ;           /* 0x000000181404723c */
    /* 0x044fec0000041804 */
        /*06e0*/    HMMA.16816.F32.BF16 R8, R20.reuse, R26, R8 ;           /* 0x0000001a1408723c */
    /* 0x040fec0000041808 */
        /*06f0*/    HMMA.16816.F32.BF16 R12, R20.reuse, R28, R12 ;         /* 0x0000001c140c723c */
    /* 0x042fec000004180c */
        /*0700*/    HMMA.16816.F32.BF16 R16, R20, R30, R16 ;               /* 0x0000001e1410723c */
    /* 0x000fe20000041810 */
    /* 0x000fd00000000000 */
        /*08a0*/    STG.E.64 desc[UR12][R2.64], R4 ;    /* 0x0000000402007986 */
    /* 0x000fe2000c101b0c */
        /*08c0*/    STG.E.64 desc[UR12][R20.64], R6 ;    /* 0x0000000614007986 */
    /* 0x000fe8000c101b0c */
        /*08d0*/    STG.E.64 desc[UR12][R2.64+0x20], R8 ;    /* 0x0000200802007986 */
    /* 0x000fe8000c101b0c */
        /*08e0*/    STG.E.64 desc[UR12][R20.64+0x20], R10 ;                /* 0x0000200a14007986 */
    /* 0x000fe8000c101b0c */
        /*08f0*/    STG.E.64 desc[UR12][R2.64+0x40], R12 ;                 /* 0x0000400c02007986 */
    /* 0x000fe8000c101b0c */
        /*0900*/    STG.E.64 desc[UR12][R20.64+0x40], R14 ;                /* 0x0000400e14007986 */
    /* 0x000fe8000c101b0c */
        /*0910*/    STG.E.64 desc[UR12][R2.64+0x60], R16 ;                 /* 0x0000601002007986 */
    /* 0x000fe8000c101b0c */
        /*0920*/    STG.E.64 desc[UR12][R20.64+0x60], R18 ;                /* 0x0000601214007986 */
    /* 0x000fe2000c101b0c */
        /*0930*/    EXIT ;    /* 0x000000000000794d */
    /* 0x000fea0003800000 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
        /*09e0*/    NOP;    /* 0x0000000000007918 */
    /* 0x000fc00000000000 */
    /* 0x000fc00000000000 */
		..........
)sass";

TEST(Sass, CountsOfARealKernel) {
  std::vector<SassKernel> kernels = parseSass(blockKernel);
  ASSERT_EQ(kernels.size(), 1u);
  const SassKernel &kernel = kernels[0];
  EXPECT_EQ(kernel.name, "bsr");
  EXPECT_EQ(kernel.chip, "sm_90a");
  EXPECT_EQ(kernel.globalLoads, 4u);
  EXPECT_EQ(kernel.wideGlobalLoads, 1u);
  EXPECT_EQ(kernel.readOnlyGlobalLoads, 4u);
  EXPECT_EQ(kernel.asyncCopies, 2u);
  EXPECT_EQ(kernel.sharedMatrixLoads, 2u);
  EXPECT_EQ(kernel.matrixProducts, 4u);
  EXPECT_EQ(kernel.sparseMatrixProducts, 0u);
  EXPECT_EQ(kernel.barriers, 2u);
  EXPECT_EQ(kernel.globalLoadsAfterBarrier, 0u);
  EXPECT_FALSE(kernel.usesLocalMemory());
  EXPECT_FALSE(kernel.waitsForDependency);
}

// `nvdisasm -c` names functions by their section and prints no
// encodings.
TEST(Sass, OrderOfLoads) {
  std::vector<SassKernel> kernels = parseSass(R"(	.target	sm_90a
first:
.text.first:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0020*/                   ACQBULK ;
        /*0030*/                   LDG.E R8, desc[UR4][R2.64+0x10] ;
        /*0040*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0050*/                   LDG.E.128 R12, desc[UR4][R2.64+0x20] ;
        /*0060*/                   LDGDEPBAR ;
.L_x_0:
        /*0070*/                   HMMA.SP.16832.F32.BF16 R4, R20.reuse, R24, R4, R2, 0x0 ;
        /*0080*/                   HGMMA.SP.64x128x32.F32 R24, R4, gdesc[UR4], R24 ;
        /*0090*/                   IMMA.16816.S8.S8 R4, R4.ROW, R8.COL, R4 ;
        /*00a0*/               @P1 STL.64 [R1+0x8], R2 ;
        /*00b0*/                   LDL R3, [R1+0x8] ;
        /*00c0*/                   UBLKCP [UR8], [UR10], UR4 ;
        /*00d0*/                   NOP;
        /*10e0*/                   EXIT ;
.text._Z6secondPf:
        /*0000*/                   LDG.E R8, desc[UR4][R2.64] ;
)");
  ASSERT_EQ(kernels.size(), 2u);
  const SassKernel &first = kernels[0];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.chip, "sm_90a");
  EXPECT_EQ(first.instructions, 14u);
  EXPECT_EQ(first.globalLoads, 3u);
  EXPECT_EQ(first.wideGlobalLoads, 2u);
  EXPECT_EQ(first.readOnlyGlobalLoads, 1u);
  EXPECT_TRUE(first.waitsForDependency);
  EXPECT_EQ(first.globalLoadsAfterDependencyWait, 2u);
  EXPECT_EQ(first.globalLoadsAfterBarrier, 1u);
  EXPECT_EQ(first.matrixProducts, 3u);
  EXPECT_EQ(first.sparseMatrixProducts, 2u);
  EXPECT_EQ(first.bulkCopies, 1u);
  EXPECT_EQ(first.localStores, 1u);
  EXPECT_EQ(first.localLoads, 1u);
  EXPECT_TRUE(first.usesLocalMemory());
  // State does not leak into the next function.
  EXPECT_EQ(kernels[1].name, "_Z6secondPf");
  EXPECT_EQ(kernels[1].globalLoads, 1u);
  EXPECT_EQ(kernels[1].globalLoadsAfterBarrier, 0u);
  EXPECT_EQ(kernels[1].globalLoadsAfterDependencyWait, 0u);
}

TEST(Sass, OtherText) {
  EXPECT_TRUE(parseSass("").empty());
  EXPECT_TRUE(parseSass("cuobjdump info    : File 'x' does not "
                        "contain device "
                        "code\n")
                  .empty());
  // Instructions before any function, cut comments, nothing
  // behind a predicate.
  EXPECT_TRUE(
      parseSass("        /*0000*/ LDG R1, [R2] ;\n/*00\n/*0010*/ @").empty());
  std::vector<SassKernel> kernels =
      parseSass("Function : k\n/*0000*/\n/*0010*/ "
                "@P0\n/*0020*/ @\n/*zz*/ LDG\n"
                "/* 0x000fc00000000000 */\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].instructions, 0u);
}

TEST(Sass, DamagedText) {
  llvm::StringRef text = blockKernel;
  for (size_t size = 0; size <= text.size(); size += 7)
    EXPECT_LE(parseSass(text.take_front(size)).size(), 1u);
}

TEST(Sass, MissingDisassembler) {
  setenv("SPARSEDITTO_CUOBJDUMP", "/nonexistent/cuobjdump", 1);
  EXPECT_EQ(findDisassembler(), "");
  auto kernels = disassemble("x");
  ASSERT_TRUE(bool(kernels));
  EXPECT_FALSE(kernels->has_value());
  setenv("SPARSEDITTO_CUOBJDUMP", "/bin/false", 1);
  auto failed = disassemble("x");
  ASSERT_FALSE(bool(failed));
  EXPECT_EQ(llvm::toString(failed.takeError()),
            "'/bin/false' failed with exit code 1: ");
  unsetenv("SPARSEDITTO_CUOBJDUMP");
}

TEST(Sass, RealDisassembler) {
  if (findDisassembler().empty() || findPtxas().empty())
    GTEST_SKIP() << "no cuobjdump or no ptxas";
  std::string cubin;
  PtxasReport report =
      llvm::cantFail(runPtxas(".version 7.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry k(.param .u64 p) { .reg .b64 "
                              "%a; .reg .b32 %r<5>;\n"
                              "ld.param.u64 %a, [p]; bar.sync 0;\n"
                              "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%a];\n"
                              "st.global.v4.b32 [%a+16], {%r1, %r2, %r3, "
                              "%r4}; ret; }\n",
                              "sm_80", PtxasOptions(), &cubin));
  ASSERT_TRUE(report.ok()) << report.log;
  auto kernels = disassemble(cubin);
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  ASSERT_EQ((*kernels)->size(), 1u);
  const SassKernel &kernel = (**kernels)[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.chip, "sm_80");
  EXPECT_EQ(kernel.globalLoads, 1u);
  EXPECT_EQ(kernel.wideGlobalLoads, 1u);
  EXPECT_EQ(kernel.globalLoadsAfterBarrier, 1u);
}
