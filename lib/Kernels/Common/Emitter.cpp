//===- Emitter.cpp - A light facade over the kernel dialects --------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitterImpl.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparseditto;

namespace {
bool isFloatLike(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

Value constantLike(OpBuilder &builder, Location loc, Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr scalar = isa<FloatType>(element)
                         ? TypedAttr(FloatAttr::get(element, double(value)))
                         : TypedAttr(IntegerAttr::get(element, value));
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(
        builder, loc,
        cast<TypedAttr>(Attribute(
            DenseElementsAttr::get(vector, ArrayRef<Attribute>(scalar)))));
  return arith::ConstantOp::create(builder, loc, scalar);
}

template <typename IntOp, typename FloatOp> Val binary(Val a, Val b) {
  auto &impl = a.e().impl();
  if (isFloatLike(a.type()))
    return a.e().wrap(impl.builder.createOrFold<FloatOp>(impl.loc, a, b));
  return a.e().wrap(impl.builder.createOrFold<IntOp>(impl.loc, a, b));
}
/// +, - and * of integers promise no signed overflow: LLVM may then move
/// constants through the sign extension of an address.
template <typename IntOp, typename FloatOp> Val binaryNsw(Val a, Val b) {
  auto &impl = a.e().impl();
  if (isFloatLike(a.type()))
    return a.e().wrap(impl.builder.createOrFold<FloatOp>(impl.loc, a, b));
  return a.e().wrap(impl.builder.createOrFold<IntOp>(
      impl.loc, a, b, arith::IntegerOverflowFlags::nsw));
}
template <typename IntOp> Val integer(Val a, Val b) {
  auto &impl = a.e().impl();
  assert(!isFloatLike(a.type()) && "integer operator on floats");
  return a.e().wrap(impl.builder.createOrFold<IntOp>(impl.loc, a, b));
}
Val compare(Val a, Val b, arith::CmpIPredicate i, arith::CmpFPredicate f) {
  auto &impl = a.e().impl();
  if (isFloatLike(a.type()))
    return a.e().wrap(
        impl.builder.createOrFold<arith::CmpFOp>(impl.loc, f, a, b));
  return a.e().wrap(
      impl.builder.createOrFold<arith::CmpIOp>(impl.loc, i, a, b));
}
Val like(Val a, int64_t value) {
  auto &impl = a.e().impl();
  return a.e().wrap(constantLike(impl.builder, impl.loc, a.type(), value));
}
} // namespace

Val sparseditto::operator+(Val a, Val b) {
  return binaryNsw<arith::AddIOp, arith::AddFOp>(a, b);
}
Val sparseditto::operator-(Val a, Val b) {
  return binaryNsw<arith::SubIOp, arith::SubFOp>(a, b);
}
Val sparseditto::operator*(Val a, Val b) {
  return binaryNsw<arith::MulIOp, arith::MulFOp>(a, b);
}
Val sparseditto::operator/(Val a, Val b) {
  return binary<arith::DivUIOp, arith::DivFOp>(a, b);
}
Val sparseditto::operator%(Val a, Val b) {
  return integer<arith::RemUIOp>(a, b);
}
Val sparseditto::operator&(Val a, Val b) {
  return integer<arith::AndIOp>(a, b);
}
Val sparseditto::operator|(Val a, Val b) { return integer<arith::OrIOp>(a, b); }
Val sparseditto::operator^(Val a, Val b) {
  return integer<arith::XOrIOp>(a, b);
}
Val sparseditto::operator<<(Val a, Val b) {
  return integer<arith::ShLIOp>(a, b);
}
Val sparseditto::operator>>(Val a, Val b) {
  return integer<arith::ShRUIOp>(a, b);
}
#define SD_WITH_INTEGER(OP)                                                    \
  Val sparseditto::operator OP(Val a, int64_t b) { return a OP like(a, b); }
SD_WITH_INTEGER(+)
SD_WITH_INTEGER(-)
SD_WITH_INTEGER(*)
SD_WITH_INTEGER(/)
SD_WITH_INTEGER(%)
SD_WITH_INTEGER(&)
SD_WITH_INTEGER(|)
SD_WITH_INTEGER(^)
SD_WITH_INTEGER(<<)
SD_WITH_INTEGER(>>)
SD_WITH_INTEGER(<)
SD_WITH_INTEGER(<=)
SD_WITH_INTEGER(>)
SD_WITH_INTEGER(>=)
SD_WITH_INTEGER(==)
SD_WITH_INTEGER(!=)
#undef SD_WITH_INTEGER
Val sparseditto::operator<(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT);
}
Val sparseditto::operator<=(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE);
}
Val sparseditto::operator>(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT);
}
Val sparseditto::operator>=(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE);
}
Val sparseditto::operator==(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ);
}
Val sparseditto::operator!=(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::ne, arith::CmpFPredicate::UNE);
}

