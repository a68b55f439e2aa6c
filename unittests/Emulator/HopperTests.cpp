//===- HopperTests.cpp - mbarriers and bulk copies ------------------------===//
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

struct Parts {
  std::string init = "nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32";
  std::string afterInit = "nvvm.barrier0";
  std::string bytes = "%c256";
  std::string wait = R"mlir(
    llvm.br ^wait
  ^wait:
    %p = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %p, ^ready, ^wait
  ^ready:)mlir";
};

/// 64 threads; thread 0 loads 256 bytes of x by one bulk copy, all wait for it
/// and thread t stores word 63 - t to y[t].
std::string bulkLoad(const Parts &parts = {}) {
  return R"mlir(
module {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x i32>
  llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c63 = llvm.mlir.constant(63 : i32) : i32
    %c256 = llvm.mlir.constant(256 : i32) : i32
    %c240 = llvm.mlir.constant(240 : i32) : i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %first = llvm.icmp "eq" %t, %c0 : i32
    llvm.cond_br %first, ^init, ^sync
  ^init:
    )mlir" +
         parts.init +
         R"mlir(
    nvvm.fence.mbarrier.init
    llvm.br ^sync
  ^sync:
    )mlir" +
         parts.afterInit +
         R"mlir(
    llvm.cond_br %first, ^issue, ^loaded
  ^issue:
    nvvm.mbarrier.arrive.expect_tx %bar, )mlir" +
         parts.bytes + R"mlir( : !llvm.ptr<3>, i32
    %a = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
    %d = llvm.inttoptr %a : i32 to !llvm.ptr<7>
    nvvm.cp.async.bulk.shared.cluster.global %d, %x, %bar, %c256 : !llvm.ptr<7>, !llvm.ptr<1>
    llvm.br ^loaded
  ^loaded:
    )mlir" +
         parts.wait +
         R"mlir(
    %m = llvm.sub %c63, %t : i32
    %q = llvm.getelementptr %tile[%m] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %q : !llvm.ptr<3> -> i32
    %yp = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %v, %yp : i32, !llvm.ptr<1>
    llvm.return
  }
}
)mlir";
}

llvm::Error launch(EmulatedKernel &kernel, std::vector<int> *result = nullptr,
                   unsigned words = 64) {
  std::vector<int> x(words);
  std::iota(x.begin(), x.end(), 1000);
  GuardedBuffer in = bufferOf("x", x),
                out = bufferOf("y", std::vector<int>(64));
  if (llvm::Error error = kernel.launch(
          {2, 1, 1}, {64, 1, 1}, 0, {in.devicePointer(), out.devicePointer()}))
    return error;
  if (result)
    *result = valuesOf<int>(out);
  return llvm::Error::success();
}

void expectReversed(const std::string &text) {
  auto kernel = compile(text);
  ASSERT_TRUE(kernel);
  std::vector<int> y;
  ASSERT_EQ(textOf(launch(*kernel, &y)), "");
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(y[t], 1063 - t);
}

EmulatorFault fault(const Parts &parts, unsigned words = 64) {
  auto kernel = compile(bulkLoad(parts));
  return kernel ? faultOf(launch(*kernel, nullptr, words)) : EmulatorFault();
}

TEST(Hopper, BulkLoad) { expectReversed(bulkLoad()); }

TEST(Hopper, WaitAsTheInlineLoop) {
  // What nvvm.mbarrier.try_wait.parity with a tick limit becomes.
  Parts parts;
  parts.wait = "%ticks = llvm.mlir.constant(1000 : i32) : i32\n"
               "nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : "
               "!llvm.ptr<3>, i32, i32";
  expectReversed(bulkLoad(parts));
}

TEST(Hopper, WaitByPollingTests) {
  Parts parts;
  parts.wait = R"mlir(
    llvm.br ^wait
  ^wait:
    %p = llvm.call_intrinsic "llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta"(%bar, %c0) : (!llvm.ptr<3>, i32) -> i1
    llvm.cond_br %p, ^ready, ^wait
  ^ready:)mlir";
  expectReversed(bulkLoad(parts));
}

