//===- InstrumentWarpOps.cpp - Where the lanes of a warp meet -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shuffles, votes, ldmatrix and the matrix instructions become one call, whose
// last lane to arrive computes it for all.
//
//===----------------------------------------------------------------------===//

#include "Instrumenter.h"
#include "Runtime.h"
#include "llvm/ADT/StringSwitch.h"

using namespace sparseditto;
using namespace sparseditto::emulator;
using llvm::StringRef;
using llvm::Value;

/// A value as the low bits of an argument word.
static Value *toWord(llvm::IRBuilder<> &b, Value *value) {
  llvm::Type *type = value->getType();
  if (type->isPointerTy())
    return b.CreatePtrToInt(value, b.getInt64Ty());
  if (!type->isIntegerTy())
    value = b.CreateBitCast(value, b.getIntNTy(type->getPrimitiveSizeInBits()));
  return b.CreateZExtOrTrunc(value, b.getInt64Ty());
}

static Value *fromWord(llvm::IRBuilder<> &b, Value *word, llvm::Type *type) {
  if (type->isIntegerTy())
    return b.CreateZExtOrTrunc(word, type);
  Value *bits =
      b.CreateTrunc(word, b.getIntNTy(type->getPrimitiveSizeInBits()));
  return b.CreateBitCast(bits, type);
}

Value *Instrumenter::emitWarpOp(llvm::IRBuilder<> &b, unsigned site,
                                Value *mask, llvm::ArrayRef<Value *> args,
                                llvm::Type *result) {
  llvm::Type *i64 = b.getInt64Ty();
  for (auto [i, arg] : llvm::enumerate(args))
    b.CreateStore(toWord(b, arg), b.CreateConstGEP1_32(i64, ArgSlots, i));
  emitCall(b, "sd_emu_warp", b.getVoidTy(),
           {Context, b.getInt32(site), mask, ArgSlots, ResultSlots});
  auto load = [&](unsigned i, llvm::Type *type) {
    Value *slot = b.CreateConstGEP1_32(i64, ResultSlots, i);
    return fromWord(b, b.CreateLoad(i64, slot), type);
  };
  if (result->isVoidTy())
    return nullptr;
  auto *fields = llvm::dyn_cast<llvm::StructType>(result);
  if (!fields)
    return load(0, result);
  Value *aggregate = llvm::PoisonValue::get(result);
  for (unsigned i = 0; i < fields->getNumElements(); ++i)
    aggregate =
        b.CreateInsertValue(aggregate, load(i, fields->getElementType(i)), i);
  return aggregate;
}

bool Instrumenter::rewriteWarpOp(llvm::CallInst &call, StringRef name) {
  StringRef full = name;
  std::optional<WarpOp> op;
  unsigned maskArg = 0, count = 0;
  bool aligned = false, transpose = false;
  if (name.consume_front("shfl.sync.")) {
    op = llvm::StringSwitch<std::optional<WarpOp>>(name.split('.').first)
             .Case("idx", WarpOp::ShuffleIdx)
             .Case("up", WarpOp::ShuffleUp)
             .Case("down", WarpOp::ShuffleDown)
             .Case("bfly", WarpOp::ShuffleBfly)
             .Default(std::nullopt);
  } else if (name.consume_front("vote.")) {
    op = llvm::StringSwitch<std::optional<WarpOp>>(name)
             .Case("all.sync", WarpOp::VoteAll)
             .Case("any.sync", WarpOp::VoteAny)
             .Case("uni.sync", WarpOp::VoteUni)
             .Case("ballot.sync", WarpOp::VoteBallot)
             .Default(std::nullopt);
  } else if (name.consume_front("redux.sync.")) {
    maskArg = 1;
    op = llvm::StringSwitch<std::optional<WarpOp>>(name)
             .Case("add", WarpOp::ReduceAdd)
             .Case("and", WarpOp::ReduceAnd)
             .Case("or", WarpOp::ReduceOr)
             .Case("xor", WarpOp::ReduceXor)
             .Case("min", WarpOp::ReduceMin)
             .Case("max", WarpOp::ReduceMax)
             .Case("umin", WarpOp::ReduceUMin)
             .Case("umax", WarpOp::ReduceUMax)
             .Default(std::nullopt);
  } else if (name == "match.any.sync.i32") {
    op = WarpOp::MatchAny;
  } else if (name == "bar.warp.sync") {
    op = WarpOp::Sync;
  } else if (name == "elect.sync") {
    op = WarpOp::Elect;
  } else if (name.consume_front("ldmatrix.sync.aligned.m8n8.x") ||
             name.consume_front("stmatrix.sync.aligned.m8n8.x")) {
    op = full.starts_with("ld") ? WarpOp::LoadMatrix : WarpOp::StoreMatrix;
    aligned = true;
    if (name.consumeInteger(10, count))
      return false;
    transpose = name.consume_front(".trans");
    if (!name.starts_with(".b16"))
      return false;
  }
  if (!op)
    return false;
  unsigned site = addSite(call, full);
  Result.sites[site].warpOp = *op;
  Result.sites[site].aligned = aligned;
  Result.sites[site].count = count;
  Result.sites[site].transpose = transpose;
  llvm::IRBuilder<> b(&call);
  Value *mask = b.getInt32(~0u);
  llvm::SmallVector<Value *> args;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (!aligned && i == maskArg)
      mask = call.getArgOperand(i);
    else
      args.push_back(call.getArgOperand(i));
  }
  replace(call, emitWarpOp(b, site, mask, args, call.getType()));
  return true;
}

