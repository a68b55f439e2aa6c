//===- FaultTests.cpp - One planted fault a kernel ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestKernel.h"
#include "llvm/Support/MathExtras.h"
#include <sys/mman.h>

using namespace sparseditto;

namespace {

/// A kernel of one buffer x and one i32 n, with a shared tile of 1024 bytes and
/// another one behind it. `body` may use the constants and %t, the thread.
std::string kernelWith(llvm::StringRef body, llvm::StringRef attributes = "") {
  return R"mlir(
module {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x i32>
  llvm.mlir.global internal @other() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i32>
  llvm.func @k(%x: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel)mlir" +
         attributes.str() + R"mlir(} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c7 = llvm.mlir.constant(7 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c255 = llvm.mlir.constant(255 : i32) : i32
    %c256 = llvm.mlir.constant(256 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %mine = llvm.getelementptr %tile[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %xt = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
)mlir" + body.str() +
         "\n    llvm.return\n  }\n}\n";
}

struct Planted {
  unsigned threads = 64, words = 64, n = 64;
  GuardedBufferOptions::Side side = GuardedBufferOptions::End;
  bool readOnly = false;
  EmulatorOptions options;
};

EmulatorFault run(const std::string &text, const Planted &planted = {}) {
  auto kernel = compile(text, planted.options);
  if (!kernel)
    return {};
  GuardedBufferOptions place;
  place.side = planted.side;
  place.fill = 1;
  GuardedBuffer x =
      llvm::cantFail(GuardedBuffer::create("x", planted.words * 4, place));
  x.setReadOnly(planted.readOnly);
  // Two blocks, to see that faults name theirs: only the second is faulty if
  // the body says so; the first one that fails is reported.
  EmulatorFault fault = faultOf(kernel->launch(
      {1, 1, 1}, {planted.threads, 1, 1}, 0, {x.devicePointer(), planted.n}));
  EXPECT_EQ(fault.kernel, "k");
  // Only what has no one place (a hang, a trap of the hardware) has no
  // location.
  EXPECT_TRUE(fault.inThread);
  if (!fault.operation.empty())
    EXPECT_NE(fault.location.find("loc(\"test.mlir\":"), std::string::npos)
        << fault.location;
  else
    EXPECT_TRUE(fault.kind == FaultKind::Hang || fault.kind == FaultKind::Trap)
        << fault.message;
  // Accepting the launch again shows that a fault leaves nothing behind.
  EXPECT_EQ(faultOf(kernel->launch({1, 1, 1}, {planted.threads, 1, 1}, 0,
                                   {x.devicePointer(), planted.n}))
                .message,
            fault.message);
  return fault;
}

#define EXPECT_MESSAGE(fault, text)                                            \
  EXPECT_NE((fault).message.find(text), std::string::npos) << (fault).message

TEST(Fault, LoadPastTheEnd) {
  EmulatorFault fault =
      run(kernelWith("%v = llvm.load %xt : !llvm.ptr<1> -> i32\n"
                     "llvm.store %v, %mine : i32, !llvm.ptr<3>"),
          {.words = 63});
  EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
  EXPECT_EQ(fault.thread, (std::array<unsigned, 3>{63, 0, 0}));
  EXPECT_EQ(fault.operation, "llvm.load");
  EXPECT_NE(fault.location.find("test.mlir\":"), std::string::npos);
  EXPECT_MESSAGE(fault, "4-byte load at byte 252 of buffer 'x', which has 252 "
                        "bytes");
}

TEST(Fault, StoreBeforeTheStart) {
  for (auto side : {GuardedBufferOptions::Start, GuardedBufferOptions::End}) {
    EmulatorFault fault = run(
        kernelWith("%p = llvm.getelementptr %xt[-1] : (!llvm.ptr<1>) -> "
                   "!llvm.ptr<1>, i32\nllvm.store %t, %p : i32, !llvm.ptr<1>"),
        {.side = side});
    EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
    EXPECT_EQ(fault.thread[0], 0u);
    EXPECT_EQ(fault.operation, "llvm.store");
    EXPECT_MESSAGE(fault, "4-byte store at byte -4 of buffer 'x'");
  }
}

TEST(Fault, WildPointer) {
  EmulatorFault fault =
      run(kernelWith("%p = llvm.inttoptr %t : i32 to !llvm.ptr\n"
                     "llvm.store %t, %p : i32, !llvm.ptr"));
  EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
  EXPECT_MESSAGE(fault, "which is in no buffer");
}

TEST(Fault, BlockOfTheFaultIsNamed) {
  auto kernel = compile(kernelWith(R"mlir(
    %b = nvvm.read.ptx.sreg.ctaid.y : i32
    %o = llvm.mul %b, %c32 : i32
    %i = llvm.add %o, %t : i32
    %p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %t, %p : i32, !llvm.ptr<1>)mlir"));
  ASSERT_TRUE(kernel);
  GuardedBuffer x = bufferOf("x", std::vector<int>(64));
  EmulatorFault fault =
      faultOf(kernel->launch({1, 3, 1}, {32, 1, 1}, 0, {x.devicePointer(), 0}));
  EXPECT_EQ(fault.block, (std::array<unsigned, 3>{0, 2, 0}));
  std::string text;
  llvm::raw_string_ostream(text) << fault.message;
  EXPECT_MESSAGE(fault, "byte 256 of buffer 'x', which has 256 bytes");
}

TEST(Fault, SharedArrayOverrun) {
  EmulatorFault fault = run(kernelWith(
      "%p = llvm.getelementptr %mine[193] : (!llvm.ptr<3>) -> !llvm.ptr<3>, "
      "i32\nllvm.store %t, %p : i32, !llvm.ptr<3>"));
  EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
  EXPECT_EQ(fault.thread[0], 63u);
  EXPECT_MESSAGE(fault, "4-byte store outside shared array 'tile' (1024 bytes) "
                        "at byte 1024");
}

TEST(Fault, Misaligned) {
  EmulatorFault fault =
      run(kernelWith("%p = llvm.getelementptr %x[%c2] : (!llvm.ptr<1>, i32) -> "
                     "!llvm.ptr<1>, i32\n"
                     "%v = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> "
                     "-> vector<4xi32>\n"
                     "llvm.store %v, %x {alignment = 16 : i64} : "
                     "vector<4xi32>, !llvm.ptr<1>"));
  EXPECT_EQ(fault.kind, FaultKind::Misaligned);
  EXPECT_MESSAGE(fault, "16-byte load at address");
  EXPECT_MESSAGE(fault, "no multiple of 16");
  fault = run(kernelWith(
      "%p = llvm.getelementptr %tile[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
      "llvm.store %t, %p : i32, !llvm.ptr<3>"));
  EXPECT_EQ(fault.kind, FaultKind::Misaligned);
  EXPECT_MESSAGE(fault, "4-byte store");
}

TEST(Fault, WriteToReadOnly) {
  EmulatorFault fault =
      run(kernelWith("%v = llvm.load %xt : !llvm.ptr<1> -> i32\n"
                     "llvm.store %v, %xt : i32, !llvm.ptr<1>"),
          {.readOnly = true});
  EXPECT_EQ(fault.kind, FaultKind::ReadOnlyWrite);
  EXPECT_MESSAGE(fault, "4-byte store to buffer 'x', which is read-only");
  fault = run(kernelWith("%v = llvm.atomicrmw add %x, %t monotonic {alignment "
                         "= 4 : i64} : !llvm.ptr<1>, i32"),
              {.readOnly = true});
  EXPECT_EQ(fault.kind, FaultKind::ReadOnlyWrite);
  EXPECT_MESSAGE(fault, "4-byte atomic");
}

TEST(Fault, UninitializedShared) {
  EmulatorFault fault =
      run(kernelWith("%v = llvm.load %mine : !llvm.ptr<3> -> i32\n"
                     "llvm.store %v, %xt : i32, !llvm.ptr<1>"));
  EXPECT_EQ(fault.kind, FaultKind::UninitializedShared);
  EXPECT_EQ(fault.thread[0], 0u);
  EXPECT_MESSAGE(fault, "4-byte load of shared array 'tile' (1024 bytes) at "
                        "byte 0, byte 0 of which was never written");
}

TEST(Fault, UninitializedSharedCanBeAllowed) {
  EmulatorOptions options;
  options.checkUninitializedShared = false;
  auto kernel =
      compile(kernelWith("%v = llvm.load %mine : !llvm.ptr<3> -> i32\n"
                         "llvm.store %v, %xt : i32, !llvm.ptr<1>"),
              options);
  ASSERT_TRUE(kernel);
  GuardedBuffer x = bufferOf("x", std::vector<int>(64));
  EXPECT_EQ(
      textOf(kernel->launch({1, 1, 1}, {64, 1, 1}, 0, {x.devicePointer(), 0})),
      "");
  EXPECT_EQ(valuesOf<int>(x)[5], -1);
}

constexpr llvm::StringLiteral copyOne = R"mlir(
    %o = llvm.mul %t, %c16 : i32
    %s = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    %d = llvm.getelementptr %tile[%o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %d, %s, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
)mlir";

TEST(Fault, AsyncCopyReadBeforeItsWait) {
  EmulatorFault fault =
      run(kernelWith(copyOne.str() + "nvvm.cp.async.wait.group 1\n"
                                     "%v = llvm.load %d : !llvm.ptr<3> -> i32\n"
                                     "llvm.store %v, %xt : i32, !llvm.ptr<1>"),
          {.threads = 16});
  EXPECT_EQ(fault.kind, FaultKind::AsyncPending);
  EXPECT_MESSAGE(fault, "to which a copy is still in flight");
}

TEST(Fault, AsyncCopyOverwrittenBeforeItsWait) {
  EmulatorFault fault =
      run(kernelWith(copyOne.str() + "llvm.store %t, %d : i32, !llvm.ptr<3>"),
          {.threads = 16});
  EXPECT_EQ(fault.kind, FaultKind::AsyncPending);
}

TEST(Fault, AsyncCopyOutOfBoundsIsNamedAtItsIssue) {
  EmulatorFault fault =
      run(kernelWith(copyOne.str() + "nvvm.cp.async.wait.group 0"),
          {.threads = 17});
  EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
  EXPECT_EQ(fault.operation, "nvvm.cp.async.shared.global");
  EXPECT_EQ(fault.thread[0], 16u);
  EXPECT_MESSAGE(fault, "16-byte load at byte 256 of buffer 'x'");
}

/// Each thread writes its word and reads its neighbour's; `between` comes in
/// the middle.
std::string neighbours(llvm::StringRef between, llvm::StringRef distance) {
  return kernelWith(R"mlir(
    llvm.store %t, %mine : i32, !llvm.ptr<3>
    )mlir" + between.str() +
                    R"mlir(
    %u = llvm.xor %t, )mlir" +
                    distance.str() + R"mlir( : i32
    %theirs = llvm.getelementptr %tile[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %theirs : !llvm.ptr<3> -> i32
    llvm.store %v, %xt : i32, !llvm.ptr<1>)mlir");
}

TEST(Fault, MissingBlockBarrier) {
  // Whichever warp goes first reads what is not there yet; the other order
  // would hide it, which is what the race check is for.
  for (auto order : {EmulatorOptions::Forward, EmulatorOptions::Reverse}) {
    EmulatorOptions options;
    options.order = order;
    options.checkUninitializedShared = false;
    EmulatorFault fault =
        run(neighbours("nvvm.bar.warp.sync %all : i32", "%c32"),
            {.options = options});
    EXPECT_EQ(fault.kind, FaultKind::SharedRace);
    EXPECT_MESSAGE(fault, "4-byte store of shared array 'tile'");
    EXPECT_MESSAGE(fault, "races with a read by thread");
    EXPECT_MESSAGE(fault, "at 'llvm.load'");
  }
}

TEST(Fault, MissingWarpBarrier) {
  EmulatorOptions options;
  options.checkUninitializedShared = false;
  EmulatorFault fault = run(neighbours("", "%c1"), {.options = options});
  EXPECT_EQ(fault.kind, FaultKind::SharedRace);
  // A shuffle makes lanes meet but orders no memory.
  fault = run(neighbours("%w = nvvm.shfl.sync bfly %all, %t, %c1, %c31 : i32 "
                         "-> i32",
                         "%c1"),
              {.options = options});
  EXPECT_EQ(fault.kind, FaultKind::SharedRace);
}

TEST(Fault, BarriersOrderAccesses) {
  for (auto [between, distance] :
       {std::pair<const char *, const char *>{"nvvm.barrier0", "%c32"},
        {"nvvm.bar.warp.sync %all : i32", "%c1"},
        {"nvvm.barrier id = %c1 number_of_threads = %n", "%c32"}}) {
    auto kernel = compile(neighbours(between, distance));
    ASSERT_TRUE(kernel);
    GuardedBuffer x = bufferOf("x", std::vector<int>(64));
    EXPECT_EQ(textOf(kernel->launch({1, 1, 1}, {64, 1, 1}, 0,
                                    {x.devicePointer(), 64})),
              "");
  }
}

/// The second store of a stage that others may still read: the barrier that is
/// missing is the one after the reads.
TEST(Fault, WriteAfterReadRace) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    llvm.store %t, %mine : i32, !llvm.ptr<3>
    nvvm.barrier0
    %u = llvm.xor %t, %c32 : i32
    %theirs = llvm.getelementptr %tile[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %v = llvm.load %theirs : !llvm.ptr<3> -> i32
    llvm.store %v, %mine : i32, !llvm.ptr<3>)mlir"));
  EXPECT_EQ(fault.kind, FaultKind::SharedRace);
  // Either side may come first; the other one is named.
  EXPECT_MESSAGE(fault, fault.operation == "llvm.store"
                            ? "races with a read by thread"
                            : "races with a write by thread");
}

TEST(Fault, CopyIntoAStageThatIsStillRead) {
  EmulatorFault fault = run(kernelWith(copyOne.str() + R"mlir(
    nvvm.cp.async.wait.group 0
    nvvm.barrier0
    %u = llvm.xor %o, %c16 : i32
    %q = llvm.getelementptr %tile[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %v = llvm.load %q : !llvm.ptr<3> -> i32
    nvvm.cp.async.shared.global %d, %s, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    llvm.store %v, %x : i32, !llvm.ptr<1>)mlir"),
                            {.threads = 16});
  EXPECT_EQ(fault.kind, FaultKind::SharedRace);
  EXPECT_NE(
      (fault.operation + fault.message).find("nvvm.cp.async.shared.global"),
      std::string::npos)
      << fault.message;
}

TEST(Fault, AtomicsDoNotRace) {
  auto kernel = compile(kernelWith(R"mlir(
    %first = llvm.icmp "eq" %t, %c0 : i32
    llvm.cond_br %first, ^zero, ^add
  ^zero:
    llvm.store %c0, %tile : i32, !llvm.ptr<3>
    llvm.br ^add
  ^add:
    nvvm.barrier0
    %v = llvm.atomicrmw add %tile, %c1 monotonic {alignment = 4 : i64} : !llvm.ptr<3>, i32
    nvvm.barrier0
    %sum = llvm.load %tile : !llvm.ptr<3> -> i32
    llvm.store %sum, %xt : i32, !llvm.ptr<1>)mlir"));
  ASSERT_TRUE(kernel);
  GuardedBuffer x = bufferOf("x", std::vector<int>(64));
  EXPECT_EQ(
      textOf(kernel->launch({1, 1, 1}, {64, 1, 1}, 0, {x.devicePointer(), 0})),
      "");
  EXPECT_EQ(valuesOf<int>(x)[63], 64);
}

TEST(Fault, BarrierAfterSomeThreadsLeft) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    %out = llvm.icmp "ult" %t, %c32 : i32
    llvm.cond_br %out, ^done, ^wait
  ^wait:
    nvvm.barrier0
    llvm.br ^done
  ^done:)mlir"));
  EXPECT_EQ(fault.kind, FaultKind::DivergentBarrier);
  EXPECT_EQ(fault.thread[0], 32u);
  EXPECT_MESSAGE(fault, "32 of 64 threads have arrived at barrier 0; of the "
                        "other threads 32 have exited");
}

TEST(Fault, LanesOfAWarpAtDifferentBarriers) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    %low = llvm.icmp "ult" %t, %c16 : i32
    llvm.cond_br %low, ^a, ^b
  ^a:
    nvvm.barrier0
    llvm.br ^done
  ^b:
    llvm.store %t, %xt : i32, !llvm.ptr<1>
    nvvm.barrier0
    llvm.br ^done
  ^done:)mlir"));
  EXPECT_EQ(fault.kind, FaultKind::DivergentBarrier);
  EXPECT_EQ(fault.thread[0], 16u);
  EXPECT_MESSAGE(fault, "lane 0 of the same warp waits at another place");
}

