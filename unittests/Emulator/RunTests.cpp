//===- RunTests.cpp - Kernels that must run right -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestKernel.h"
#include <numeric>

using namespace sparseditto;

namespace {

/// y[i] = 2 * x[i] for i < n, i = block * 64 + thread.
constexpr llvm::StringLiteral doubleKernel = R"mlir(
gpu.module @m {
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32) attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 64, 1, 1>} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %b = nvvm.read.ptx.sreg.ctaid.x : i32
    %d = nvvm.read.ptx.sreg.ntid.x : i32
    %o = llvm.mul %b, %d : i32
    %i = llvm.add %o, %t : i32
    %in = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %in, ^work, ^done
  ^work:
    %xp = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %yp = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %xp : !llvm.ptr<1> -> f32
    %w = llvm.fadd %v, %v : f32
    llvm.store %w, %yp : f32, !llvm.ptr<1>
    llvm.br ^done
  ^done:
    llvm.return
  }
}
)mlir";

TEST(Run, ManyBlocksWithATail) {
  for (unsigned workers : {1u, 2u}) {
    EmulatorOptions options;
    options.workers = workers;
    auto kernel = compile(doubleKernel, options);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->numArguments(), 3u);
    std::vector<float> x(1000);
    std::iota(x.begin(), x.end(), 0.5f);
    for (auto side : {GuardedBufferOptions::End, GuardedBufferOptions::Start}) {
      GuardedBufferOptions place;
      place.side = side;
      place.alignment = 4;
      GuardedBuffer in = bufferOf("x", x, 4);
      GuardedBuffer out =
          llvm::cantFail(GuardedBuffer::create("y", 4000, place));
      LaunchReport report;
      ASSERT_EQ(textOf(kernel->launch(
                    {16, 1, 1}, {64, 1, 1}, 0,
                    {in.devicePointer(), out.devicePointer(), 1000}, &report)),
                "");
      EXPECT_EQ(report.blocks, 16u);
      EXPECT_EQ(report.threads, 1024u);
      std::vector<float> y = valuesOf<float>(out);
      for (unsigned i = 0; i < 1000; ++i)
        ASSERT_EQ(y[i], 2 * x[i]) << i;
    }
  }
}

/// Each thread stores its index in shared memory; after the barrier it reads
/// that of the thread `n-1-t` and adds the block's three coordinates.
TEST(Run, SharedMemoryBarrierAndCoordinates) {
  auto kernel = compile(R"mlir(
module {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x i32>
  llvm.func @k(%y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %tx = nvvm.read.ptx.sreg.tid.x : i32
    %ty = nvvm.read.ptx.sreg.tid.y : i32
    %nx = nvvm.read.ptx.sreg.ntid.x : i32
    %r = llvm.mul %ty, %nx : i32
    %t = llvm.add %r, %tx : i32
    %base = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %p = llvm.getelementptr %base[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %t, %p : i32, !llvm.ptr<3>
    nvvm.barrier0
    %last = llvm.mlir.constant(255 : i32) : i32
    %m = llvm.sub %last, %t : i32
    %q = llvm.getelementptr %base[%m] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %q : !llvm.ptr<3> -> i32
    %cx = nvvm.read.ptx.sreg.ctaid.x : i32
    %cy = nvvm.read.ptx.sreg.ctaid.y : i32
    %cz = nvvm.read.ptx.sreg.ctaid.z : i32
    %gx = nvvm.read.ptx.sreg.nctaid.x : i32
    %gy = nvvm.read.ptx.sreg.nctaid.y : i32
    %z1 = llvm.mul %cz, %gy : i32
    %z2 = llvm.add %z1, %cy : i32
    %z3 = llvm.mul %z2, %gx : i32
    %block = llvm.add %z3, %cx : i32
    %c256 = llvm.mlir.constant(256 : i32) : i32
    %o = llvm.mul %block, %c256 : i32
    %i = llvm.add %o, %t : i32
    %w = llvm.add %v, %o : i32
    %yp = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %w, %yp : i32, !llvm.ptr<1>
    llvm.return
  }
}
)mlir");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->staticSharedBytes(), 1024u);
  GuardedBuffer out = bufferOf("y", std::vector<int>(12 * 256));
  ASSERT_EQ(
      textOf(kernel->launch({3, 2, 2}, {32, 8, 1}, 0, {out.devicePointer()})),
      "");
  std::vector<int> y = valuesOf<int>(out);
  for (int block = 0; block < 12; ++block)
    for (int t = 0; t < 256; ++t)
      ASSERT_EQ(y[block * 256 + t], block * 256 + 255 - t);
}

/// Warp shuffles, votes and reductions against their definition; `body` leaves
/// its result in %v.
std::vector<uint32_t> runWarp(llvm::StringRef body,
                              llvm::StringRef type = "i32",
                              unsigned lanes = 32) {
  std::string text = R"mlir(
module {
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %xp = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %a = llvm.load %xp : !llvm.ptr<1> -> i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %half = llvm.mlir.constant(4127 : i32) : i32
)mlir" + body.str() +
                     R"mlir(
    %yp = llvm.getelementptr %y[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %v, %yp : )mlir" +
                     type.str() + R"mlir(, !llvm.ptr<1>
    llvm.return
  }
}
)mlir";
  auto kernel = compile(text);
  if (!kernel)
    return {};
  std::vector<uint32_t> x(32);
  for (unsigned i = 0; i < 32; ++i)
    x[i] = i * i + 7;
  GuardedBuffer in = bufferOf("x", x);
  GuardedBuffer out = bufferOf("y", std::vector<uint32_t>(32));
  EXPECT_EQ(textOf(kernel->launch({1, 1, 1}, {lanes, 1, 1}, 0,
                                  {in.devicePointer(), out.devicePointer()})),
            "");
  return valuesOf<uint32_t>(out);
}