static std::optional<MatrixElement> parseElement(StringRef name) {
  return llvm::StringSwitch<std::optional<MatrixElement>>(name)
      .Case("bf16", MatrixElement::BF16)
      .Case("tf32", MatrixElement::TF32)
      .Case("s8", MatrixElement::S8)
      .Case("u8", MatrixElement::U8)
      .Case("e4m3", MatrixElement::E4M3)
      .Case("e5m2", MatrixElement::E5M2)
      .Default(std::nullopt);
}

/// "m16n8k16.row.col.f32.f32" and so on: the types are those of D and C for
/// f16, of A (and B) alone for bf16, tf32 and bytes, and D, A, B, C for fp8.
static std::optional<MatrixOp> parseMatrixOp(StringRef name) {
  MatrixOp op;
  if (!name.consume_front("mma."))
    return std::nullopt;
  op.sparse = name.consume_front("sp.");
  op.ordered = op.sparse && name.consume_front("ordered.metadata.");
  if (!name.consume_front("m16n8k") || name.consumeInteger(10, op.k) ||
      !name.consume_front(".row.col."))
    return std::nullopt;
  op.saturate = name.consume_front("satfinite.");
  llvm::SmallVector<StringRef, 4> types;
  name.split(types, '.');
  std::optional<MatrixElement> first = parseElement(types[0]);
  if (types.size() == 4 && types[0] == "f32" && types[3] == "f32") {
    std::optional<MatrixElement> a = parseElement(types[1]),
                                 b = parseElement(types[2]);
    if (!a || !b)
      return std::nullopt;
    op.a = *a;
    op.b = *b;
  } else if (first && types.size() <= 2) {
    std::optional<MatrixElement> second = parseElement(types.back());
    if (!second)
      return std::nullopt;
    op.a = *first;
    op.b = *second;
    if (op.a == MatrixElement::S8 || op.a == MatrixElement::U8)
      op.accumulator = Accumulator::S32;
  } else if (types.size() == 2 && types[0] == types[1] &&
             (types[0] == "f32" || types[0] == "f16")) {
    op.accumulator = types[0] == "f16" ? Accumulator::F16 : Accumulator::F32;
  } else {
    return std::nullopt;
  }
  unsigned e = op.elementsPerRegister();
  // The stored A is 4*e or 8*e wide. The metadata of bytes is not modelled.
  if ((op.storedK() != 4 * e && op.storedK() != 8 * e) || op.k > 64 ||
      (op.sparse && e == 4))
    return std::nullopt;
  return op;
}

bool Instrumenter::rewriteMatrixOp(llvm::CallInst &call, StringRef name) {
  std::optional<MatrixOp> op = parseMatrixOp(name);
  if (!op)
    return false;
  unsigned operands = op->aRegisters() + op->bRegisters() + op->cRegisters();
  llvm::SmallVector<Value *> args(call.args());
  if (op->sparse) {
    auto *selector = llvm::dyn_cast<llvm::ConstantInt>(args.back());
    if (!selector)
      return false;
    // As ptxas: which lanes may hold the metadata depends on its length.
    if (selector->getValue().uge(op->selectors()))
      return false;
    op->selector = selector->getZExtValue();
    args.pop_back();
    ++operands;
  }
  if (args.size() != operands)
    return false;
  unsigned site = addSite(call, name);
  Result.sites[site].warpOp = WarpOp::Matrix;
  Result.sites[site].aligned = true;
  Result.sites[site].matrix = *op;
  llvm::IRBuilder<> b(&call);
  replace(call, emitWarpOp(b, site, b.getInt32(~0u), args, call.getType()));
  return true;
}