TEST(Fault, WarpWaitsAtAnotherBarrier) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    %low = llvm.icmp "ult" %t, %c32 : i32
    llvm.cond_br %low, ^a, ^b
  ^a:
    nvvm.barrier id = %c1 number_of_threads = %c32
    nvvm.barrier0
    llvm.br ^done
  ^b:
    nvvm.barrier id = %c1
    llvm.br ^done
  ^done:)mlir"));
  EXPECT_EQ(fault.kind, FaultKind::DivergentBarrier);
  EXPECT_MESSAGE(fault, "32 of 64 threads have arrived at barrier");
}

TEST(Fault, CollectiveWithMissingLanes) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    %low = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %low, ^a, ^b
  ^a:
    %v = nvvm.shfl.sync bfly %all, %t, %c1, %c31 : i32 -> i32
    llvm.store %v, %xt : i32, !llvm.ptr<1>
    llvm.br ^b
  ^b:
    nvvm.barrier0)mlir"));
  EXPECT_EQ(fault.kind, FaultKind::DivergentCollective);
  EXPECT_EQ(fault.operation, "nvvm.shfl.sync");
  EXPECT_MESSAGE(fault, "waits for lanes 0xFFFFFFFF of warp 0, of which 16 "
                        "wait at 'nvvm.barrier0'");
}

