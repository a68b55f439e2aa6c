//===- Builder.cpp - The csr kernel ---------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of `warps` warps serves as many slots and tile_n tokens:
//
//   start the copy of X[:, n0 .. n0 + tile_n) to shared memory, a row of tile_n
//     elements a column of W
//   each lane loads its first `prefetch` quads straight to registers
//   wait for X
//   for each quad, for each of its 4 non-zeros: acc[0..tile_n) += w * X[col]
//   sum over the 32 lanes (halving the tokens while there are any), then over
//     the slots of a group; epilogue; store
//
//===----------------------------------------------------------------------===//

#include "Csr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "sparseditto/Kernels/Common/Emitter.h"
#include "sparseditto/Kernels/Common/Epilogue.h"
#include "sparseditto/Support/Error.h"
#include "llvm/Support/MathExtras.h"

using namespace sparseditto;

namespace {
class CsrBuilder {
public:
  CsrBuilder(KernelEmitter &e, const Problem &problem, const Strategy &strategy,
             const PackedWeight &packed)
      : e(e), problem(problem), tileN(unsigned(*strategy.get("tile_n"))),
        warps(unsigned(*strategy.get("warps"))),
        prefetch(unsigned(*strategy.get("prefetch"))),
        isShared(*strategy.get("x_source") == csr::Shared),
        isWide(problem.type == ElementType::F32),
        elementBytes(byteSize(problem.type)),
        largestGroup(unsigned(packed.attribute("largest_group", 1))) {}

  void emit();

private:
  /// A quad in registers.
  struct Quad {
    Val values;  ///< vector<4xT>
    Val columns; ///< vector<4xi16>
  };

  void bindArguments();
  Val xPointer(Val k, Val n);
  void stageAsync();
  void stageByElement();
  llvm::SmallVector<Val> loadQuad(Val index);
  llvm::SmallVector<Val> zeroQuad();
  void clearPadRow();
  llvm::SmallVector<Val> loadX(Val column);
  llvm::SmallVector<Val> accumulate(llvm::ArrayRef<Val> quad,
                                    llvm::ArrayRef<Val> acc);
  Val sumOverLanes(llvm::SmallVector<Val> acc);

  KernelEmitter &e;
  const Problem &problem;
  const unsigned tileN, warps, prefetch;
  const bool isShared, isWide;
  const unsigned elementBytes, largestGroup;

  Val items, values, columns, x, n, ldx;
  ActivationPointers pointers;
  Val n0, slot, row, begin, end, group, xShared, canCopy;
};
} // namespace

void CsrBuilder::bindArguments() {
  unsigned next = 0;
  items = e.param(next++);
  values = e.param(next++);
  columns = isWide ? e.param(next++) : values;
  pointers = bindActivations(e, problem, next);
  x = pointers.x;
  n = pointers.n;
  ldx = pointers.ldx;
}

/// Address of X[k, n], whatever the layout.
Val CsrBuilder::xPointer(Val k, Val token) {
  // 64-bit: N x K may pass 2^31 elements.
  Val k64 = e.sextI64(k), n64 = e.sextI64(token), ld64 = e.sextI64(ldx);
  Val element = problem.layout == Layout::TokenMajor ? n64 * ld64 + k64
                                                     : k64 * ld64 + n64;
  return e.ptrAdd(x, element * int64_t(elementBytes));
}

/// The 16-byte path: rows of X that are contiguous as shared memory wants them.
/// With one token that is X itself, else a feature-major row of 16 bytes.
void CsrBuilder::stageAsync() {
  const unsigned threads = warps * 32;
  const unsigned rowBytes = tileN * elementBytes;
  Val tid = e.tid();
  if (tileN == 1) {
    const unsigned perCopy = 16 / elementBytes;
    Val chunks = e.i32((problem.k + perCopy - 1) / perCopy);
    e.forLoop(tid, chunks, e.i32(threads), [&](Val chunk) {
      Val k = chunk * perCopy;
      Val left = (e.i32(problem.k) - k) * int64_t(elementBytes);
      Val pointer = e.ptrAdd(xPointer(e.i32(0), n0), chunk * 16);
      e.cpAsync(e.ptrAdd(xShared, chunk * 16), 0, pointer, 16,
                e.minSigned(left, e.i32(16)));
    });
  } else if (rowBytes % 16 == 0) {
    const unsigned copies = rowBytes / 16, perCopy = 16 / elementBytes;
    e.forLoop(tid, e.i32(problem.k * copies), e.i32(threads), [&](Val copy) {
      Val k = copy / copies;
      Val token = n0 + (copy % copies) * perCopy;
      // Tokens past N are zero; a chunk wholly past N reads nothing, from the
      // row's start, which is always there.
      Val left = (n - token) * int64_t(elementBytes);
      Val bytes = e.maxSigned(e.minSigned(left, e.i32(16)), e.i32(0));
      Val safe = e.select(bytes > 0, token, n0);
      e.cpAsync(e.ptrAdd(xShared, copy * 16), 0, xPointer(k, safe), 16, bytes);
    });
  }
  e.cpAsyncCommit();
}