//===----------------------------------------------------------------------===//
// Kernel frame
//===----------------------------------------------------------------------===//

KernelEmitter::KernelEmitter(MLIRContext &context, StringRef symbol,
                             unsigned threads, unsigned minBlocks,
                             ArrayRef<KernelParam> params) {
  context.loadDialect<arith::ArithDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                      NVVM::NVVMDialect, math::MathDialect, scf::SCFDialect,
                      vector::VectorDialect>();
  pimpl = std::make_unique<Impl>(context);
  OpBuilder &b = pimpl->builder;
  Location loc = pimpl->loc;
  pimpl->threads = threads;
  pimpl->module = ModuleOp::create(loc);
  b.setInsertionPointToStart(pimpl->module->getBody());
  pimpl->gpuModule =
      gpu::GPUModuleOp::create(b, loc, (symbol + "_module").str());
  b.setInsertionPointToStart(pimpl->gpuModule.getBody());

  SmallVector<Type> types;
  for (const KernelParam &param : params)
    types.push_back(param.pointer ? Type(pimpl->pointerType(1))
                                  : Type(b.getI32Type()));
  pimpl->func =
      gpu::GPUFuncOp::create(b, loc, symbol, b.getFunctionType(types, {}));
  gpu::GPUFuncOp func = pimpl->func;
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  if (minBlocks > 0)
    func->setAttr("nvvm.minctasm", b.getI32IntegerAttr(minBlocks));
  for (auto [index, param] : llvm::enumerate(params)) {
    if (!param.pointer)
      continue;
    func.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                    b.getI64IntegerAttr(param.align));
    if (param.noalias)
      func.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                      b.getUnitAttr());
    if (param.readOnly)
      func.setArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName(),
                      b.getUnitAttr());
  }
  b.setInsertionPointToStart(&func.getBody().front());
}

KernelEmitter::~KernelEmitter() = default;

OwningOpRef<ModuleOp> KernelEmitter::finish() {
  gpu::ReturnOp::create(pimpl->builder, pimpl->loc);
  return std::move(pimpl->module);
}

unsigned KernelEmitter::threads() const { return pimpl->threads; }
unsigned KernelEmitter::staticSharedBytes() const { return pimpl->sharedBytes; }
Val KernelEmitter::param(unsigned index) {
  return wrap(pimpl->func.getArgument(index));
}

//===----------------------------------------------------------------------===//
// Types, constants, special registers
//===----------------------------------------------------------------------===//

Type KernelEmitter::i1Type() { return pimpl->builder.getI1Type(); }
Type KernelEmitter::i8Type() { return pimpl->builder.getI8Type(); }
Type KernelEmitter::i16Type() { return pimpl->builder.getI16Type(); }
Type KernelEmitter::i32Type() { return pimpl->builder.getI32Type(); }
Type KernelEmitter::i64Type() { return pimpl->builder.getI64Type(); }
Type KernelEmitter::f16Type() { return pimpl->builder.getF16Type(); }
Type KernelEmitter::bf16Type() { return pimpl->builder.getBF16Type(); }
Type KernelEmitter::f32Type() { return pimpl->builder.getF32Type(); }
Type KernelEmitter::vecType(unsigned count, Type element) {
  return VectorType::get({int64_t(count)}, element);
}
Type KernelEmitter::typeOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return f16Type();
  case ElementType::BF16:
    return bf16Type();
  case ElementType::F32:
    return f32Type();
  default:
    return pimpl->builder.getIntegerType(byteSize(type) * 8);
  }
}

Val KernelEmitter::i32(int64_t value) {
  return wrap(constantLike(pimpl->builder, pimpl->loc, i32Type(), value));
}
Val KernelEmitter::i64(int64_t value) {
  return wrap(constantLike(pimpl->builder, pimpl->loc, i64Type(), value));
}
Val KernelEmitter::f32(double value) {
  return wrap(arith::ConstantOp::create(pimpl->builder, pimpl->loc,
                                        pimpl->builder.getF32FloatAttr(value)));
}
Val KernelEmitter::boolean(bool value) {
  return wrap(arith::ConstantOp::create(pimpl->builder, pimpl->loc,
                                        pimpl->builder.getBoolAttr(value)));
}
Val KernelEmitter::zero(Type type) {
  return wrap(constantLike(pimpl->builder, pimpl->loc, type, 0));
}