TEST(Fault, ShuffleReadsALaneThatLeft) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    %v = nvvm.shfl.sync bfly %all, %t, %c1, %c31 : i32 -> i32
    llvm.store %v, %xt : i32, !llvm.ptr<1>)mlir"),
                            {.threads = 17});
  EXPECT_EQ(fault.kind, FaultKind::DivergentCollective);
  EXPECT_MESSAGE(fault, "reads lane 17, which does not take part in it");
}

TEST(Fault, LaneOutsideItsOwnMask) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    %v = nvvm.shfl.sync bfly %c1, %t, %c0, %c31 : i32 -> i32
    llvm.store %v, %xt : i32, !llvm.ptr<1>)mlir"));
  EXPECT_EQ(fault.kind, FaultKind::DivergentCollective);
  EXPECT_MESSAGE(fault, "lane 1 executes 'shfl.sync.bfly.i32' with member mask "
                        "0x1, which leaves it out");
}

TEST(Fault, MatrixOperationInAPartialWarp) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    llvm.store %t, %mine : i32, !llvm.ptr<3>
    nvvm.barrier0
    %r = nvvm.ldmatrix %tile {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
    llvm.store %r, %xt : i32, !llvm.ptr<1>)mlir"),
                            {.threads = 40});
  EXPECT_EQ(fault.kind, FaultKind::DivergentCollective);
  EXPECT_MESSAGE(fault, "needs 32 lanes; warp 1 has 8");
}

