//===- WeightSource.cpp - How a packed weight meets the tensor cores ------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Common/WeightSource.h"
#include "mlir/IR/BuiltinOps.h"

using namespace sparseditto;

WeightSource::~WeightSource() = default;

void WeightSource::copyPieces(
    Val dst, unsigned pieces,
    llvm::function_ref<std::pair<Val, Val>(Val)> source) {
  Val tid = e.tid();
  unsigned threads = e.threads();
  auto copy = [&](Val piece) {
    auto [address, condition] = source(piece);
    Val bytes;
    if (condition)
      bytes = e.select(condition, e.i32(16), e.i32(0));
    e.cpAsync(e.ptrAdd(dst, piece * 16), 0, address, 16, bytes);
  };
  for (unsigned first = 0; first < pieces; first += threads) {
    Val piece = tid + first;
    if (first + threads <= pieces)
      copy(piece);
    else
      e.ifThen(piece < pieces, [&] { copy(piece); });
  }
}

//===----------------------------------------------------------------------===//
// FragmentSource
//===----------------------------------------------------------------------===//

Val FragmentSource::tileOffset(Val tile) {
  if (lastTile)
    tile = e.minSigned(tile, lastTile);
  return e.sextI64(tile) * tileStride;
}

void FragmentSource::beginWarp(Val first, unsigned count) {
  warpTiles.clear();
  Val lane = e.lane();
  Val start = e.ptrAdd(base, lane * 16);
  for (unsigned i = 0; i < count; ++i) {
    if (i > 0 && !lastTile)
      warpTiles.push_back(e.ptrAdd(warpTiles[0], i * tileStride));
    else
      warpTiles.push_back(e.ptrAdd(start, tileOffset(first + i)));
  }
}

llvm::SmallVector<Val> FragmentSource::loadUnit(unsigned tile, Val unitBase,
                                                unsigned offset) {
  Val pointer =
      e.ptrAdd(warpTiles[tile], e.sextI64(unitBase) * (2 * stripStride));
  mlir::Type quad = e.vecType(4, e.i32Type());
  int64_t first = int64_t(offset) * 2 * stripStride;
  return {e.load(quad, pointer, first, 16),
          e.load(quad, pointer, first + stripStride, 16)};
}

llvm::SmallVector<Val> FragmentSource::zeroUnit() {
  Val zero = e.zero(e.vecType(4, e.i32Type()));
  return {zero, zero};
}

llvm::SmallVector<Val> FragmentSource::stepOfUnit(llvm::ArrayRef<Val> unit,
                                                  unsigned step) {
  return {unit[0], unit[1]};
}

// Staged chunk: [strip][m-tile of the block][lane][16 bytes].
void FragmentSource::stageChunk(Val dst, Val chunk) {
  Val firstStrip = chunk * stripsPerChunk;
  KStrips all = strips();
  bool ragged = !all.staticCount || *all.staticCount % stripsPerChunk != 0;
  copyPieces(dst, stripsPerChunk * tilesPerBlock * 32,
             [&](Val piece) -> std::pair<Val, Val> {
               Val lane = piece % 32, tile = piece / 32 % tilesPerBlock;
               Val strip = firstStrip + piece / (32 * tilesPerBlock);
               Val offset = tileOffset(tile) + e.sextI64(strip) * stripStride;
               return {e.ptrAdd(e.ptrAdd(base, offset), lane * 16),
                       ragged ? strip < all.count : Val()};
             });
}

llvm::SmallVector<Val> FragmentSource::stepOfChunk(Val staged, Val tile,
                                                   unsigned offset,
                                                   unsigned step) {
  Val pointer = e.ptrAdd(staged, tile * fragmentBytes + e.lane() * 16);
  mlir::Type quad = e.vecType(4, e.i32Type());
  llvm::SmallVector<Val> registers;
  for (unsigned half = 0; half < 2; ++half)
    registers.push_back(e.load(
        quad, pointer,
        ((step * 2 + half) * tilesPerBlock + offset) * fragmentBytes, 16));
  return registers;
}

static llvm::SmallVector<Val, 4> lanesOf(KernelEmitter &e, Val quad) {
  llvm::SmallVector<Val, 4> values;
  for (unsigned i = 0; i < 4; ++i)
    values.push_back(e.extract(quad, i));
  return values;
}

Accumulator FragmentSource::multiply(llvm::ArrayRef<Val> a, unsigned step,
                                     llvm::ArrayRef<Val> b,
                                     const Accumulator &acc) {
  ElementType type = frame.problem().type;
  Accumulator half = e.mma(type, lanesOf(e, a[0]), b.take_front(2), acc);
  return e.mma(type, lanesOf(e, a[1]), b.drop_front(2), half);
}
