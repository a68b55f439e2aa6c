//===- ActivationTile.cpp - X in shared memory ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Common/ActivationTile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace sparseditto;

/// Elements in one 16-byte chunk.
static constexpr unsigned chunkElements = 8;
static constexpr unsigned chunkBytes = 16;

ActivationTile::ActivationTile(KernelFrame &frame, const KStrips &kStrips,
                               unsigned tileN, unsigned stripsPerTile)
    : frame(frame), e(frame.emitter()), kStrips(kStrips), tileN(tileN),
      strips(stripsPerTile),
      tokenMajor(frame.problem().layout == Layout::TokenMajor) {
  assert(llvm::isPowerOf2_32(tileN) && tileN >= 8);
  assert(llvm::isPowerOf2_32(strips) && strips >= 2);
  rows = tokenMajor ? tileN : strips * KStrips::width;
  chunksPerRow = tokenMajor ? strips * 2 : tileN / chunkElements;
  rowBytes = chunksPerRow * chunkBytes;
  Val bits = e.ptrLowBits(frame.x()) | (frame.ldx() << 1);
  aligned = (bits & int64_t(chunkBytes - 1)) == 0;
}

Val ActivationTile::swizzled(Val row, Val chunk) {
  if (chunksPerRow >= 8)
    return chunk ^ (row & 7);
  if (chunksPerRow == 4)
    return chunk ^ ((row >> 1) & 3);
  if (chunksPerRow == 2)
    return chunk ^ ((row >> 2) & 1);
  return chunk;
}

/// One 16-byte chunk on its way from X to the tile.
struct ActivationTile::Piece {
  Val offset;   ///< In the tile, bytes.
  Val source;   ///< In X.
  Val elements; ///< How many exist in X, at most 8, maybe negative.
};

/// Column of W at place `within` (0..15, known to lie in one run with the
/// places up to the end of a chunk) of a strip that exists.
Val ActivationTile::columnOf(Val strip, Val within) {
  if (!kStrips.column)
    return strip * KStrips::width + within;
  if (kStrips.run == KStrips::width)
    return kStrips.column(strip) + within;
  Val index = strip * int64_t(KStrips::width / kStrips.run);
  if (kStrips.run == 1)
    return kStrips.column(index + within);
  return kStrips.column(index + within / kStrips.run) + within % kStrips.run;
}

ActivationTile::Piece ActivationTile::piece(Val index, Val firstStrip, Val n0) {
  Val row = index / chunksPerRow, chunk = index % chunksPerRow;
  Piece piece;
  piece.offset = row * rowBytes + swizzled(row, chunk) * chunkBytes;
  Val stripInTile = tokenMajor ? chunk / 2 : row / KStrips::width;
  Val within = tokenMajor ? (chunk % 2) * chunkElements : row % KStrips::width;
  Val strip = firstStrip + stripInTile;
  Val k, exists;
  if (kStrips.column) {
    exists = strip < kStrips.count;
    k = columnOf(e.select(exists, strip, e.i32(0)), within);
  } else {
    k = columnOf(strip, within);
  }
  auto require = [&](Val condition) {
    exists = exists ? exists & condition : condition;
  };
  int64_t kEnd = frame.problem().k;
  if (tokenMajor) {
    Val n = n0 + row;
    require(n < frame.n());
    piece.source = e.ptrAdd(
        e.ptrAdd(frame.x(), e.sextI64(n) * e.sextI64(frame.ldx()) * 2), k * 2);
    piece.elements = e.minSigned(e.i32(kEnd) - k, e.i32(chunkElements));
  } else {
    Val n = n0 + chunk * chunkElements;
    require(k < e.i32(kEnd));
    piece.source = e.ptrAdd(
        e.ptrAdd(frame.x(), e.sextI64(k) * e.sextI64(frame.ldx()) * 2), n * 2);
    piece.elements = e.minSigned(frame.n() - n, e.i32(chunkElements));
  }
  piece.elements = e.select(exists, piece.elements, e.i32(0));
  return piece;
}

void ActivationTile::forEachPiece(unsigned unroll,
                                  llvm::function_ref<void(Val)> body) {
  unsigned pieces = rows * chunksPerRow, threads = e.threads();
  Val tid = e.tid();
  if (pieces < threads) {
    e.ifThen(tid < pieces, [&] { body(tid); });
    return;
  }
  assert(pieces % threads == 0 && "powers of two");
  unsigned perThread = pieces / threads;
  if (perThread <= unroll) {
    for (unsigned j = 0; j < perThread; ++j)
      body(tid + int64_t(j) * threads);
    return;
  }
  e.forLoop(e.i32(0), e.i32(perThread), e.i32(unroll), [&](Val j) {
    for (unsigned u = 0; u < unroll; ++u)
      body(tid + (j + u) * threads);
  });
}

void ActivationTile::stageAligned(Val dst, Val firstStrip, Val n0) {
  forEachPiece(4, [&](Val index) {
    Piece p = piece(index, firstStrip, n0);
    Val bytes = e.maxSigned(p.elements * 2, e.i32(0));
    e.cpAsync(e.ptrAdd(dst, p.offset), 0, p.source, chunkBytes, bytes);
  });
}

