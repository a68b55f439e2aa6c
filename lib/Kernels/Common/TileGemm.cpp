//===- TileGemm.cpp - The schedule for many tokens ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage holds 64 columns of W: the fragments of tile_m rows as packed, and 64
// x tile_n of X. `stages` of them form a ring; one barrier a stage.
//
//   wait(stage i) - barrier - fetch stage i + stages - 1 - multiply stage i
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "sparseditto/Kernels/Common/Gemm.h"

using namespace sparseditto;

namespace {

class TileEmitter {
public:
  TileEmitter(KernelFrame &frame, const GemmConfig &config,
              WeightSource &source, int64_t rowTiles)
      : frame(frame), e(frame.emitter()), config(config), source(source),
        rowTiles(rowTiles), tilesPerWarp(config.tilesPerWarp()),
        groupsPerWarp(config.tileN / 8 / config.warpsN),
        aBytes(source.shape().chunkBytesPerTile * (config.tileM / 16)),
        stageBytes(tileStageBytes(config, source.shape())),
        tokenMajor(frame.problem().layout == Layout::TokenMajor) {}

  void run();

private:
  static constexpr unsigned stepsPerChunk = 2;

  void placeBlock();
  void product();
  void stageChunk(Val stage, Val chunk);
  void multiplyChunk(Val stage);
  void mainLoop();
  void storeSlabs();
  void storeSlab(Val slab, Val m0, Val n0, unsigned lines, unsigned length,
                 unsigned stride);
  void storeGroup(Val pointer, Val m, Val n, Val whole);
  void scatterSlab(Val slab, Val m0, Val n0, unsigned lines, unsigned length,
                   unsigned stride);

  KernelFrame &frame;
  KernelEmitter &e;
  const GemmConfig &config;
  WeightSource &source;
  int64_t rowTiles;
  unsigned tilesPerWarp, groupsPerWarp, aBytes, stageBytes;
  bool tokenMajor;

  Val shared, warpM, warpN, rowTile, n0;
  std::unique_ptr<ActivationTile> tile;
  std::vector<std::vector<Accumulator>> acc; ///< [m-tile][group]
};

} // namespace

/// Blocks run through bands of band_rows row tiles, all tokens of a band before
/// the next band: what runs at one time shares both operands in L2.
void TileEmitter::placeBlock() {
  Val block = e.cta(0);
  if (config.bandRows >= rowTiles) {
    rowTile = block % rowTiles;
    n0 = (block / rowTiles) * config.tileN;
    return;
  }
  Val columns = e.ceilDiv(frame.n(), config.tileN);
  Val bandBlocks = columns * int64_t(config.bandRows);
  Val band = block / bandBlocks, within = block % bandBlocks;
  Val first = band * int64_t(config.bandRows);
  Val height = e.minSigned(e.i32(rowTiles) - first, e.i32(config.bandRows));
  rowTile = first + within % height;
  n0 = (within / height) * config.tileN;
}

void TileEmitter::run() {
  Val warp = e.warp();
  warpM = warp % config.warpsM;
  warpN = warp / config.warpsM;
  placeBlock();
  shared = e.sharedDynamic();
  emitRowTile(frame, config, source, rowTile, n0, [&] { product(); });
}

void TileEmitter::product() {
  source.begin(rowTile);
  if (source.shape().isList) {
    source.stageList(shared);
    e.barrier();
    shared = e.ptrAdd(shared, source.shape().listBytes());
  }
  tile = std::make_unique<ActivationTile>(frame, source.strips(), config.tileN,
                                          WeightSource::stripsPerChunk);
  tile->prepare(e.i32(0), warpN * groupsPerWarp, groupsPerWarp);
  Val zero = e.f32(0);
  acc.assign(tilesPerWarp,
             std::vector<Accumulator>(groupsPerWarp,
                                      Accumulator{zero, zero, zero, zero}));
  mainLoop();
  storeSlabs();
}

void TileEmitter::stageChunk(Val stage, Val chunk) {
  source.stageChunk(stage, chunk);
  tile->stage(e.ptrAdd(stage, aBytes), chunk * WeightSource::stripsPerChunk,
              n0);
}

