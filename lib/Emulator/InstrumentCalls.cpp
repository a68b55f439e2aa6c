//===- InstrumentCalls.cpp - GPU intrinsics as calls ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Intrinsics are told apart by name: LLVM has thousands of them, and the name
// is regular where the enumerators are not.
//
//===----------------------------------------------------------------------===//

#include "Instrumenter.h"
#include "Runtime.h"
#include "llvm/ADT/StringSwitch.h"
#include <cstddef>

using namespace sparseditto;
using namespace sparseditto::emulator;
using llvm::StringRef;
using llvm::Value;

llvm::Error Instrumenter::rewriteCall(llvm::CallInst &call) {
  if (call.isInlineAsm())
    return rewriteInlineAsm(call);
  llvm::Function *callee = call.getCalledFunction();
  if (!callee)
    return unsupported(call, "indirect call");
  StringRef name = callee->getName();
  if (!callee->isIntrinsic()) {
    for (const RuntimeSymbol &symbol : runtimeSymbols())
      if (name == symbol.name && !name.starts_with("sd_emu_"))
        return llvm::Error::success();
    if (name == "__assertfail" || name == "abort") {
      llvm::IRBuilder<> b(&call);
      emitCall(b, "sd_emu_trap", b.getVoidTy(),
               {Context, b.getInt32(addSite(call, name))});
      replace(call, nullptr);
      return llvm::Error::success();
    }
    return unsupported(call, "call of external function '" + name + "'");
  }
  if (name.consume_front("llvm.nvvm."))
    return rewriteNvvm(call, name);
  if (auto *memory = llvm::dyn_cast<llvm::MemIntrinsic>(&call)) {
    checkRange(call, memory->getRawDest(), memory->getLength(),
               AccessKind::Store);
    if (auto *transfer = llvm::dyn_cast<llvm::MemTransferInst>(memory))
      checkRange(call, transfer->getRawSource(), memory->getLength(),
                 AccessKind::Load);
    return llvm::Error::success();
  }
  switch (call.getIntrinsicID()) {
  case llvm::Intrinsic::trap:
  case llvm::Intrinsic::debugtrap:
  case llvm::Intrinsic::ubsantrap: {
    llvm::IRBuilder<> b(&call);
    emitCall(b, "sd_emu_trap", b.getVoidTy(),
             {Context, b.getInt32(addSite(call, name))});
    replace(call, nullptr);
    return llvm::Error::success();
  }
  case llvm::Intrinsic::masked_load:
  case llvm::Intrinsic::masked_store:
  case llvm::Intrinsic::masked_gather:
  case llvm::Intrinsic::masked_scatter:
    return unsupported(call, "masked vector access '" + name + "'");
  default:
    break;
  }
  if (llvm::Intrinsic::isTargetIntrinsic(call.getIntrinsicID()))
    return unsupported(call, "intrinsic '" + name + "'");
  // Its memory, if any, would go unchecked.
  bool harmless =
      llvm::cast<llvm::IntrinsicInst>(call).isAssumeLikeIntrinsic() ||
      call.doesNotAccessMemory();
  for (Value *arg : call.args())
    if (arg->getType()->isPtrOrPtrVectorTy() && !harmless)
      return unsupported(call, "intrinsic '" + name + "'");
  return llvm::Error::success();
}