TEST(Hopper, BulkLoadReadBeforeItsWait) {
  Parts parts;
  parts.wait = "nvvm.barrier0";
  EmulatorFault f = fault(parts);
  EXPECT_EQ(f.kind, FaultKind::AsyncPending);
  EXPECT_NE(f.message.find("to which a copy is still in flight"),
            std::string::npos)
      << f.message;
}

TEST(Hopper, WrongByteCountNeverCompletes) {
  Parts parts;
  parts.bytes = "%c240";
  EmulatorFault f = fault(parts);
  EXPECT_EQ(f.kind, FaultKind::Hang);
  EXPECT_NE(f.message.find("0 arrivals and -16 bytes are missing"),
            std::string::npos)
      << f.message;
}

TEST(Hopper, MissingArrivalNeverCompletes) {
  Parts parts;
  parts.init = "%c2 = llvm.mlir.constant(2 : i32) : i32\n"
               "nvvm.mbarrier.init %bar, %c2 : !llvm.ptr<3>, i32";
  EmulatorFault f = fault(parts);
  EXPECT_EQ(f.kind, FaultKind::Hang);
  EXPECT_NE(
      f.message.find("phase 0 of the mbarrier never completes: 1 arrivals "
                     "and 0 bytes are missing"),
      std::string::npos)
      << f.message;
}

TEST(Hopper, BarrierUsedBeforeItsInit) {
  Parts parts;
  parts.init = "";
  EmulatorFault f = fault(parts);
  EXPECT_TRUE(f.kind == FaultKind::UninitializedShared ||
              f.kind == FaultKind::InvalidOperand)
      << f.message;
}

TEST(Hopper, InitWithoutABarrierIsARace) {
  Parts parts;
  parts.afterInit = "";
  EmulatorFault f = fault(parts);
  EXPECT_EQ(f.kind, FaultKind::SharedRace) << f.message;
}

TEST(Hopper, BulkLoadPastTheEnd) {
  EmulatorFault f = fault({}, 63);
  EXPECT_EQ(f.kind, FaultKind::OutOfBounds);
  EXPECT_NE(f.message.find("256-byte load at byte 0 of buffer 'x', which has "
                           "252 bytes"),
            std::string::npos)
      << f.message;
}

/// A ring of two stages: warp 1 produces with plain stores and arrives, warp 0
/// consumes and arrives back. `emptyWait` guards the reuse of a stage.
std::string ring(bool emptyWait) {
  std::string wait = emptyWait ? R"mlir(
    llvm.br ^pwait
  ^pwait:
    %pe = nvvm.mbarrier.try_wait %emptyp, %notphase : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %pe, ^produce, ^pwait)mlir"
                               : "llvm.br ^produce";
  return R"mlir(
