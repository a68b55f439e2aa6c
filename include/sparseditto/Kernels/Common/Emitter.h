//===- Emitter.h - A light facade over the kernel dialects ------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernel builders write arithmetic with operators on `Val` and the rest with
// methods of KernelEmitter; what comes out is one gpu.module with one gpu.func
// in the gpu, scf, arith, math, vector, llvm and nvvm dialects. Only
// Emitter.cpp includes the dialect headers, so a builder compiles quickly.
//
// Conventions:
//  - Integers are i32 (i64 where asked for); +, - and * must not overflow
//    signed; / and % are unsigned.
//  - Pointers are byte-addressed llvm.ptr<1> (global) or llvm.ptr<3> (shared);
//    a 32-bit index is sign-extended. Put the run-time part in ptrAdd and the
//    build-time part in the constant offset of a load: it folds into the
//    instruction.
//  - Every load and store states its alignment in bytes; without it LLVM would
//    split vectors into elements.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_COMMON_EMITTER_H
#define SPARSEDITTO_KERNELS_COMMON_EMITTER_H

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Value.h"
#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <memory>
#include <string>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace sparseditto {

class KernelEmitter;

/// An SSA value that knows its emitter, so that operators can be used on it.
/// Operators dispatch on the type: integers, f32 and vectors of f32.
class Val {
public:
  Val() = default;
  Val(KernelEmitter *emitter, mlir::Value value)
      : emitter(emitter), value(value) {}
  operator mlir::Value() const { return value; }
  explicit operator bool() const { return bool(value); }
  mlir::Type type() const { return value.getType(); }
  KernelEmitter &e() const { return *emitter; }

private:
  KernelEmitter *emitter = nullptr;
  mlir::Value value;
};

Val operator+(Val a, Val b);
Val operator-(Val a, Val b);
Val operator*(Val a, Val b);
Val operator/(Val a, Val b); ///< Unsigned for integers.
Val operator%(Val a, Val b); ///< Unsigned.
Val operator&(Val a, Val b); ///< Also of i1 conditions.
Val operator|(Val a, Val b);
Val operator^(Val a, Val b);
Val operator<<(Val a, Val b);
Val operator>>(Val a, Val b); ///< Logical.
// The same with a build-time integer, of the type of the other side.
Val operator+(Val a, int64_t b);
Val operator-(Val a, int64_t b);
Val operator*(Val a, int64_t b);
Val operator/(Val a, int64_t b);
Val operator%(Val a, int64_t b);
Val operator&(Val a, int64_t b);
Val operator|(Val a, int64_t b);
Val operator^(Val a, int64_t b);
Val operator<<(Val a, int64_t b);
Val operator>>(Val a, int64_t b);
// Signed (ordered for f32) comparisons giving i1.
Val operator<(Val a, Val b);
Val operator<=(Val a, Val b);
Val operator>(Val a, Val b);
Val operator>=(Val a, Val b);
Val operator==(Val a, Val b);
Val operator!=(Val a, Val b);
Val operator<(Val a, int64_t b);
Val operator<=(Val a, int64_t b);
Val operator>(Val a, int64_t b);
Val operator>=(Val a, int64_t b);
Val operator==(Val a, int64_t b);
Val operator!=(Val a, int64_t b);

/// One kernel argument.
struct KernelParam {
  std::string name;     ///< For readers of the IR only.
  bool pointer = true;  ///< Else an i32.
  unsigned align = 1;   ///< Bytes promised, pointers only.
  bool noalias = false; ///< With readOnly: ptxas may turn loads into .nc and
                        ///< move them below barriers. Leave both off for
                        ///< weights whose loads must be issued early.
  bool readOnly = false;
};

class KernelEmitter {
public:
  /// Starts `gpu.module @<symbol>_module { gpu.func @symbol kernel }` for
  /// blocks of `threads` x 1 x 1. `minBlocks` > 0 asks ptxas to keep that many
  /// blocks on an SM (it caps the registers).
  KernelEmitter(mlir::MLIRContext &context, llvm::StringRef symbol,
                unsigned threads, unsigned minBlocks,
                llvm::ArrayRef<KernelParam> params);
  ~KernelEmitter();
  KernelEmitter(const KernelEmitter &) = delete;
  KernelEmitter &operator=(const KernelEmitter &) = delete;

  /// Ends the kernel and gives the module away. The emitter is dead after it.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  unsigned threads() const;
  /// Bytes of the static shared arrays made so far.
  unsigned staticSharedBytes() const;
  Val param(unsigned index);

  // Types.
  mlir::Type i1Type(), i8Type(), i16Type(), i32Type(), i64Type();
  mlir::Type f16Type(), bf16Type(), f32Type();
  mlir::Type vecType(unsigned count, mlir::Type element);
  /// f16, bf16, f32, or an integer type of the same width for the others.
  mlir::Type typeOf(ElementType type);

  // Constants and special registers.
  Val i32(int64_t value);
  Val i64(int64_t value);
  Val f32(double value);
  Val boolean(bool value);
  Val zero(mlir::Type type); ///< Scalar or vector.
  Val wrap(mlir::Value value) { return Val(this, value); }
  Val tid();                  ///< threadIdx.x, with its range.
  Val lane();                 ///< tid % 32.
  Val warp();                 ///< tid / 32.
  Val cta(unsigned dim);      ///< blockIdx, dim 0..2.
  Val gridSize(unsigned dim); ///< gridDim.