Val KernelEmitter::tid() {
  auto range = LLVM::ConstantRangeAttr::get(
      pimpl->builder.getContext(), APInt(32, 0), APInt(32, pimpl->threads));
  return wrap(
      NVVM::ThreadIdXOp::create(pimpl->builder, pimpl->loc, i32Type(), range));
}
Val KernelEmitter::lane() { return tid() & 31; }
Val KernelEmitter::warp() { return tid() >> 5; }
Val KernelEmitter::cta(unsigned dim) {
  OpBuilder &b = pimpl->builder;
  Type type = i32Type();
  if (dim == 0)
    return wrap(NVVM::BlockIdXOp::create(b, pimpl->loc, type));
  if (dim == 1)
    return wrap(NVVM::BlockIdYOp::create(b, pimpl->loc, type));
  return wrap(NVVM::BlockIdZOp::create(b, pimpl->loc, type));
}
Val KernelEmitter::gridSize(unsigned dim) {
  OpBuilder &b = pimpl->builder;
  Type type = i32Type();
  if (dim == 0)
    return wrap(NVVM::GridDimXOp::create(b, pimpl->loc, type));
  if (dim == 1)
    return wrap(NVVM::GridDimYOp::create(b, pimpl->loc, type));
  return wrap(NVVM::GridDimZOp::create(b, pimpl->loc, type));
}

//===----------------------------------------------------------------------===//
// Integers, casts, vectors
//===----------------------------------------------------------------------===//

Val KernelEmitter::select(Val condition, Val a, Val b) {
  return wrap(pimpl->builder.createOrFold<arith::SelectOp>(pimpl->loc,
                                                           condition, a, b));
}
Val KernelEmitter::minSigned(Val a, Val b) {
  return integer<arith::MinSIOp>(a, b);
}
Val KernelEmitter::maxSigned(Val a, Val b) {
  return integer<arith::MaxSIOp>(a, b);
}
Val KernelEmitter::ceilDiv(Val a, int64_t b) { return (a + (b - 1)) / b; }
Val KernelEmitter::popCount(Val a) {
  return wrap(math::CtPopOp::create(pimpl->builder, pimpl->loc, a));
}
Val KernelEmitter::addWrapping(Val a, Val b) {
  return integer<arith::AddIOp>(a, b);
}
Val KernelEmitter::notOp(Val condition) { return condition ^ boolean(true); }
Val KernelEmitter::zext(Val a, Type type) {
  if (a.type() == type)
    return a;
  return wrap(pimpl->builder.createOrFold<arith::ExtUIOp>(pimpl->loc, type, a));
}
Val KernelEmitter::sext(Val a, Type type) {
  if (a.type() == type)
    return a;
  return wrap(pimpl->builder.createOrFold<arith::ExtSIOp>(pimpl->loc, type, a));
}
Val KernelEmitter::trunc(Val a, Type type) {
  if (a.type() == type)
    return a;
  return wrap(
      pimpl->builder.createOrFold<arith::TruncIOp>(pimpl->loc, type, a));
}
Val KernelEmitter::bitcast(Val a, Type type) {
  if (a.type() == type)
    return a;
  return wrap(LLVM::BitcastOp::create(pimpl->builder, pimpl->loc, type, a));
}
Val KernelEmitter::ptrToI64(Val pointer) {
  return wrap(
      LLVM::PtrToIntOp::create(pimpl->builder, pimpl->loc, i64Type(), pointer));
}
Val KernelEmitter::ptrLowBits(Val pointer) {
  return trunc(ptrToI64(pointer), i32Type());
}