void ActivationTile::stageElements(Val dst, Val firstStrip, Val n0) {
  forEachPiece(1, [&](Val index) {
    Piece p = piece(index, firstStrip, n0);
    llvm::SmallVector<Val> values;
    for (unsigned i = 0; i < chunkElements; ++i)
      values.push_back(e.ifThenElse(
          p.elements > i, {e.i16Type()},
          [&] {
            return llvm::SmallVector<Val>{
                e.load(e.i16Type(), p.source, i * 2, 2)};
          },
          [&] { return llvm::SmallVector<Val>{e.zero(e.i16Type())}; })[0]);
    e.store(e.makeVector(values), e.ptrAdd(dst, p.offset), 0, chunkBytes);
  });
}

/// Token-major X with columns that follow no runs. A thread gathers the same 8
/// columns for several tokens, without branches, so that its loads are in
/// flight together; what does not exist reads an element that does, and becomes
/// zero.
void ActivationTile::stageGathered(Val dst, Val firstStrip, Val n0) {
  unsigned threads = e.threads();
  assert(threads % chunksPerRow == 0 && "a thread keeps its columns");
  unsigned step = threads / chunksPerRow;
  int64_t kEnd = frame.problem().k;
  Val firstRow = e.tid() / chunksPerRow, chunk = e.tid() % chunksPerRow;
  Val strip = firstStrip + chunk / 2;
  Val exists = strip < kStrips.count;
  llvm::SmallVector<Val> columns;
  for (Val k : kStrips.octet(e.select(exists, strip, e.i32(0)) * 2 + chunk % 2))
    columns.push_back(e.select(exists, k, e.i32(kEnd)));

  auto gather = [&](Val row) {
    Val n = n0 + row;
    Val tokenExists = n < frame.n();
    Val token = e.select(tokenExists, n, e.i32(0));
    Val source =
        e.ptrAdd(frame.x(), e.sextI64(token) * e.sextI64(frame.ldx()) * 2);
    llvm::SmallVector<Val> values;
    for (Val k : columns) {
      Val value =
          e.load(e.i16Type(),
                 e.ptrAdd(source, e.minSigned(k, e.i32(kEnd - 1)) * 2), 0, 2);
      values.push_back(
          e.select((k < kEnd) & tokenExists, value, e.zero(e.i16Type())));
    }
    Val offset = row * rowBytes + swizzled(row, chunk) * chunkBytes;
    e.store(e.makeVector(values), e.ptrAdd(dst, offset), 0, chunkBytes);
  };
  // Two tokens at a time: the loads of more would not fit the registers.
  constexpr unsigned together = 2;
  if (tileN < step)
    e.ifThen(firstRow < int64_t(tileN), [&] { gather(firstRow); });
  else if (tileN < step * together)
    gather(firstRow);
  else
    e.forLoop(firstRow, e.i32(tileN), e.i32(step * together), [&](Val row) {
      for (unsigned i = 0; i < together; ++i)
        gather(row + int64_t(i * step));
    });
}

void ActivationTile::stage(Val dst, Val firstStrip, Val n0) {
  if (tokenMajor && kStrips.run == 1) {
    stageGathered(dst, firstStrip, n0);
    return;
  }
  e.ifThenElse(
      aligned, [&] { stageAligned(dst, firstStrip, n0); },
      [&] { stageElements(dst, firstStrip, n0); });
}

void ActivationTile::prepare(Val firstStrip, Val firstGroup, unsigned groups) {
  laneOffsets.clear();
  Val lane = e.lane();
  if (tokenMajor) {
    // Two addresses: chunks 8 apart differ by a constant, chunks 4 apart do
    // not.
    Val row = firstGroup * chunkElements + (lane & 7);
    for (unsigned parity = 0; parity < (strips == 2 ? 1 : 2); ++parity) {
      Val chunk = firstStrip * 2 + (lane >> 3) + parity * 4;
      laneOffsets.push_back(row * rowBytes + swizzled(row, chunk) * chunkBytes);
    }
    return;
  }
  Val row = firstStrip * KStrips::width + lane;
  for (unsigned group = 0; group < std::min(groups, 8u); ++group)
    laneOffsets.push_back(row * rowBytes +
                          swizzled(row, firstGroup + group) * chunkBytes);
}

llvm::SmallVector<Val, 4> ActivationTile::fragment(Val tile, unsigned step,
                                                   unsigned group) {
  unsigned base, offset;
  if (tokenMajor) {
    base = step % laneOffsets.size();
    offset = step / 2 * 8 * chunkBytes + group * 8 * rowBytes;
  } else {
    base = group % 8;
    offset = step * 2 * KStrips::width * rowBytes + group / 8 * 8 * chunkBytes;
  }
  return e.ldmatrix(e.ptrAdd(tile, laneOffsets[base]), offset, 4,
                    /*transpose=*/!tokenMajor);
}