void TileEmitter::multiplyChunk(Val stage) {
  Val firstTile = warpM * tilesPerWarp;
  Val activations = e.ptrAdd(stage, aBytes);
  for (unsigned step = 0; step < stepsPerChunk; ++step) {
    std::vector<llvm::SmallVector<Val>> a;
    for (unsigned m = 0; m < tilesPerWarp; ++m)
      a.push_back(source.stepOfChunk(stage, firstTile, m, step));
    for (unsigned g = 0; g < groupsPerWarp; ++g) {
      auto b = tile->fragment(activations, step, g);
      for (unsigned m = 0; m < tilesPerWarp; ++m)
        acc[m][g] = source.multiply(a[m], step, b, acc[m][g]);
    }
  }
}

void TileEmitter::mainLoop() {
  unsigned ahead = config.stages - 1;
  Val chunks = e.ceilDiv(source.strips().count, WeightSource::stripsPerChunk);
  for (unsigned i = 0; i < ahead; ++i) {
    e.ifThen(e.i32(i) < chunks,
             [&] { stageChunk(e.ptrAdd(shared, i * stageBytes), e.i32(i)); });
    e.cpAsyncCommit();
  }
  // Carried: byte offsets of the stage to read and the stage to write, sums.
  llvm::SmallVector<Val> carried = {e.i32(0), e.i32(ahead * stageBytes)};
  for (auto &row : acc)
    for (Accumulator &sums : row)
      carried.append(sums.begin(), sums.end());
  auto setSums = [&](llvm::ArrayRef<Val> values) {
    const Val *next = values.begin();
    for (auto &row : acc)
      for (Accumulator &sums : row)
        for (Val &value : sums)
          value = *next++;
  };
  auto advance = [&](Val offset) {
    Val next = offset + stageBytes;
    return e.select(next == int64_t(config.stages * stageBytes), e.i32(0),
                    next);
  };
  auto results = e.forLoop(
      e.i32(0), chunks, e.i32(1), carried,
      [&](Val chunk, llvm::ArrayRef<Val> args) {
        setSums(args.drop_front(2));
        e.cpAsyncWait(ahead - 1);
        e.barrier();
        Val upcoming = chunk + ahead;
        e.ifThen(upcoming < chunks,
                 [&] { stageChunk(e.ptrAdd(shared, args[1]), upcoming); });
        e.cpAsyncCommit();
        multiplyChunk(e.ptrAdd(shared, args[0]));
        llvm::SmallVector<Val> next = {advance(args[0]), advance(args[1])};
        for (auto &row : acc)
          for (Accumulator &sums : row)
            next.append(sums.begin(), sums.end());
        return next;
      });
  setSums(llvm::ArrayRef<Val>(results).drop_front(2));
  e.cpAsyncWait(0);
  e.barrier();
}

/// Eight neighbouring outputs from shared memory. With `whole` they are written
/// by 16-byte stores, else one by one as far as they exist.
void TileEmitter::storeGroup(Val pointer, Val m, Val n, Val whole) {
  unsigned bytes = frame.outputBytes();
  ElementType type = frame.problem().outputType;
  unsigned perStore = 16 / bytes;
  e.ifThenElse(
      whole,
      [&] {
        Val row = source.rowOfY(m);
        Val out = frame.outputAddress(row, n);
        Val residual;
        if (frame.hasResidual())
          residual = frame.residualAddress(row, n);
        for (unsigned first = 0; first < 8; first += perStore) {
          Val add;
          if (residual)
            add = e.toF32(e.load(e.vecType(perStore, e.typeOf(type)), residual,
                                 first * bytes, 16));
          llvm::SmallVector<Val> values;
          for (unsigned i = 0; i < perStore; i += 4) {
            Val quad =
                e.load(e.vecType(4, e.f32Type()), pointer, (first + i) * 4, 16);
            for (unsigned j = 0; j < 4; ++j)
              values.push_back(frame.activate(
                  e.extract(quad, j),
                  tokenMajor ? row + int64_t(first + i + j) : row,
                  add ? e.extract(add, i + j) : Val()));
          }
          e.store(e.fromF32(e.makeVector(values), type), out, first * bytes,
                  16);
        }
      },
      [&] {
        e.forLoop(e.i32(0), e.i32(8), e.i32(1), [&](Val i) {
          Val mi = tokenMajor ? m + i : m, ni = tokenMajor ? n : n + i;
          e.ifThen((mi < source.productRows()) & (ni < frame.n()), [&] {
            Val sum = e.load(e.f32Type(), e.ptrAdd(pointer, i * 4), 0, 4);
            frame.storeElement(sum, source.rowOfY(mi), ni);
          });
        });
      });
}