module {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i32>
  llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  llvm.mlir.global internal @empty() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c8 = llvm.mlir.constant(8 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %full = llvm.mlir.addressof @full : !llvm.ptr<3>
    %empty = llvm.mlir.addressof @empty : !llvm.ptr<3>
    %isInit = llvm.icmp "ult" %t, %c2 : i32
    llvm.cond_br %isInit, ^init, ^start
  ^init:
    %fi = llvm.getelementptr %full[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %ei = llvm.getelementptr %empty[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %fi, %c32 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %ei, %c32 : !llvm.ptr<3>, i32
    llvm.br ^start
  ^start:
    nvvm.barrier0
    llvm.br ^loop(%c0, %c0 : i32, i32)
  ^loop(%i: i32, %sum: i32):
    %more = llvm.icmp "ult" %i, %c8 : i32
    llvm.cond_br %more, ^body, ^done
  ^body:
    %stage = llvm.and %i, %c1 : i32
    %half = llvm.lshr %i, %c1 : i32
    %phase = llvm.and %half, %c1 : i32
    %notphase = llvm.xor %phase, %c1 : i32
    %fullp = llvm.getelementptr %full[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %emptyp = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %so = llvm.mul %stage, %c32 : i32
    %mine = llvm.add %so, %lane : i32
    %other = llvm.xor %mine, %c31 : i32
    %isProducer = llvm.icmp "uge" %t, %c32 : i32
    llvm.cond_br %isProducer, ^pentry, ^cwait
  ^pentry:
    )mlir" +
         wait +
         R"mlir(
  ^produce:
    %io = llvm.mul %i, %c32 : i32
    %xi = llvm.add %io, %lane : i32
    %xp = llvm.getelementptr %x[%xi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %xv = llvm.load %xp : !llvm.ptr<1> -> i32
    %sp = llvm.getelementptr %tile[%mine] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %xv, %sp : i32, !llvm.ptr<3>
    %s1 = nvvm.mbarrier.arrive %fullp : !llvm.ptr<3> -> i64
    llvm.br ^next(%sum : i32)
  ^cwait:
    %pf = nvvm.mbarrier.try_wait %fullp, %phase : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %pf, ^consume, ^cwait
  ^consume:
    %cp = llvm.getelementptr %tile[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %cv = llvm.load %cp : !llvm.ptr<3> -> i32
    %s = llvm.add %sum, %cv : i32
    %s2 = nvvm.mbarrier.arrive %emptyp : !llvm.ptr<3> -> i64
    llvm.br ^next(%s : i32)
  ^next(%ns: i32):
    %ni = llvm.add %i, %c1 : i32
    llvm.br ^loop(%ni, %ns : i32, i32)
  ^done:
    %isConsumer = llvm.icmp "ult" %t, %c32 : i32
    llvm.cond_br %isConsumer, ^store, ^exit
  ^store:
    %yp = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %sum, %yp : i32, !llvm.ptr<1>
    llvm.br ^exit
  ^exit:
    llvm.return
  }
}
)mlir";
}

TEST(Hopper, ProducerConsumerRing) {
  for (auto order : {EmulatorOptions::Forward, EmulatorOptions::Reverse}) {
    EmulatorOptions options;
    options.order = order;
    auto kernel = compile(ring(true), options);
    ASSERT_TRUE(kernel);
    std::vector<int> y;
    ASSERT_EQ(textOf(launch(*kernel, &y, 256)), "");
    for (int lane = 0; lane < 32; ++lane) {
      int expected = 0;
      for (int i = 0; i < 8; ++i)
        expected += 1000 + i * 32 + (31 - lane);
      EXPECT_EQ(y[lane], expected);
    }
  }
}

TEST(Hopper, RingWithoutTheEmptyBarrier) {
  EmulatorOptions options;
  options.order = EmulatorOptions::Reverse;
  auto kernel = compile(ring(false), options);
  ASSERT_TRUE(kernel);
  EmulatorFault f = faultOf(launch(*kernel, nullptr, 256));
  // The producer runs ahead: it arrives once too often, or races.
  EXPECT_TRUE(f.kind == FaultKind::SharedRace ||
              f.kind == FaultKind::InvalidOperand || f.kind == FaultKind::Hang)
      << f.message;
}

TEST(Hopper, BulkStore) {
  auto kernel = compile(R"mlir(
module {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x i32>
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c256 = llvm.mlir.constant(256 : i32) : i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %p = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %t, %p : i32, !llvm.ptr<3>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.barrier0
    %first = llvm.icmp "eq" %t, %c0 : i32
    llvm.cond_br %first, ^issue, ^done
  ^issue:
    nvvm.cp.async.bulk.global.shared.cta %y, %tile, %c256 : !llvm.ptr<1>, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
    llvm.br ^done
  ^done:
    llvm.return
  }
}
)mlir");
  ASSERT_TRUE(kernel);
  std::vector<int> y;
  ASSERT_EQ(textOf(launch(*kernel, &y)), "");
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(y[t], t);
}

} // namespace