/// Any alignment and stride: a thread gathers one column's tile_n tokens and
/// stores them as one vector. Tokens past N repeat the last one; their sums are
/// never stored.
void CsrBuilder::stageByElement() {
  mlir::Type element = e.typeOf(problem.type);
  Val last = n - 1;
  e.forLoop(e.tid(), e.i32(problem.k), e.i32(warps * 32), [&](Val k) {
    llvm::SmallVector<Val> row;
    for (unsigned t = 0; t < tileN; ++t)
      row.push_back(e.load(element, xPointer(k, e.minSigned(n0 + t, last)), 0,
                           elementBytes));
    Val target = e.ptrAdd(xShared, k * int64_t(tileN * elementBytes));
    const unsigned perStore = std::min(tileN, 16 / elementBytes);
    for (unsigned t = 0; t < tileN; t += perStore)
      e.store(perStore == 1
                  ? row[t]
                  : e.makeVector(llvm::ArrayRef(row).slice(t, perStore)),
              target, t * elementBytes, perStore * elementBytes);
  });
}

/// As i32 words, so that it can cross an if: 4 words, or 4 f32 and 2 words.
llvm::SmallVector<Val> CsrBuilder::loadQuad(Val index) {
  Val wide = e.zext(index, e.i64Type());
  mlir::Type words = e.vecType(4, e.i32Type());
  Val first = e.load(words, e.ptrAdd(values, wide * 16), 0, 16);
  if (!isWide)
    return {first};
  Val second =
      e.load(e.vecType(2, e.i32Type()), e.ptrAdd(columns, wide * 8), 0, 8);
  return {first, second};
}

/// Four zeros at the padding column.
llvm::SmallVector<Val> CsrBuilder::zeroQuad() {
  const int64_t pad = csr::padColumn(problem.k);
  Val zero = e.i32(0), columnPair = e.i32(int32_t(pad | pad << 16));
  if (!isWide)
    return {e.makeVector({zero, zero, columnPair, columnPair})};
  return {e.zero(e.vecType(4, e.i32Type())),
          e.makeVector({columnPair, columnPair})};
}

/// Keeps X's row at the padding column zero.
void CsrBuilder::clearPadRow() {
  const unsigned perStore = std::min(tileN, 16 / elementBytes);
  mlir::Type element = e.typeOf(problem.type);
  e.ifThen(e.tid() == 0, [&] {
    for (unsigned t = 0; t < tileN; t += perStore)
      e.store(e.zero(perStore == 1 ? element : e.vecType(perStore, element)),
              xShared, (csr::padColumn(problem.k) * tileN + t) * elementBytes,
              perStore * elementBytes);
  });
}

/// X[column, n0 .. n0 + tile_n) in f32.
llvm::SmallVector<Val> CsrBuilder::loadX(Val column) {
  mlir::Type element = e.typeOf(problem.type);
  llvm::SmallVector<Val> tokens;
  if (!isShared) {
    Val last = n - 1;
    Val isPad = column >= problem.k;
    Val safe = e.select(isPad, e.i32(0), column);
    for (unsigned t = 0; t < tileN; ++t) {
      Val loaded = e.toF32(e.load(
          element, xPointer(safe, e.minSigned(n0 + t, last)), 0, elementBytes));
      tokens.push_back(e.select(isPad, e.f32(0), loaded));
    }
    return tokens;
  }
  Val pointer = e.ptrAdd(xShared, column * int64_t(tileN * elementBytes));
  if (tileN == 1)
    return {e.toF32(e.load(element, pointer, 0, elementBytes))};
  const unsigned perLoad = std::min(tileN, 16 / elementBytes);
  for (unsigned t = 0; t < tileN; t += perLoad) {
    Val part = e.toF32(e.load(e.vecType(perLoad, element), pointer,
                              t * elementBytes, perLoad * elementBytes));
    for (unsigned i = 0; i < perLoad; ++i)
      tokens.push_back(e.extract(part, i));
  }
  return tokens;
}