TEST(Fault, HangingWait) {
  EmulatorFault fault = run(kernelWith(R"mlir(
    llvm.br ^loop
  ^loop:
    %v = llvm.load volatile %x : !llvm.ptr<1> -> i32
    %p = llvm.icmp "eq" %v, %c7 : i32
    llvm.cond_br %p, ^done, ^loop
  ^done:)mlir"),
                            {.options = {.timeoutSeconds = 0.2}});
  EXPECT_EQ(fault.kind, FaultKind::Hang);
}

/// A spinning thread must not starve the one that sets its flag.
TEST(Fault, SpinningOnAFlagIsNoHang) {
  auto kernel = compile(kernelWith(R"mlir(
    %setter = llvm.icmp "eq" %t, %c31 : i32
    llvm.cond_br %setter, ^set, ^loop
  ^set:
    llvm.store volatile %c7, %x : i32, !llvm.ptr<1>
    llvm.br ^done
  ^loop:
    %v = llvm.load volatile %x : !llvm.ptr<1> -> i32
    %p = llvm.icmp "eq" %v, %c7 : i32
    llvm.cond_br %p, ^done, ^loop
  ^done:)mlir"));
  ASSERT_TRUE(kernel);
  GuardedBuffer x = bufferOf("x", std::vector<int>(4));
  EXPECT_EQ(
      textOf(kernel->launch({1, 1, 1}, {32, 1, 1}, 0, {x.devicePointer(), 0})),
      "");
}

TEST(Fault, DivisionByZero) {
  EmulatorFault fault =
      run(kernelWith("%v = llvm.sdiv %t, %n : i32\n"
                     "llvm.store %v, %xt : i32, !llvm.ptr<1>"),
          {.n = 0});
  EXPECT_EQ(fault.kind, FaultKind::Trap);
  EXPECT_MESSAGE(fault, "integer division by zero");
}

TEST(Fault, TrapInstruction) {
  EmulatorFault fault =
      run(kernelWith("llvm.intr.trap\nllvm.store %t, %xt : i32, !llvm.ptr<1>"));
  EXPECT_EQ(fault.kind, FaultKind::Trap);
  EXPECT_MESSAGE(fault, "the kernel executed a trap");
}

TEST(Fault, LocalArrayOverrun) {
  EmulatorFault fault = run(kernelWith(
      "%a = llvm.alloca %c16 x i32 : (i32) -> !llvm.ptr\n"
      "%p = llvm.getelementptr %a[%t] : (!llvm.ptr, i32) -> !llvm.ptr, i32\n"
      "llvm.store volatile %t, %p : i32, !llvm.ptr"));
  EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
  EXPECT_EQ(fault.thread[0], 16u);
  EXPECT_MESSAGE(fault,
                 "4-byte access at byte 64 of a local array of 64 bytes");
}

/// Large enough to step over the guard below a fibre's stack, and just too
/// large.
TEST(Fault, LocalMemoryBeyondTheStack) {
  for (const char *words : {"1000000", "62000"}) {
    EmulatorFault fault = run(kernelWith(
        "%many = llvm.mlir.constant(" + std::string(words) +
        " : i32) : i32\n"
        "%a = llvm.alloca %many x i32 : (i32) -> !llvm.ptr\n"
        "%p = llvm.getelementptr %a[%t] : (!llvm.ptr, i32) -> !llvm.ptr, i32\n"
        "llvm.store volatile %t, %p : i32, !llvm.ptr"));
    EXPECT_EQ(fault.kind, FaultKind::StackOverflow) << fault.message;
    EXPECT_EQ(fault.operation, "llvm.alloca");
    EXPECT_MESSAGE(fault, "bytes, of at most 241664");
  }
}

/// Their frames are not known when the kernel starts.
TEST(Fault, LocalArraysOfUnknownSizeAreRefused) {
  for (const char *body : {R"mlir(
    %a = llvm.alloca %n x i32 : (i32) -> !llvm.ptr
    llvm.store volatile %t, %a : i32, !llvm.ptr)mlir",
                           R"mlir(
    llvm.br ^loop
  ^loop:
    %a = llvm.alloca %c256 x i32 : (i32) -> !llvm.ptr
    llvm.store volatile %t, %a : i32, !llvm.ptr
    %v = llvm.load volatile %x : !llvm.ptr<1> -> i32
    %p = llvm.icmp "eq" %v, %c7 : i32
    llvm.cond_br %p, ^done, ^loop
  ^done:)mlir"}) {
    auto kernel = compileText(kernelWith(body));
    EmulatorFault fault = faultOf(kernel.takeError());
    EXPECT_EQ(fault.kind, FaultKind::Unsupported);
    EXPECT_EQ(fault.operation, "llvm.alloca");
  }
}