uint32_t input(unsigned lane) { return lane * lane + 7; }

TEST(Run, ShuffleIdx) {
  auto y = runWarp("%v = nvvm.shfl.sync idx %all, %a, %c2, %c31 : i32 -> i32");
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], input(2));
}

TEST(Run, ShuffleIdxInSegmentsOfSixteen) {
  // c = 0x101f: segment mask 16, clamp 31.
  auto y = runWarp("%v = nvvm.shfl.sync idx %all, %a, %c2, %half : i32 -> i32");
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], input((i & 16) + 2));
}

TEST(Run, ShuffleBfly) {
  auto y = runWarp("%v = nvvm.shfl.sync bfly %all, %a, %c2, %c31 : i32 -> i32");
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], input(i ^ 2));
}

TEST(Run, ShuffleUpKeepsTheLowLanes) {
  auto y = runWarp("%v = nvvm.shfl.sync up %all, %a, %c2, %c0 : i32 -> i32");
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], input(i < 2 ? i : i - 2));
}

TEST(Run, ShuffleDownWithPredicate) {
  auto y = runWarp(R"mlir(
    %s = nvvm.shfl.sync down %all, %a, %c2, %c31 {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
    %p = llvm.extractvalue %s[1] : !llvm.struct<(i32, i1)>
    %r = llvm.extractvalue %s[0] : !llvm.struct<(i32, i1)>
    %v = llvm.select %p, %r, %c0 : i1, i32)mlir");
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], i < 30 ? input(i + 2) : 0);
}

TEST(Run, ShuffleOfExitedLanesIsAllowedIfNotRead) {
  // 20 threads: lanes 20-31 do not exist; bfly 1 stays inside.
  auto y = runWarp("%v = nvvm.shfl.sync bfly %all, %a, %c1, %c31 : i32 -> i32",
                   "i32", 20);
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 20; ++i)
    EXPECT_EQ(y[i], input(i ^ 1));
}

TEST(Run, Ballot) {
  auto y = runWarp(R"mlir(
    %odd = llvm.and %a, %c1 : i32
    %p = llvm.icmp "eq" %odd, %c1 : i32
    %v = nvvm.vote.sync ballot %all, %p -> i32)mlir");
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], 0x55555555u);
}

TEST(Run, Reductions) {
  struct Case {
    const char *name;
    uint32_t (*fold)(uint32_t, uint32_t);
  };
  for (const Case &c : std::initializer_list<Case>{
           {"add", [](uint32_t a, uint32_t b) { return a + b; }},
           {"and", [](uint32_t a, uint32_t b) { return a & b; }},
           {"or", [](uint32_t a, uint32_t b) { return a | b; }},
           {"xor", [](uint32_t a, uint32_t b) { return a ^ b; }},
           {"umin", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
           {"umax", [](uint32_t a, uint32_t b) { return std::max(a, b); }}}) {
    auto y = runWarp("%v = nvvm.redux.sync " + std::string(c.name) +
                     " %a, %all : i32 -> i32");
    ASSERT_EQ(y.size(), 32u) << c.name;
    uint32_t expected = input(0);
    for (unsigned i = 1; i < 32; ++i)
      expected = c.fold(expected, input(i));
    for (unsigned i = 0; i < 32; ++i)
      EXPECT_EQ(y[i], expected) << c.name;
  }
}

TEST(Run, InlinePtxArithmetic) {
  auto y = runWarp(R"mlir(
    %v = llvm.inline_asm "{ .reg .pred p; setp.lt.u32 p, $1, 5; mov.b32 $0, $2; @p add.u32 $0, $2, 100; @!p lop3.b32 $0, $2, 0xff, 3, 0x96; }", "=r,r,r" %lane, %a : (i32, i32) -> i32)mlir");
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], i < 5 ? input(i) + 100 : (input(i) ^ 0xff ^ 3)) << i;
}