/// Token-major Y whose rows lie apart: neighbouring lanes store neighbours of
/// the product, which are neighbours in Y wherever consecutive rows are kept.
void TileEmitter::scatterSlab(Val slab, Val m0, Val n0, unsigned lines,
                              unsigned length, unsigned stride) {
  e.forLoop(e.lane(), e.i32(lines * length), e.i32(32), [&](Val item) {
    Val line = item / length, within = item % length;
    Val m = m0 + within, n = n0 + line;
    e.ifThen((m < source.productRows()) & (n < frame.n()), [&] {
      Val sum = e.load(e.f32Type(),
                       e.ptrAdd(slab, (line * stride + within) * 4), 0, 4);
      frame.storeElement(sum, source.rowOfY(m), n);
    });
  });
}

/// Stores `lines` runs of `length` outputs that lie `stride` floats apart.
void TileEmitter::storeSlab(Val slab, Val m0, Val n0, unsigned lines,
                            unsigned length, unsigned stride) {
  if (tokenMajor && source.scattersRows()) {
    scatterSlab(slab, m0, n0, lines, length, stride);
    return;
  }
  unsigned perLine = length / 8, items = lines * perLine;
  Val lane = e.lane(), alignedOut = frame.outputAligned(16);
  for (unsigned first = 0; first < items; first += 32) {
    Val item = lane + int64_t(first);
    auto body = [&] {
      Val line = item / perLine, run = (item % perLine) * 8;
      Val m = tokenMajor ? m0 + run : m0 + line;
      Val n = tokenMajor ? n0 + line : n0 + run;
      Val mEnd = tokenMajor ? m + 8 : m + 1, nEnd = tokenMajor ? n + 1 : n + 8;
      Val whole =
          alignedOut & (mEnd <= source.productRows()) & (nEnd <= frame.n());
      storeGroup(e.ptrAdd(slab, (line * stride + run) * 4), m, n, whole);
    };
    if (first + 32 <= items)
      body();
    else
      e.ifThen(item < items, body);
  }
}

/// Each warp turns its sums in a slab of shared memory of its own, so that
/// neighbouring lanes store neighbouring outputs: 16 rows at a time for
/// feature-major Y, 8 tokens at a time for token-major Y.
void TileEmitter::storeSlabs() {
  unsigned stride = tileSlabStride(config, frame.problem().layout);
  unsigned lines = tokenMajor ? 8 : 16;
  Val slab = e.ptrAdd(shared, e.warp() * int64_t(lines * stride * 4));
  Val lane = e.lane(), row = lane / 4, column = (lane % 4) * 2;
  Val m0 = source.outputRow() + warpM * (tilesPerWarp * 16);
  Val nWarp = n0 + warpN * (groupsPerWarp * 8);
  if (tokenMajor) {
    Val lanePtr = e.ptrAdd(slab, (column * stride + row) * 4);
    for (unsigned g = 0; g < groupsPerWarp; ++g) {
      e.warpBarrier();
      for (unsigned m = 0; m < tilesPerWarp; ++m)
        for (unsigned i = 0; i < 4; ++i)
          e.store(acc[m][g][i], lanePtr,
                  ((i % 2) * stride + m * 16 + i / 2 * 8) * 4, 4);
      e.warpBarrier();
      storeSlab(slab, m0, nWarp + int64_t(g) * 8, lines, tilesPerWarp * 16,
                stride);
    }
    return;
  }
  Val lanePtr = e.ptrAdd(slab, (row * stride + column) * 4);
  for (unsigned m = 0; m < tilesPerWarp; ++m) {
    e.warpBarrier();
    for (unsigned g = 0; g < groupsPerWarp; ++g)
      for (unsigned half = 0; half < 2; ++half)
        e.store(e.makeVector({acc[m][g][half * 2], acc[m][g][half * 2 + 1]}),
                lanePtr, (half * 8 * stride + g * 8) * 4, 8);
    e.warpBarrier();
    storeSlab(slab, m0 + int64_t(m) * 16, nWarp, lines, groupsPerWarp * 8,
              stride);
  }
}

void sparseditto::emitTile(KernelFrame &frame, const GemmConfig &config,
                           WeightSource &source, int64_t rowTiles) {
  TileEmitter(frame, config, source, rowTiles).run();
}