TEST(Fault, CopiesBeyondALocalArray) {
  for (const char *operation :
       {"\"llvm.intr.memcpy\"(%a, %x, %size) <{isVolatile = false}> : "
        "(!llvm.ptr, !llvm.ptr<1>, i64) -> ()",
        "\"llvm.intr.memcpy\"(%x, %a, %size) <{isVolatile = false}> : "
        "(!llvm.ptr<1>, !llvm.ptr, i64) -> ()",
        "\"llvm.intr.memset\"(%a, %byte, %size) <{isVolatile = false}> : "
        "(!llvm.ptr, i8, i64) -> ()"}) {
    auto text = [&](const char *size) {
      return kernelWith("%a = llvm.alloca %c16 x i32 : (i32) -> !llvm.ptr\n"
                        "%byte = llvm.trunc %t : i32 to i8\n"
                        "%size = " +
                        std::string(size) + "\n" + operation);
    };
    // 64 bytes fit; n bytes and a size that wraps in 32 bits do not.
    auto fits = compile(text("llvm.mlir.constant(64 : i64) : i64"));
    ASSERT_TRUE(fits);
    GuardedBuffer x = bufferOf("x", std::vector<int>(64));
    EXPECT_EQ(
        textOf(fits->launch({1, 1, 1}, {1, 1, 1}, 0, {x.devicePointer(), 0})),
        "");
    for (const char *size : {"llvm.zext %n : i32 to i64",
                             "llvm.mlir.constant(4294967300 : i64) : i64"}) {
      EmulatorFault fault = run(text(size), {.threads = 1, .n = 65});
      EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
      EXPECT_MESSAGE(fault, "at byte 0 of");
    }
  }
}