  // Integer helpers.
  Val select(Val condition, Val a, Val b);
  Val minSigned(Val a, Val b);
  Val maxSigned(Val a, Val b);
  Val ceilDiv(Val a, int64_t b);
  Val popCount(Val a);
  Val addWrapping(Val a, Val b); ///< No promise about overflow.
  Val notOp(Val condition);      ///< i1.
  Val zext(Val a, mlir::Type type);
  Val sext(Val a, mlir::Type type);
  Val trunc(Val a, mlir::Type type);
  Val sextI64(Val a) { return sext(a, i64Type()); }
  Val bitcast(Val a, mlir::Type type); ///< Any types of equal width.
  Val ptrToI64(Val pointer);
  /// (pointer mod 2^32), enough for alignment tests.
  Val ptrLowBits(Val pointer);

  // Vectors.
  Val extract(Val vector, unsigned index);
  Val insert(Val vector, Val element, unsigned index);
  Val makeVector(llvm::ArrayRef<Val> elements);

  // Memory.
  Val ptrAdd(Val pointer, Val byteOffset); ///< i32 or i64.
  Val ptrAdd(Val pointer, int64_t byteOffset);
  Val load(mlir::Type type, Val pointer, int64_t byteOffset,
           unsigned alignment);
  void store(Val value, Val pointer, int64_t byteOffset, unsigned alignment);
  /// A static shared array. At most 48 KB in all are portable.
  Val sharedArray(llvm::StringRef name, unsigned bytes, unsigned alignment);
  /// The dynamic shared memory, aligned to 1024.
  Val sharedDynamic();

  /// cp.async of 4, 8 (.ca) or 16 (.cg) bytes to shared memory. With
  /// `sourceBytes` (i32) only that many bytes are read, the rest is zero.
  void cpAsync(Val dstShared, int64_t dstOffset, Val srcGlobal, unsigned bytes,
               Val sourceBytes = Val());
  void cpAsyncCommit();
  void cpAsyncWait(unsigned pendingGroups);
  void barrier();     ///< All threads of the block.
  void warpBarrier(); ///< Memory and convergence of the warp.

  // Warp-collective operations: every lane must reach them.
  /// ldmatrix of `count` (1, 2, 4) 8x8 b16 matrices: that many i32.
  llvm::SmallVector<Val, 4> ldmatrix(Val pointer, int64_t byteOffset,
                                     unsigned count, bool transpose);
  /// mma.sync.m16n8k16 (f16 or bf16, f32 accumulation): A 4 x i32, B 2 x i32,
  /// C and the result 4 x f32.
  std::array<Val, 4> mma(ElementType type, llvm::ArrayRef<Val> a,
                         llvm::ArrayRef<Val> b, const std::array<Val, 4> &c);
  /// mma.sp.sync.m16n8k32 with ordered metadata: A 4 x i32 (compressed), B
  /// 4 x i32, metadata i32, selector 0 or 1.
  std::array<Val, 4> mmaSparse(ElementType type, llvm::ArrayRef<Val> a,
                               llvm::ArrayRef<Val> b,
                               const std::array<Val, 4> &c, Val metadata,
                               unsigned selector);
  Val shuffleXor(Val value, unsigned mask); ///< i32 or f32.
  Val shuffleIdx(Val value, Val sourceLane);
  Val shuffleUp(Val value, unsigned delta); ///< Own value for lane < delta.
  Val shuffleDown(Val value, unsigned delta);

  // f32 (scalars and vectors of f32).
  Val fma(Val a, Val b, Val c);
  Val exp(Val a); ///< Through ex2.approx.
  Val absF(Val a);
  Val maxPropagatingNaN(Val a, Val b);
  Val toF32(Val a); ///< From f16/bf16, scalar or vector.
  /// f32 (scalar or vector) to f16/bf16/f32, to nearest even.
  Val fromF32(Val a, ElementType type);
  Val relu(Val a), gelu(Val a), silu(Val a);

  // Control flow. Bodies are emitted where they are called.
  using LoopBody = llvm::function_ref<llvm::SmallVector<Val>(
      Val iv, llvm::ArrayRef<Val> iterArgs)>;
  /// for (iv = lb; iv < ub; iv += step), i32, with values carried around.
  llvm::SmallVector<Val> forLoop(Val lb, Val ub, Val step,
                                 llvm::ArrayRef<Val> inits, LoopBody body);
  void forLoop(Val lb, Val ub, Val step, llvm::function_ref<void(Val)> body);
  void ifThen(Val condition, llvm::function_ref<void()> then);
  void ifThenElse(Val condition, llvm::function_ref<void()> then,
                  llvm::function_ref<void()> otherwise);
  /// With results; both sides give values of the same types.
  llvm::SmallVector<Val>
  ifThenElse(Val condition, llvm::ArrayRef<mlir::Type> types,
             llvm::function_ref<llvm::SmallVector<Val>()> then,
             llvm::function_ref<llvm::SmallVector<Val>()> otherwise);

  struct Impl;
  Impl &impl() { return *pimpl; }

private:
  std::unique_ptr<Impl> pimpl;
};

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_COMMON_EMITTER_H