llvm::SmallVector<Val> CsrBuilder::accumulate(llvm::ArrayRef<Val> quad,
                                              llvm::ArrayRef<Val> acc) {
  llvm::SmallVector<Val> sum(acc);
  for (unsigned place = 0; place < 4; ++place) {
    // 16-bit fields of 32-bit words: values in words 0-1, columns in 2-3, or
    // in the second vector for f32.
    Val value;
    if (isWide) {
      value = e.bitcast(e.extract(quad[0], place), e.f32Type());
    } else {
      Val word = e.extract(quad[0], place / 2);
      Val bits = e.trunc(place % 2 ? word >> 16 : word, e.i16Type());
      value = e.toF32(e.bitcast(bits, e.typeOf(problem.type)));
    }
    Val word = isWide ? e.extract(quad[1], place / 2)
                      : e.extract(quad[0], 2 + place / 2);
    Val column = place % 2 ? word >> 16 : word & 0xffff;
    llvm::SmallVector<Val> tokens = loadX(column);
    for (unsigned t = 0; t < tileN; ++t)
      sum[t] = e.fma(value, tokens[t], sum[t]);
  }
  return sum;
}

/// Sum over the warp. While a lane holds several tokens each step gives half
/// of them away, so that lane l ends with token l / (32 / tile_n).
Val CsrBuilder::sumOverLanes(llvm::SmallVector<Val> acc) {
  Val lane = e.lane();
  for (unsigned distance = 16; distance >= 1; distance /= 2) {
    if (acc.size() == 1) {
      acc[0] = acc[0] + e.shuffleXor(acc[0], distance);
      continue;
    }
    Val isUpper = (lane & distance) != 0;
    const unsigned half = unsigned(acc.size()) / 2;
    llvm::SmallVector<Val> kept;
    for (unsigned i = 0; i < half; ++i) {
      Val keep = e.select(isUpper, acc[half + i], acc[i]);
      Val give = e.select(isUpper, acc[i], acc[half + i]);
      kept.push_back(keep + e.shuffleXor(give, distance));
    }
    acc = std::move(kept);
  }
  return acc[0];
}