llvm::Error Instrumenter::rewriteNvvm(llvm::CallInst &call, StringRef name) {
  llvm::IRBuilder<> b(&call);
  if (StringRef reg = name; reg.consume_front("read.ptx.sreg.")) {
    if (Value *value = specialRegister(b, reg)) {
      replace(call, value);
      return llvm::Error::success();
    }
    return unsupported(call, "special register '" + reg + "'");
  }
  // One address space and one kind of order on the host: nothing is left of
  // these. Register budgets and dependent launches do not change results.
  if (name.starts_with("membar.") || name.starts_with("fence.") ||
      name.starts_with("prefetch") || name.starts_with("griddepcontrol.") ||
      name.starts_with("setmaxnreg.") || name == "nanosleep") {
    replace(call, nullptr);
    return llvm::Error::success();
  }
  if (name == "exit") {
    emitCall(b, "sd_emu_exit", b.getVoidTy(), {Context});
    replace(call, nullptr);
    return llvm::Error::success();
  }
  if (rewriteBarrier(call, name) || rewriteBulkCopy(call, name) ||
      rewriteCopy(call, name) || rewriteMbarrier(call, name) ||
      rewriteMatrixOp(call, name) || rewriteWarpOp(call, name))
    return llvm::Error::success();
  if (Value *value = emitMath(call, b, name)) {
    replace(call, value);
    return llvm::Error::success();
  }
  return unsupported(call, "instruction 'llvm.nvvm." + name + "'");
}