Val KernelEmitter::extract(Val vector, unsigned index) {
  return wrap(pimpl->builder.createOrFold<vector::ExtractOp>(pimpl->loc, vector,
                                                             int64_t(index)));
}
Val KernelEmitter::insert(Val vector, Val element, unsigned index) {
  return wrap(vector::InsertOp::create(pimpl->builder, pimpl->loc, element,
                                       vector, int64_t(index)));
}
Val KernelEmitter::makeVector(ArrayRef<Val> elements) {
  SmallVector<Value> values(elements.begin(), elements.end());
  return wrap(vector::FromElementsOp::create(
      pimpl->builder, pimpl->loc,
      cast<VectorType>(vecType(elements.size(), elements.front().type())),
      values));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Val KernelEmitter::ptrAdd(Val pointer, Val byteOffset) {
  return wrap(LLVM::GEPOp::create(pimpl->builder, pimpl->loc, pointer.type(),
                                  i8Type(), pointer,
                                  ArrayRef<LLVM::GEPArg>{Value(byteOffset)},
                                  LLVM::GEPNoWrapFlags::inbounds));
}
Val KernelEmitter::ptrAdd(Val pointer, int64_t byteOffset) {
  if (byteOffset == 0)
    return pointer;
  // A GEP's constant index is 32-bit.
  if (!llvm::isInt<32>(byteOffset))
    return ptrAdd(pointer, i64(byteOffset));
  return wrap(LLVM::GEPOp::create(pimpl->builder, pimpl->loc, pointer.type(),
                                  i8Type(), pointer,
                                  ArrayRef<LLVM::GEPArg>{int32_t(byteOffset)},
                                  LLVM::GEPNoWrapFlags::inbounds));
}
Val KernelEmitter::load(Type type, Val pointer, int64_t byteOffset,
                        unsigned alignment) {
  Val address = ptrAdd(pointer, byteOffset);
  return wrap(LLVM::LoadOp::create(pimpl->builder, pimpl->loc, type, address,
                                   alignment));
}
void KernelEmitter::store(Val value, Val pointer, int64_t byteOffset,
                          unsigned alignment) {
  Val address = ptrAdd(pointer, byteOffset);
  LLVM::StoreOp::create(pimpl->builder, pimpl->loc, value, address, alignment);
}
Val KernelEmitter::sharedArray(StringRef name, unsigned bytes,
                               unsigned alignment) {
  auto type = LLVM::LLVMArrayType::get(i8Type(), bytes);
  std::string symbol = (pimpl->func.getName() + "_" + name).str();
  LLVM::GlobalOp global =
      pimpl->addGlobal(symbol, type, LLVM::Linkage::Internal, alignment);
  pimpl->sharedBytes = llvm::alignTo(pimpl->sharedBytes, alignment) + bytes;
  return wrap(LLVM::AddressOfOp::create(pimpl->builder, pimpl->loc, global));
}
Val KernelEmitter::sharedDynamic() {
  if (!pimpl->dynamicShared)
    pimpl->dynamicShared = pimpl->addGlobal(
        (pimpl->func.getName() + "_smem").str(),
        LLVM::LLVMArrayType::get(i8Type(), 0), LLVM::Linkage::External, 1024);
  return wrap(LLVM::AddressOfOp::create(pimpl->builder, pimpl->loc,
                                        pimpl->dynamicShared));
}

void KernelEmitter::cpAsync(Val dstShared, int64_t dstOffset, Val srcGlobal,
                            unsigned bytes, Val sourceBytes) {
  Val dst = ptrAdd(dstShared, dstOffset);
  NVVM::CpAsyncOp::create(pimpl->builder, pimpl->loc, dst, srcGlobal, bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          sourceBytes ? Value(sourceBytes) : Value());
}
void KernelEmitter::cpAsyncCommit() {
  NVVM::CpAsyncCommitGroupOp::create(pimpl->builder, pimpl->loc);
}
void KernelEmitter::cpAsyncWait(unsigned pendingGroups) {
  NVVM::CpAsyncWaitGroupOp::create(pimpl->builder, pimpl->loc, pendingGroups);
}
void KernelEmitter::barrier() {
  gpu::BarrierOp::create(pimpl->builder, pimpl->loc);
}
void KernelEmitter::warpBarrier() {
  NVVM::SyncWarpOp::create(pimpl->builder, pimpl->loc, i32(-1));
}

//===----------------------------------------------------------------------===//
// f32 math
//===----------------------------------------------------------------------===//

Val KernelEmitter::fma(Val a, Val b, Val c) {
  return wrap(math::FmaOp::create(pimpl->builder, pimpl->loc, a, b, c));
}
Val KernelEmitter::exp(Val a) {
  constexpr double log2e = 1.4426950408889634;
  return wrap(math::Exp2Op::create(pimpl->builder, pimpl->loc, a * f32(log2e)));
}
Val KernelEmitter::absF(Val a) {
  return wrap(math::AbsFOp::create(pimpl->builder, pimpl->loc, a));
}
Val KernelEmitter::maxPropagatingNaN(Val a, Val b) {
  return wrap(arith::MaximumFOp::create(pimpl->builder, pimpl->loc, a, b));
}
Val KernelEmitter::toF32(Val a) {
  Type type = f32Type();
  if (auto vector = dyn_cast<VectorType>(a.type()))
    type = VectorType::get(vector.getShape(), type);
  if (a.type() == type)
    return a;
  return wrap(arith::ExtFOp::create(pimpl->builder, pimpl->loc, type, a,
                                    arith::FastMathFlagsAttr()));
}
Val KernelEmitter::fromF32(Val a, ElementType target) {
  Type type = typeOf(target);
  if (auto vector = dyn_cast<VectorType>(a.type()))
    type = VectorType::get(vector.getShape(), type);
  if (a.type() == type)
    return a;
  return wrap(arith::TruncFOp::create(pimpl->builder, pimpl->loc, type, a));
}

Val KernelEmitter::relu(Val a) { return maxPropagatingNaN(a, f32(0)); }
Val KernelEmitter::silu(Val a) {
  Val e = exp(f32(0) - a);
  return a / (e + f32(1));
}

// x * Phi(x) with Phi(-|x|) = erfc(z) / 2, z = |x| / sqrt(2), and
// erfc(z) = exp(-z^2) * t * q(t), t = 1 / (1 + z / 2): q is our own
// Chebyshev interpolation of erfcx(z) / t on z in [0, 10.5]. The relative error
// of q is 2e-7; Phi stays accurate in the negative tail, where 1 + erf(x) would
// cancel; no libdevice is needed.
Val KernelEmitter::gelu(Val a) {
  static constexpr double q[] = {
      0.2820815443992615,   0.28246715664863586,  0.24239572882652283,
      0.20561634004116058,  -0.03378071263432503, 0.2886941432952881,
      -0.49662694334983826, 0.2891654968261719,   -0.060012806206941605};
  constexpr double halfInvSqrt2 = 0.35355339059327379;
  Val t = f32(1) / fma(absF(a), f32(halfInvSqrt2), f32(1));
  Val poly = f32(q[8]);
  for (int i = 7; i >= 0; --i)
    poly = fma(poly, t, f32(q[i]));
  Val half = exp(a * a * f32(-0.5)) * (t * poly) * f32(0.5);
  Val phi = select(a >= f32(0), f32(1) - half, half);
  return a * phi;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Val> KernelEmitter::forLoop(Val lb, Val ub, Val step,
                                        ArrayRef<Val> inits, LoopBody body) {
  OpBuilder &b = pimpl->builder;
  SmallVector<Value> initial(inits.begin(), inits.end());
  auto loop = scf::ForOp::create(b, pimpl->loc, lb, ub, step, initial);
  // Without results the builder has put a terminator into the body already.
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (block->empty())
    b.setInsertionPointToStart(block);
  else
    b.setInsertionPoint(block->getTerminator());
  SmallVector<Val> args;
  for (Value arg : loop.getRegionIterArgs())
    args.push_back(wrap(arg));
  SmallVector<Val> next = body(wrap(loop.getInductionVar()), args);
  assert(next.size() == inits.size() && "loop body must yield every value");
  if (!inits.empty()) {
    SmallVector<Value> yielded(next.begin(), next.end());
    scf::YieldOp::create(b, pimpl->loc, yielded);
  }
  SmallVector<Val> results;
  for (Value result : loop.getResults())
    results.push_back(wrap(result));
  return results;
}
void KernelEmitter::forLoop(Val lb, Val ub, Val step,
                            function_ref<void(Val)> body) {
  forLoop(lb, ub, step, {}, [&](Val iv, ArrayRef<Val>) {
    body(iv);
    return SmallVector<Val>();
  });
}

SmallVector<Val>
KernelEmitter::ifThenElse(Val condition, ArrayRef<Type> types,
                          function_ref<SmallVector<Val>()> then,
                          function_ref<SmallVector<Val>()> otherwise) {
  OpBuilder &b = pimpl->builder;
  auto op = scf::IfOp::create(b, pimpl->loc, TypeRange(types), condition,
                              /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block *block, function_ref<SmallVector<Val>()> body) {
    b.setInsertionPointToStart(block);
    SmallVector<Val> values = body();
    SmallVector<Value> yielded(values.begin(), values.end());
    scf::YieldOp::create(b, pimpl->loc, yielded);
  };
  fill(op.thenBlock(), then);
  fill(op.elseBlock(), otherwise);
  SmallVector<Val> results;
  for (Value result : op.getResults())
    results.push_back(wrap(result));
  return results;
}
void KernelEmitter::ifThen(Val condition, function_ref<void()> then) {
  OpBuilder &b = pimpl->builder;
  auto op = scf::IfOp::create(b, pimpl->loc, condition,
                              /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
}
void KernelEmitter::ifThenElse(Val condition, function_ref<void()> then,
                               function_ref<void()> otherwise) {
  ifThenElse(
      condition, ArrayRef<Type>(),
      [&] {
        then();
        return SmallVector<Val>();
      },
      [&] {
        otherwise();
        return SmallVector<Val>();
      });
}