TEST(Run, InlinePtxVectorLoadWithHints) {
  auto y = runWarp(R"mlir(
    %c8 = llvm.mlir.constant(28 : i32) : i32
    %quad = llvm.and %lane, %c8 : i32
    %qp = llvm.getelementptr %x[%quad] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %s = llvm.inline_asm has_side_effects "ld.global.L1::no_allocate.L2::256B.v4.u32 {$0,$1,$2,$3}, [$4];", "=r,=r,=r,=r,l" %qp : (!llvm.ptr<1>) -> !llvm.struct<(i32, i32, i32, i32)>
    %s0 = llvm.extractvalue %s[0] : !llvm.struct<(i32, i32, i32, i32)>
    %s3 = llvm.extractvalue %s[3] : !llvm.struct<(i32, i32, i32, i32)>
    %v = llvm.sub %s3, %s0 : i32)mlir");
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], input((i & ~3u) + 3) - input(i & ~3u));
}

TEST(Run, PermuteBytes) {
  auto y = runWarp(R"mlir(
    %sel = llvm.mlir.constant(37169 : i32) : i32
    %v = llvm.inline_asm "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r" %a, %all, %sel : (i32, i32, i32) -> i32)mlir");
  // 0x9131: byte 1 of a, byte 3 of a, byte 1 again, and the sign of byte 1.
  ASSERT_EQ(y.size(), 32u);
  for (unsigned i = 0; i < 32; ++i) {
    uint32_t one = input(i) >> 8 & 0xff, three = input(i) >> 24;
    EXPECT_EQ(y[i],
              one | three << 8 | one << 16 | (one & 0x80 ? 0xff000000u : 0));
  }
}

/// 64 bytes by four cp.async.cg of 16 bytes, the last one with a source of 4.
TEST(Run, AsyncCopyWithZeroFill) {
  auto kernel = compile(R"mlir(
module {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i8>
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %isLast = llvm.icmp "eq" %t, %c3 : i32
    %size = llvm.select %isLast, %c4, %c16 : i1, i32
    %o = llvm.mul %t, %c16 : i32
    %base = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %d = llvm.getelementptr %base[%o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %s = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    nvvm.cp.async.shared.global %d, %s, 16, cache = cg, %size : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.barrier0
    %v = llvm.load %d {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    %yp = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    llvm.store %v, %yp {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    llvm.return
  }
}
)mlir");
  ASSERT_TRUE(kernel);
  std::vector<uint32_t> x(13);
  std::iota(x.begin(), x.end(), 100);
  // 52 bytes: the buffer ends where the short source ends.
  GuardedBufferOptions place;
  place.alignment = 16;
  GuardedBuffer in = bufferOf("x", x, 16);
  GuardedBuffer out = bufferOf("y", std::vector<uint32_t>(16));
  ASSERT_EQ(textOf(kernel->launch({1, 1, 1}, {4, 1, 1}, 0,
                                  {in.devicePointer(), out.devicePointer()})),
            "");
  std::vector<uint32_t> y = valuesOf<uint32_t>(out);
  for (unsigned i = 0; i < 16; ++i)
    EXPECT_EQ(y[i], i < 13 ? 100 + i : 0);
}

/// Dynamic shared memory, an atomic add and a named barrier of one warp.
TEST(Run, DynamicSharedMemoryAndAtomics) {
  auto kernel = compile(R"mlir(
module {
  llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
  llvm.func @k(%y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1.0 : f32) : f32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %base = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %p = llvm.getelementptr %base[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %zero, %p : f32, !llvm.ptr<3>
    nvvm.barrier0
    %old = llvm.atomicrmw fadd %base, %one monotonic {alignment = 4 : i64} : !llvm.ptr<3>, f32
    nvvm.barrier0
    %first = llvm.icmp "eq" %t, %c0 : i32
    llvm.cond_br %first, ^store, ^done
  ^store:
    %v = llvm.load %base : !llvm.ptr<3> -> f32
    %g = llvm.atomicrmw fadd %y, %v monotonic {alignment = 4 : i64} : !llvm.ptr<1>, f32
    llvm.br ^done
  ^done:
    llvm.return
  }
}
)mlir");
  ASSERT_TRUE(kernel);
  GuardedBuffer out = bufferOf("y", std::vector<float>{0.25f}, 4);
  ASSERT_EQ(textOf(kernel->launch({5, 1, 1}, {96, 1, 1}, 96 * 4,
                                  {out.devicePointer()})),
            "");
  EXPECT_EQ(valuesOf<float>(out)[0], 5 * 96 + 0.25f);
}

} // namespace