Value *Instrumenter::specialRegister(llvm::IRBuilder<> &b, StringRef name) {
  llvm::Type *i32 = b.getInt32Ty();
  auto word = [&](size_t offset) { return loadContext(offset, i32); };
  auto [base, axis] = name.rsplit('.');
  unsigned index = axis == "x" ? 0 : axis == "y" ? 1 : axis == "z" ? 2 : 3;
  if (index < 3) {
    size_t step = index * sizeof(uint32_t);
    if (base == "tid")
      return word(offsetof(ThreadContext, tid) + step);
    if (base == "ntid")
      return word(offsetof(ThreadContext, ntid) + step);
    // A grid without clusters is one of clusters of one block.
    if (base == "ctaid" || base == "clusterid")
      return word(offsetof(ThreadContext, ctaid) + step);
    if (base == "nctaid" || base == "nclusterid")
      return word(offsetof(ThreadContext, nctaid) + step);
    if (base == "cluster.ctaid")
      return b.getInt32(0);
    if (base == "cluster.nctaid")
      return b.getInt32(1);
  }
  if (name == "cluster.ctarank")
    return b.getInt32(0);
  if (name == "cluster.nctarank")
    return b.getInt32(1);
  if (name == "laneid")
    return word(offsetof(ThreadContext, laneId));
  if (name == "warpid")
    return word(offsetof(ThreadContext, warpId));
  if (name == "nwarpid")
    return word(offsetof(ThreadContext, warpCount));
  if (name == "warpsize")
    return b.getInt32(32);
  if (name == "dynamic_smem_size")
    return word(offsetof(ThreadContext, dynamicSharedBytes));
  if (StringRef relation = name; relation.consume_front("lanemask.")) {
    Value *bit =
        b.CreateShl(b.getInt32(1), word(offsetof(ThreadContext, laneId)));
    Value *below = b.CreateSub(bit, b.getInt32(1));
    if (relation == "eq")
      return bit;
    if (relation == "lt")
      return below;
    if (relation == "le")
      return b.CreateOr(below, bit);
    if (relation == "ge")
      return b.CreateNot(below);
    if (relation == "gt")
      return b.CreateNot(b.CreateOr(below, bit));
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Barriers and copies
//===----------------------------------------------------------------------===//

bool Instrumenter::rewriteBarrier(llvm::CallInst &call, StringRef name) {
  StringRef full = name;
  if (!name.consume_front("barrier.cta."))
    return false;
  BarrierMode mode = BarrierMode::Sync;
  if (name.consume_front("arrive"))
    mode = BarrierMode::Arrive;
  else if (name.consume_front("red.popc"))
    mode = BarrierMode::ReducePopc;
  else if (name.consume_front("red.and"))
    mode = BarrierMode::ReduceAnd;
  else if (name.consume_front("red.or"))
    mode = BarrierMode::ReduceOr;
  else if (!name.consume_front("sync"))
    return false;
  bool aligned = name.consume_front(".aligned");
  bool counted = name == ".count";
  if (!counted && name != ".all")
    return false;
  llvm::IRBuilder<> b(&call);
  bool reduces = mode != BarrierMode::Sync && mode != BarrierMode::Arrive;
  Value *predicate = reduces ? b.CreateZExt(call.getArgOperand(counted ? 2 : 1),
                                            b.getInt32Ty())
                             : b.getInt32(0);
  Value *result =
      emitCall(b, "sd_emu_barrier", b.getInt32Ty(),
               {Context, b.getInt32(addSite(call, full)), call.getArgOperand(0),
                counted ? call.getArgOperand(1) : b.getInt32(0),
                b.getInt32(static_cast<unsigned>(mode)), b.getInt32(aligned),
                predicate});
  if (call.getType()->isIntegerTy(1))
    result = b.CreateTrunc(result, b.getInt1Ty());
  replace(call, result);
  return true;
}

bool Instrumenter::rewriteCopy(llvm::CallInst &call, StringRef name) {
  StringRef full = name;
  if (!name.consume_front("cp.async."))
    return false;
  llvm::IRBuilder<> b(&call);
  if (name == "commit.group") {
    emitCall(b, "sd_emu_copy_commit", b.getVoidTy(), {Context});
  } else if (name == "wait.group") {
    emitCall(b, "sd_emu_copy_wait", b.getVoidTy(),
             {Context, call.getArgOperand(0)});
  } else if (name == "wait.all") {
    emitCall(b, "sd_emu_copy_wait_all", b.getVoidTy(), {Context});
  } else if (name.consume_front("ca.shared.global.") ||
             name.consume_front("cg.shared.global.")) {
    name.consume_back(".s");
    unsigned size;
    if (name.getAsInteger(10, size))
      return false;
    Value *sourceSize =
        call.arg_size() > 2 ? call.getArgOperand(2) : b.getInt32(size);
    emitCall(b, "sd_emu_copy", b.getVoidTy(),
             {Context, b.getInt32(addSite(call, full)),
              addressOf(b, call.getArgOperand(0)),
              addressOf(b, call.getArgOperand(1)), b.getInt32(size),
              sourceSize});
  } else {
    return false;
  }
  replace(call, nullptr);
  return true;
}

bool Instrumenter::rewriteBulkCopy(llvm::CallInst &call, StringRef name) {
  StringRef full = name;
  if (!name.consume_front("cp.async.bulk."))
    return false;
  llvm::IRBuilder<> b(&call);
  auto address = [&](unsigned i) {
    return addressOf(b, call.getArgOperand(i));
  };
  if (name == "commit.group") {
    emitCall(b, "sd_emu_bulk_commit", b.getVoidTy(), {Context});
  } else if (name == "wait.group" || name == "wait.group.read") {
    emitCall(b, "sd_emu_bulk_wait", b.getVoidTy(),
             {Context, call.getArgOperand(0)});
  } else if (name == "global.to.shared.cluster" ||
             name == "global.to.shared.cta") {
    // Multicast needs a cluster, of which there is none.
    if (name == "global.to.shared.cluster" &&
        !llvm::cast<llvm::ConstantInt>(call.getArgOperand(6))->isZero())
      return false;
    emitCall(b, "sd_emu_bulk_load", b.getVoidTy(),
             {Context, b.getInt32(addSite(call, full)), address(0), address(2),
              call.getArgOperand(3), address(1)});
  } else if (name == "shared.cta.to.global") {
    emitCall(b, "sd_emu_bulk_store", b.getVoidTy(),
             {Context, b.getInt32(addSite(call, full)), address(0), address(1),
              call.getArgOperand(2)});
  } else {
    return false;
  }
  replace(call, nullptr);
  return true;
}

/// "mbarrier.try.wait.parity.scope.cta.space.cta" -> TryWaitParity.
static std::optional<MbarrierOp> parseMbarrierOp(StringRef name) {
  name = name.take_front(name.find(".scope."));
  name.consume_back(".relaxed");
  name.consume_back(".shared");
  name.consume_back(".tl");
  return llvm::StringSwitch<std::optional<MbarrierOp>>(name)
      .Case("mbarrier.init", MbarrierOp::Init)
      .Case("mbarrier.inval", MbarrierOp::Invalidate)
      .Cases({"mbarrier.arrive", "mbarrier.arrive.noComplete"},
             MbarrierOp::Arrive)
      .Case("mbarrier.arrive.drop", MbarrierOp::ArriveDrop)
      .Case("mbarrier.arrive.expect.tx", MbarrierOp::ArriveExpect)
      .Case("mbarrier.arrive.drop.expect.tx", MbarrierOp::ArriveDropExpect)
      .Case("mbarrier.expect.tx", MbarrierOp::Expect)
      .Case("mbarrier.complete.tx", MbarrierOp::Complete)
      .Case("mbarrier.test.wait", MbarrierOp::TestWait)
      .Case("mbarrier.test.wait.parity", MbarrierOp::TestWaitParity)
      .Case("mbarrier.try.wait", MbarrierOp::TryWait)
      .Case("mbarrier.try.wait.parity", MbarrierOp::TryWaitParity)
      .Cases({"cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.noinc"},
             MbarrierOp::ArriveAfterCopies)
      .Default(std::nullopt);
}

bool Instrumenter::rewriteMbarrier(llvm::CallInst &call, StringRef name) {
  std::optional<MbarrierOp> op = parseMbarrierOp(name);
  if (!op)
    return false;
  llvm::IRBuilder<> b(&call);
  Value *value = b.getInt64(1);
  if (*op == MbarrierOp::ArriveAfterCopies)
    value = b.getInt64(name.contains("noinc"));
  else if (call.arg_size() > 1)
    value = b.CreateZExt(call.getArgOperand(1), b.getInt64Ty());
  Value *result = emitCall(b, "sd_emu_mbarrier", b.getInt64Ty(),
                           {Context, b.getInt32(addSite(call, name)),
                            b.getInt32(static_cast<unsigned>(*op)),
                            addressOf(b, call.getArgOperand(0)), value});
  if (call.getType()->isIntegerTy(1))
    result = b.CreateTrunc(result, b.getInt1Ty());
  replace(call, result);
  return true;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Subnormals become zeros of the same sign.
static Value *flush(llvm::IRBuilder<> &b, Value *x) {
  llvm::Type *type = x->getType();
  llvm::Type *scalar = type->getScalarType();
  if (!scalar->isFloatTy())
    return x;
  Value *zero = llvm::ConstantFP::get(type, 0.0);
  Value *least = llvm::ConstantFP::get(
      type, llvm::APFloat::getSmallestNormalized(llvm::APFloat::IEEEsingle()));
  Value *magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value *signedZero =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, x);
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, least), signedZero, x);
}

