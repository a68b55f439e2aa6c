//===- EmitterWarp.cpp - Warp-collective operations ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitterImpl.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sparseditto;

SmallVector<Val, 4> KernelEmitter::ldmatrix(Val pointer, int64_t byteOffset,
                                            unsigned count, bool transpose) {
  OpBuilder &b = pimpl->builder;
  Type result = i32Type();
  if (count > 1)
    result = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(count, i32Type()));
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value loaded = NVVM::LdMatrixOp::create(
      b, pimpl->loc, result, ptrAdd(pointer, byteOffset), count,
      transpose ? NVVM::MMALayout::col : NVVM::MMALayout::row, shape,
      NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {wrap(loaded)};
  SmallVector<Val, 4> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(
        wrap(LLVM::ExtractValueOp::create(b, pimpl->loc, loaded, i)));
  return values;
}

namespace {
/// Fragment registers in the type that the NVVM ops want: f16 pairs as
/// vector<2xf16>, bf16 pairs as i32.
SmallVector<Value> fragment(KernelEmitter &e, ElementType type,
                            ArrayRef<Val> registers) {
  SmallVector<Value> values;
  for (Val value : registers)
    values.push_back(type == ElementType::F16
                         ? e.bitcast(value, e.vecType(2, e.f16Type()))
                         : value);
  return values;
}
std::optional<std::array<NVVM::MMATypes, 2>> multiplicands(ElementType type) {
  auto kind =
      type == ElementType::F16 ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  return std::array<NVVM::MMATypes, 2>{kind, kind};
}
std::array<Val, 4> unpackAccumulators(KernelEmitter &e, OpBuilder &b,
                                      Location loc, Value result) {
  std::array<Val, 4> values;
  for (unsigned i = 0; i < 4; ++i)
    values[i] = e.wrap(LLVM::ExtractValueOp::create(b, loc, result, i));
  return values;
}
} // namespace

std::array<Val, 4> KernelEmitter::mma(ElementType type, ArrayRef<Val> a,
                                      ArrayRef<Val> b,
                                      const std::array<Val, 4> &c) {
  assert((type == ElementType::F16 || type == ElementType::BF16) &&
         a.size() == 4 && b.size() == 2);
  OpBuilder &builder = pimpl->builder;
  Type result = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(4, f32Type()));
  SmallVector<Value> acc(c.begin(), c.end());
  Value op = NVVM::MmaOp::create(
      builder, pimpl->loc, result, fragment(*this, type, a),
      fragment(*this, type, b), acc, ArrayRef<int64_t>{16, 8, 16}, std::nullopt,
      std::nullopt, multiplicands(type),
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  return unpackAccumulators(*this, builder, pimpl->loc, op);
}

std::array<Val, 4> KernelEmitter::mmaSparse(ElementType type, ArrayRef<Val> a,
                                            ArrayRef<Val> b,
                                            const std::array<Val, 4> &c,
                                            Val metadata, unsigned selector) {
  assert((type == ElementType::F16 || type == ElementType::BF16) &&
         a.size() == 4 && b.size() == 4 && selector < 2);
  OpBuilder &builder = pimpl->builder;
  Type result = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(4, f32Type()));
  SmallVector<Value> acc(c.begin(), c.end());
  auto op = NVVM::MmaSpOp::create(
      builder, pimpl->loc, result, fragment(*this, type, a),
      fragment(*this, type, b), acc, metadata, i32(selector),
      ArrayRef<int64_t>{16, 8, 32}, std::nullopt, multiplicands(type));
  // The plain .sp form is slow on sm_100 and later.
  op.setOrderedMetadata(true);
  return unpackAccumulators(*this, builder, pimpl->loc, op.getResult());
}

namespace {
Val shuffle(KernelEmitter &e, Val value, Val offset, int64_t clamp,
            NVVM::ShflKind kind) {
  auto &impl = e.impl();
  return e.wrap(NVVM::ShflOp::create(impl.builder, impl.loc, value.type(),
                                     e.i32(-1), value, offset, e.i32(clamp),
                                     kind, UnitAttr()));
}
} // namespace

Val KernelEmitter::shuffleXor(Val value, unsigned mask) {
  return shuffle(*this, value, i32(mask), 31, NVVM::ShflKind::bfly);
}
Val KernelEmitter::shuffleIdx(Val value, Val sourceLane) {
  return shuffle(*this, value, sourceLane, 31, NVVM::ShflKind::idx);
}
Val KernelEmitter::shuffleUp(Val value, unsigned delta) {
  return shuffle(*this, value, i32(delta), 0, NVVM::ShflKind::up);
}
Val KernelEmitter::shuffleDown(Val value, unsigned delta) {
  return shuffle(*this, value, i32(delta), 31, NVVM::ShflKind::down);
}
