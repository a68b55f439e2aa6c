//===- EmitterTest.cpp - Tests of the kernel emitter ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Common/Emitter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace sparseditto;

namespace {

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

TEST(Emitter, EveryOperationVerifies) {
  mlir::MLIRContext context;
  KernelParam weight{"w", true, 16, false, false};
  KernelParam x{"x", true, 2, true, true};
  KernelParam n{"n", false};
  KernelEmitter e(context, "k", 64, 2, {weight, x, n});
  Val shared = e.sharedArray("stage", 4096, 128);
  EXPECT_EQ(e.staticSharedBytes(), 4096u);
  Val dynamic = e.sharedDynamic();
  Val lane = e.lane(), warp = e.warp();
  Val row = e.ptrAdd(shared, (lane ^ (warp & 7)) * 16);
  e.cpAsync(row, 0, e.param(1), 16,
            e.select(lane < e.param(2), e.i32(16), e.i32(0)));
  e.cpAsync(dynamic, 16, e.param(1), 4);
  e.cpAsyncCommit();
  Val quad = e.load(e.vecType(4, e.i32Type()), e.param(0), 512, 16);
  e.cpAsyncWait(0);
  e.barrier();
  auto b = e.ldmatrix(row, 32, 4, true);
  auto b1 = e.ldmatrix(row, 0, 1, false);
  EXPECT_EQ(b.size(), 4u);
  EXPECT_EQ(b1.size(), 1u);
  std::array<Val, 4> acc = {e.f32(0), e.f32(0), e.f32(0), e.f32(0)};
  llvm::SmallVector<Val> a;
  for (unsigned i = 0; i < 4; ++i)
    a.push_back(e.extract(quad, i));
  for (ElementType type : {ElementType::F16, ElementType::BF16}) {
    acc = e.mma(type, a, {b[0], b[1]}, acc);
    acc = e.mmaSparse(type, a, b, acc, b1[0], 1);
  }
  auto sums = e.forLoop(
      e.i32(0), e.param(2), e.i32(2), {acc[0]},
      [&](Val iv, llvm::ArrayRef<Val> args) -> llvm::SmallVector<Val> {
        auto r = e.ifThenElse(
            iv == 4, {e.f32Type()},
            [&] { return llvm::SmallVector<Val>{args[0] + acc[1]}; },
            [&] { return llvm::SmallVector<Val>{args[0] * acc[2]}; });
        return {r[0]};
      });
  Val y = e.gelu(e.silu(e.relu(e.shuffleXor(sums[0], 16))));
  Val pair = e.makeVector({y, e.shuffleIdx(y, warp)});
  e.ifThen((lane == 0) & (warp != 1), [&] {
    e.store(e.fromF32(pair, ElementType::BF16), shared, 0, 4);
    e.store(e.toF32(e.fromF32(pair, ElementType::F16)), shared, 8, 8);
  });
  e.warpBarrier();
  mlir::OwningOpRef<mlir::ModuleOp> module = e.finish();
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  std::string text = print(*module);
  for (const char *part :
       {"known_block_size = array<i32: 64, 1, 1>", "nvvm.minctasm = 2 : i32",
        "nvvm.mma.sp.sync", "orderedMetadata", "nvvm.ldmatrix",
        "nvvm.cp.async.shared.global", "llvm.readonly", "scf.for", "scf.if"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Emitter, ConstantsFoldWhileBuilding) {
  mlir::MLIRContext context;
  KernelEmitter e(context, "k", 32, 0, {});
  Val a = (e.i32(5) + 3) * 4;
  EXPECT_EQ(print(*e.finish()).find("arith.muli"), std::string::npos);
  (void)a;
}

} // namespace