void CsrBuilder::emit() {
  bindArguments();
  n0 = e.cta(1) * tileN;
  slot = e.cta(0) * warps + e.warp();
  const unsigned rowBytes = tileN * elementBytes;
  const bool hasAsync =
      isShared && (tileN == 1 || (problem.layout == Layout::FeatureMajor &&
                                  rowBytes % 16 == 0));
  if (isShared) {
    xShared = e.sharedDynamic();
    clearPadRow();
  }
  if (hasAsync) {
    // Uniform over the block: base and stride multiples of 16 bytes, and for
    // one token consecutive columns side by side.
    Val start = e.ptrLowBits(xPointer(e.i32(0), n0));
    canCopy = (start & 15) == 0;
    if (tileN > 1)
      canCopy = canCopy & (((ldx * int64_t(elementBytes)) & 15) == 0);
    else if (problem.layout == Layout::FeatureMajor)
      canCopy = canCopy & (ldx == 1);
    e.ifThen(canCopy, [&] { stageAsync(); });
  }

  Val item =
      e.load(e.vecType(4, e.i32Type()), e.ptrAdd(items, slot * 16), 0, 16);
  row = e.extract(item, 0);
  begin = e.extract(item, 1);
  end = e.extract(item, 2);
  group = e.extract(item, 3);

  // Quad indices fit 31 bits for every weight below 16 GB, so the signed
  // comparisons are right; check() refuses more.
  Val first = begin + e.lane();
  llvm::SmallVector<llvm::SmallVector<Val>> early;
  llvm::SmallVector<mlir::Type> quadTypes;
  for (Val part : zeroQuad())
    quadTypes.push_back(part.type());
  for (unsigned j = 0; j < prefetch; ++j) {
    Val index = first + j * 32;
    early.push_back(e.ifThenElse(
        index < end, quadTypes, [&] { return loadQuad(index); },
        [&] { return zeroQuad(); }));
  }

  if (isShared) {
    if (hasAsync)
      e.ifThenElse(
          canCopy, [&] { e.cpAsyncWait(0); }, [&] { stageByElement(); });
    else
      stageByElement();
    e.barrier();
  }

  llvm::SmallVector<Val> acc(tileN, e.f32(0));
  llvm::SmallVector<mlir::Type> accTypes(tileN, e.f32Type());
  // A whole step past the end is skipped by the warp together; inside the last
  // one, idle lanes multiply zeros.
  for (unsigned j = 0; j < prefetch; ++j)
    acc = e.ifThenElse(
        begin + j * 32 < end, accTypes,
        [&] { return accumulate(early[j], acc); }, [&] { return acc; });
  acc = e.forLoop(first + prefetch * 32, end, e.i32(32), acc,
                  [&](Val index, llvm::ArrayRef<Val> carried) {
                    return accumulate(loadQuad(index), carried);
                  });
  Val sum = sumOverLanes(acc);

  const unsigned lanesPerToken = 32 / tileN;
  Val token = e.lane() / lanesPerToken;
  Val isOwner = (e.lane() % lanesPerToken) == 0;
  Val isLeader = e.boolean(true);
  if (largestGroup > 1) {
    Val partials = e.sharedArray("partials", warps * tileN * 4, 16);
    Val size = group & 255, index = group >> 8;
    e.ifThen(isOwner, [&] {
      e.store(sum, e.ptrAdd(partials, (e.warp() * tileN + token) * 4), 0, 4);
    });
    e.barrier();
    isLeader = index == 0;
    for (unsigned i = 1; i < largestGroup; ++i) {
      // Beyond the group's size the slot's own value stands in, scaled away:
      // selecting keeps an infinity of another row out.
      Val source = e.select(e.i32(i) < size, e.warp() + i, e.warp());
      source = e.select(source < int64_t(warps), source, e.warp());
      Val other = e.load(
          e.f32Type(), e.ptrAdd(partials, (source * tileN + token) * 4), 0, 4);
      sum = e.select(e.i32(i) < size, sum + other, sum);
    }
  }
  Val isUsed = row != -1;
  Val inside = n0 + token < n;
  e.ifThen(isOwner & isLeader & isUsed & inside,
           [&] { storeOutput(e, problem, pointers, sum, row, n0 + token); });
}

llvm::Expected<BuiltKernel> csr::build(mlir::MLIRContext &context,
                                       const Problem &problem,
                                       const Strategy &strategy,
                                       const PackedWeight &packed,
                                       llvm::StringRef symbol) {
  const unsigned tileN = unsigned(*strategy.get("tile_n"));
  const unsigned warps = unsigned(*strategy.get("warps"));
  const int64_t slots = packed.attribute("slots");
  const bool isWide = problem.type == ElementType::F32;
  if (packed.format != formatName || slots <= 0 || slots % 32 != 0)
    return makeError(
        "csr: expected a csr-quad weight with a multiple of 32 slots, got {0} "
        "with {1}",
        packed.format, slots);

  std::vector<KernelArg> args;
  auto addPacked = [&](llvm::StringRef name, ElementType type) {
    args.push_back({ArgKind::Packed, name.str(), type, 256});
  };
  addPacked("items", ElementType::U32);
  addPacked(isWide ? "values" : "quads",
            isWide ? ElementType::F32 : ElementType::U16);
  if (isWide)
    addPacked("columns", ElementType::U16);
  llvm::append_range(args, activationArgs(problem));

  KernelEmitter emitter(context, symbol, warps * 32, /*minBlocks=*/0,
                        kernelParams(args));
  CsrBuilder(emitter, problem, strategy, packed).emit();

  BuiltKernel built;
  KernelManifest &manifest = built.manifest;
  manifest.symbol = symbol.str();
  manifest.strategy = strategy;
  manifest.format = formatName.str();
  manifest.formatVersion = formatVersion;
  manifest.problem = problem;
  manifest.grid = {GridDim{slots / int64_t(warps), 0},
                   GridDim{1, int64_t(tileN)}, GridDim{1, 0}};
  manifest.block = {warps * 32, 1, 1};
  manifest.staticSharedBytes = emitter.staticSharedBytes();
  manifest.dynamicSharedBytes =
      *strategy.get("x_source") == Shared
          ? unsigned(llvm::alignTo(stagedBytes(problem, tileN), 16))
          : 0;
  manifest.args = std::move(args);
  manifest.weightBytes = packed.numBytes();
  built.module = emitter.finish();
  return built;
}