/// cvt.rna.tf32: 10 bits of mantissa, ties away from zero.
static Value *roundToTF32(llvm::IRBuilder<> &b, Value *x) {
  Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  Value *rounded = b.CreateAnd(b.CreateAdd(bits, b.getInt32(0x1000)),
                               b.getInt32(0xffffe000));
  Value *exponent = b.CreateAnd(bits, b.getInt32(0x7f800000));
  Value *special = b.CreateICmpEQ(exponent, b.getInt32(0x7f800000));
  return b.CreateSelect(special, bits, rounded);
}

Value *Instrumenter::emitMath(llvm::CallInst &call, llvm::IRBuilder<> &b,
                              StringRef name) {
  using namespace llvm;
  auto arg = [&](unsigned i) { return call.getArgOperand(i); };
  Type *type = call.getType();
  if (name == "prmt")
    return emitCall(b, "sd_emu_prmt", b.getInt32Ty(), {arg(0), arg(1), arg(2)});
  if (name == "f2tf32.rna")
    return roundToTF32(b, arg(0));
  bool relu = name.consume_back(".relu");
  auto clamp = [&](Value *v) -> Value * {
    if (!relu)
      return v;
    return b.CreateMaxNum(v, ConstantFP::get(v->getType(), 0.0));
  };
  if (name == "f2bf16.rn" || name == "f2f16.rn")
    return clamp(b.CreateFPTrunc(arg(0), type));
  if (name == "ff2bf16x2.rn" || name == "ff2f16x2.rn") {
    // The first operand becomes the upper half.
    Type *element = type->getScalarType();
    Value *pair = b.CreateInsertElement(
        PoisonValue::get(type), b.CreateFPTrunc(arg(1), element), uint64_t(0));
    return clamp(b.CreateInsertElement(pair, b.CreateFPTrunc(arg(0), element),
                                       uint64_t(1)));
  }
  if (!type->isFPOrFPVectorTy())
    return nullptr;
  // "ex2.approx.ftz.f32" -> "ex2" with flushing: roundings other than to
  // nearest are not modelled, approximations are exact.
  SmallVector<StringRef, 6> parts;
  name.split(parts, '.');
  bool ftz = false, propagateNaN = false;
  for (StringRef part : llvm::drop_begin(parts)) {
    if (part == "ftz")
      ftz = true;
    else if (part == "nan")
      propagateNaN = true;
    else if (part != "approx" && part != "rn" && part != "full" &&
             part != "f" && part != "d" && part != "f32" && part != "f16" &&
             part != "f16x2" && part != "bf16" && part != "bf16x2" &&
             part != "v2f16" && part != "bf16" && part != "v2bf16")
      return nullptr;
  }
  SmallVector<Value *, 3> x;
  for (Value *operand : call.args())
    if (operand->getType() != type)
      return nullptr;
    else
      x.push_back(ftz ? flush(b, operand) : operand);
  Value *one = ConstantFP::get(type, 1.0);
  auto unary = [&](Intrinsic::ID id) {
    return b.CreateUnaryIntrinsic(id, x[0]);
  };
  StringRef base = parts[0];
  Value *result = nullptr;
  if (x.size() == 1) {
    if (base == "ex2")
      result = unary(Intrinsic::exp2);
    else if (base == "lg2")
      result = unary(Intrinsic::log2);
    else if (base == "sin")
      result = unary(Intrinsic::sin);
    else if (base == "cos")
      result = unary(Intrinsic::cos);
    else if (base == "tanh")
      result = unary(Intrinsic::tanh);
    else if (base == "sqrt")
      result = unary(Intrinsic::sqrt);
    else if (base == "fabs")
      result = unary(Intrinsic::fabs);
    else if (base == "rcp")
      result = b.CreateFDiv(one, x[0]);
    else if (base == "rsqrt")
      result = b.CreateFDiv(one, unary(Intrinsic::sqrt));
    else if (base == "saturate")
      result =
          b.CreateMinNum(b.CreateMaxNum(x[0], ConstantFP::get(type, 0.0)), one);
  } else if (x.size() == 2) {
    if (base == "add")
      result = b.CreateFAdd(x[0], x[1]);
    else if (base == "mul")
      result = b.CreateFMul(x[0], x[1]);
    else if (base == "div")
      result = b.CreateFDiv(x[0], x[1]);
    else if (base == "fmin")
      result = propagateNaN ? b.CreateMinimum(x[0], x[1])
                            : b.CreateMinNum(x[0], x[1]);
    else if (base == "fmax")
      result = propagateNaN ? b.CreateMaximum(x[0], x[1])
                            : b.CreateMaxNum(x[0], x[1]);
  } else if (x.size() == 3 && base == "fma") {
    result = b.CreateIntrinsic(Intrinsic::fma, {type}, x);
  }
  if (!result)
    return nullptr;
  return clamp(ftz ? flush(b, result) : result);
}