/// The net below the checks: memory that hardware protects.
TEST(Fault, TrapInAGuardZone) {
  auto kernel = compile(kernelWith("%v = llvm.load %xt : !llvm.ptr<1> -> i32\n"
                                   "llvm.store %v, %mine : i32, "
                                   "!llvm.ptr<3>"));
  ASSERT_TRUE(kernel);
  GuardedBuffer x = bufferOf("x", std::vector<int>(4096));
  // Whole pages of the payload: its checks pass.
  const uint64_t page = 4096;
  uint64_t begin = llvm::alignTo(x.devicePointer(), page);
  void *address = reinterpret_cast<void *>(begin);
  ASSERT_EQ(mprotect(address, page, PROT_NONE), 0);
  EmulatorFault fault =
      faultOf(kernel->launch({1, 1, 1}, {64, 1, 1}, 0, {begin, 0}));
  ASSERT_EQ(mprotect(address, page, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(fault.kind, FaultKind::GuardPage);
  EXPECT_EQ(fault.kernel, "k");
  EXPECT_TRUE(fault.inThread);
  EXPECT_EQ(fault.thread[0], 0u);
  EXPECT_MESSAGE(fault, "access to address 0x");
  EXPECT_MESSAGE(fault, "buffer 'x'");
}

/// Every kind of a thread has a kernel above; what its report says is the same
/// for all: kernel, block, thread, operation and where it stands.
TEST(Fault, ReportsNameKernelBlockThreadAndPlace) {
  auto kernel = compile(kernelWith(R"mlir(
    %b = nvvm.read.ptx.sreg.ctaid.x : i32
    %bad = llvm.icmp "eq" %b, %c2 : i32
    llvm.cond_br %bad, ^yes, ^no
  ^yes:
    %far = llvm.getelementptr %xt[4096] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %t, %far : i32, !llvm.ptr<1>
    llvm.br ^no
  ^no:)mlir"));
  ASSERT_TRUE(kernel);
  GuardedBuffer x = bufferOf("x", std::vector<int>(64));
  std::string text =
      textOf(kernel->launch({4, 1, 1}, {64, 1, 1}, 0, {x.devicePointer(), 0}));
  EXPECT_NE(
      text.find("out-of-bounds in kernel 'k', block (2, 0, 0), thread (0, "
                "0, 0), at 'llvm.store' loc(\"test.mlir\":"),
      std::string::npos)
      << text;
}

TEST(Fault, UnsupportedInstructionIsNamedAtCompileTime) {
  auto kernel = compileText(kernelWith(
      "nvvm.wgmma.fence.aligned\nllvm.store %t, %xt : i32, !llvm.ptr<1>"));
  EmulatorFault fault = faultOf(kernel.takeError());
  EXPECT_EQ(fault.kind, FaultKind::Unsupported);
  EXPECT_EQ(fault.operation, "nvvm.wgmma.fence.aligned");
  EXPECT_MESSAGE(fault, "wgmma.fence.sync.aligned");
}

TEST(Fault, UnknownInlinePtxIsNamed) {
  auto kernel = compileText(kernelWith(
      "llvm.inline_asm has_side_effects \"frobnicate.b32 $0;\", \"r\" %t : "
      "(i32) -> ()"));
  EmulatorFault fault = faultOf(kernel.takeError());
  EXPECT_EQ(fault.kind, FaultKind::Unsupported);
  EXPECT_MESSAGE(fault, "inline PTX 'frobnicate.b32 $0;'");
}

TEST(Fault, InlinePtxIsChecked) {
  EmulatorFault fault = run(kernelWith(
      "%v = llvm.inline_asm has_side_effects \"ld.global.L1::no_allocate.u32 "
      "$0, [$1 + 4];\", \"=r,l\" %xt : (!llvm.ptr<1>) -> i32\n"
      "llvm.store %v, %xt : i32, !llvm.ptr<1>"));
  EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
  EXPECT_EQ(fault.operation, "llvm.inline_asm");
  EXPECT_EQ(fault.thread[0], 63u);
}

TEST(Fault, UnloweredOperationIsNamed) {
  auto kernel = compileText(R"mlir(
gpu.module @m {
  llvm.func @k() attributes {nvvm.kernel} {
    gpu.barrier
    llvm.return
  }
})mlir");
  EmulatorFault fault = faultOf(kernel.takeError());
  EXPECT_EQ(fault.kind, FaultKind::Unsupported);
  EXPECT_EQ(fault.operation, "gpu.barrier");
  EXPECT_MESSAGE(fault, "lower the kernel first");
}

TEST(Fault, ExternalCallIsNamed) {
  auto kernel = compileText(R"mlir(
module {
  llvm.func @mystery()
  llvm.func @k() attributes {nvvm.kernel} {
    llvm.call @mystery() : () -> ()
    llvm.return
  }
})mlir");
  EmulatorFault fault = faultOf(kernel.takeError());
  EXPECT_EQ(fault.kind, FaultKind::Unsupported);
  EXPECT_MESSAGE(fault, "call of external function 'mystery'");
}

TEST(Fault, MissingKernel) {
  auto kernel = compileText("module {\n  llvm.func @other() {\n    "
                            "llvm.return\n  }\n}\n");
  EXPECT_EQ(textOf(kernel.takeError()),
            "no llvm.func 'k' with a body in the module");
}

TEST(Fault, Launches) {
  auto kernel =
      compile(kernelWith("", ", nvvm.reqntid = array<i32: 64, 1, 1>"));
  ASSERT_TRUE(kernel);
  auto launch = [&](std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
                    unsigned dynamic, llvm::ArrayRef<uint64_t> args) {
    EmulatorFault fault = faultOf(kernel->launch(grid, block, dynamic, args));
    EXPECT_EQ(fault.kind, FaultKind::Launch);
    EXPECT_FALSE(fault.inThread);
    return fault.message;
  };
  EXPECT_EQ(launch({1, 1, 1}, {64, 1, 1}, 0, {0}),
            "1 arguments for a kernel with 2");
  EXPECT_EQ(launch({1, 1, 1}, {32, 1, 1}, 0, {0, 0}),
            "block (32, 1, 1) for a kernel that requires (64, 1, 1)");
  EXPECT_EQ(launch({1, 1, 1}, {2048, 1, 1}, 0, {0, 0}),
            "block (2048, 1, 1) is empty or exceeds 1024 threads");
  EXPECT_EQ(launch({0, 1, 1}, {64, 1, 1}, 0, {0, 0}),
            "grid (0, 1, 1) is empty or exceeds (2147483647, 65535, 65535)");
  EXPECT_EQ(launch({1, 1, 1}, {64, 1, 1}, 300000, {0, 0}),
            "1280 + 300000 bytes of shared memory exceed the window");
}

} // namespace
