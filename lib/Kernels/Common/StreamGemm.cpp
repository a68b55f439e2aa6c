//===- StreamGemm.cpp - The schedule for few tokens -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass brings warps_k * prefetch units of K. With one pass all of X is staged
// at once and every weight load of the block is in flight before the first
// wait; with more passes the next X chunk and the next units are fetched while
// the current ones are multiplied.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "sparseditto/Kernels/Common/Gemm.h"

using namespace sparseditto;

namespace {

class StreamEmitter {
public:
  StreamEmitter(KernelFrame &frame, const GemmConfig &config,
                WeightSource &source, int64_t rowTiles)
      : frame(frame), e(frame.emitter()), config(config), source(source),
        shape(source.shape()), rowTiles(rowTiles),
        tilesPerWarp(config.tilesPerWarp()), groups(config.tileN / 8),
        stripsPerPass(streamStripsPerPass(config, shape)),
        buffers(streamBuffers(config, shape)) {}

  void run();

private:
  void product(Val rowTile);
  using Unit = llvm::SmallVector<Val>;
  /// The warp's weights of one pass, [slot][m-tile].
  using Units = std::vector<std::vector<Unit>>;

  Units loadPass(Val pass, bool checked);
  std::vector<Unit> loadSlot(Val pass, unsigned slot, bool checked);
  void stagePass(Val pass);
  void waitForStaged(unsigned pendingGroups);
  Val bufferOf(Val pass);
  void multiplySlot(const std::vector<Unit> &units, Val buffer, unsigned slot);
  void unrolledPasses(int64_t passes);
  void loopedPasses();
  void reduceAndStore();

  KernelFrame &frame;
  KernelEmitter &e;
  const GemmConfig &config;
  WeightSource &source;
  const SourceShape &shape;
  int64_t rowTiles;
  unsigned tilesPerWarp, groups, stripsPerPass, buffers;

  Val shared, warpM, warpK, n0, units, passes;
  std::optional<int64_t> staticUnits;
  std::unique_ptr<ActivationTile> tile;
  std::vector<std::vector<Accumulator>> acc; ///< [m-tile][group]
};

} // namespace

void StreamEmitter::run() {
  Val warp = e.warp(), block = e.cta(0);
  warpM = warp % config.warpsM;
  warpK = warp / config.warpsM;
  Val rowTile = block % rowTiles;
  n0 = (block / rowTiles) * config.tileN;
  shared = e.sharedDynamic();
  emitRowTile(frame, config, source, rowTile, n0, [&] { product(rowTile); });
}

void StreamEmitter::product(Val rowTile) {
  source.begin(rowTile);
  source.beginWarp(warpM * tilesPerWarp, tilesPerWarp);
  if (shape.isList) {
    source.stageList(shared);
    e.barrier();
    shared = e.ptrAdd(shared, shape.listBytes());
  }
  KStrips strips = source.strips();
  unsigned stripsPerUnit = 2 * shape.stepsPerUnit;
  units = strips.count / stripsPerUnit;
  if (strips.staticCount)
    staticUnits = *strips.staticCount / stripsPerUnit;

  tile = std::make_unique<ActivationTile>(frame, strips, config.tileN,
                                          stripsPerPass);
  tile->prepare(warpK * (config.prefetch * stripsPerUnit), e.i32(0), groups);
  Val zero = e.f32(0);
  acc.assign(tilesPerWarp, std::vector<Accumulator>(
                               groups, Accumulator{zero, zero, zero, zero}));

  if (!streamLoops(config, shape))
    unrolledPasses(streamPasses(config, shape));
  else
    loopedPasses();
  reduceAndStore();
}

/// Waits for X, with the weights requested first: ptxas moves plain loads
/// behind a wait for cp.async, which then holds them for as long as X takes (18
/// of 24 loads of nm at N = 1), but not across a warp barrier, which costs
/// nothing.
void StreamEmitter::waitForStaged(unsigned pendingGroups) {
  e.warpBarrier();
  e.cpAsyncWait(pendingGroups);
  e.barrier();
}

/// Pointer to the X buffer of a pass.
Val StreamEmitter::bufferOf(Val pass) {
  if (buffers == 1)
    return shared;
  return e.ptrAdd(shared, (pass % buffers) * int64_t(tile->bytes()));
}

void StreamEmitter::stagePass(Val pass) {
  tile->stage(bufferOf(pass), pass * stripsPerPass, n0);
}

std::vector<StreamEmitter::Unit>
StreamEmitter::loadSlot(Val pass, unsigned slot, bool checked) {
  Val base = pass * (config.warpsK * config.prefetch) + warpK * config.prefetch;
  std::vector<Unit> loaded;
  auto loadAll = [&] {
    Unit flat;
    for (unsigned m = 0; m < tilesPerWarp; ++m)
      flat.append(source.loadUnit(m, base, slot));
    return flat;
  };
  Unit flat;
  unsigned perUnit = source.zeroUnit().size();
  if (checked) {
    Unit zeros;
    for (unsigned m = 0; m < tilesPerWarp; ++m)
      zeros.append(source.zeroUnit());
    llvm::SmallVector<mlir::Type> types;
    for (Val value : zeros)
      types.push_back(value.type());
    flat = e.ifThenElse(base + slot < units, types, loadAll,
                        [&] { return zeros; });
  } else {
    flat = loadAll();
  }
  for (unsigned m = 0; m < tilesPerWarp; ++m)
    loaded.emplace_back(flat.begin() + m * perUnit,
                        flat.begin() + (m + 1) * perUnit);
  return loaded;
}

StreamEmitter::Units StreamEmitter::loadPass(Val pass, bool checked) {
  Units loaded;
  for (unsigned slot = 0; slot < config.prefetch; ++slot)
    loaded.push_back(loadSlot(pass, slot, checked));
  return loaded;
}

void StreamEmitter::multiplySlot(const std::vector<Unit> &slotUnits, Val buffer,
                                 unsigned slot) {
  for (unsigned step = 0; step < shape.stepsPerUnit; ++step)
    for (unsigned g = 0; g < groups; ++g) {
      auto b = tile->fragment(buffer, slot * shape.stepsPerUnit + step, g);
      for (unsigned m = 0; m < tilesPerWarp; ++m)
        acc[m][g] = source.multiply(source.stepOfUnit(slotUnits[m], step), step,
                                    b, acc[m][g]);
    }
}

void StreamEmitter::unrolledPasses(int64_t total) {
  auto checked = [&](int64_t pass) {
    return (pass + 1) * config.warpsK * config.prefetch > *staticUnits;
  };
  // X first: loads behind it are issued while its addresses are computed.
  int64_t staged =
      std::min<int64_t>(total, buffers == total ? total : buffers - 1);
  for (int64_t pass = 0; pass < staged; ++pass) {
    stagePass(e.i32(pass));
    e.cpAsyncCommit();
  }
  Units current = loadPass(e.i32(0), checked(0));
  for (int64_t pass = 0; pass < total; ++pass) {
    waitForStaged(unsigned(staged - 1 - pass));
    if (staged < total) {
      stagePass(e.i32(staged++));
      e.cpAsyncCommit();
    }
    Val buffer = bufferOf(e.i32(pass));
    for (unsigned slot = 0; slot < config.prefetch; ++slot) {
      multiplySlot(current[slot], buffer, slot);
      if (pass + 1 < total)
        current[slot] = loadSlot(e.i32(pass + 1), slot, checked(pass + 1));
    }
  }
}

void StreamEmitter::loopedPasses() {
  unsigned ahead = buffers - 1;
  passes = e.ceilDiv(units, config.warpsK * config.prefetch);
  for (unsigned pass = 0; pass < ahead; ++pass) {
    e.ifThen(e.i32(pass) < passes, [&] { stagePass(e.i32(pass)); });
    e.cpAsyncCommit();
  }
  Units first = loadPass(e.i32(0), /*checked=*/true);

  // Carried around the loop: the sums, then the weights in flight.
  llvm::SmallVector<Val> carried;
  for (auto &row : acc)
    for (Accumulator &sums : row)
      carried.append(sums.begin(), sums.end());
  for (auto &slot : first)
    for (Unit &unit : slot)
      carried.append(unit.begin(), unit.end());
  auto spread = [&](llvm::ArrayRef<Val> values, Units &weights) {
    const Val *next = values.begin();
    for (auto &row : acc)
      for (Accumulator &sums : row)
        for (Val &value : sums)
          value = *next++;
    for (auto &slot : weights)
      for (Unit &unit : slot)
        for (Val &value : unit)
          value = *next++;
  };
  Units current = first;
  auto results = e.forLoop(
      e.i32(0), passes, e.i32(1), carried,
      [&](Val pass, llvm::ArrayRef<Val> args) {
        spread(args, current);
        waitForStaged(ahead - 1);
        Val upcoming = pass + ahead;
        e.ifThen(upcoming < passes, [&] { stagePass(upcoming); });
        e.cpAsyncCommit();
        Val buffer = bufferOf(pass);
        llvm::SmallVector<Val> next;
        for (unsigned slot = 0; slot < config.prefetch; ++slot) {
          multiplySlot(current[slot], buffer, slot);
          for (Unit &unit : loadSlot(pass + 1, slot, /*checked=*/true))
            next.append(unit.begin(), unit.end());
        }
        llvm::SmallVector<Val> yielded;
        for (auto &row : acc)
          for (Accumulator &sums : row)
            yielded.append(sums.begin(), sums.end());
        yielded.append(next);
        return yielded;
      });
  spread(results, current);
  e.cpAsyncWait(0);
}

void StreamEmitter::reduceAndStore() {
  bool tokenMajor = frame.problem().layout == Layout::TokenMajor;
  unsigned stride = streamPartialStride(config, frame.problem().layout);
  unsigned lines = tokenMajor ? config.tileN : config.tileM;
  unsigned warpBytes = lines * stride * 4;
  Val lane = e.lane();
  Val row = lane / 4, column = (lane % 4) * 2;
  e.barrier(); // The sums overwrite X.

  Val own = e.ptrAdd(shared, warpK * warpBytes);
  Val firstRow = warpM * (tilesPerWarp * 16) + row;
  Val lanePtr = e.ptrAdd(own, tokenMajor ? (column * stride + firstRow) * 4
                                         : (firstRow * stride + column) * 4);
  for (unsigned m = 0; m < tilesPerWarp; ++m)
    for (unsigned g = 0; g < groups; ++g) {
      Accumulator &sums = acc[m][g];
      for (unsigned half = 0; half < 2; ++half) {
        unsigned r = m * 16 + half * 8, c = g * 8;
        if (tokenMajor) {
          e.store(sums[half * 2], lanePtr, (c * stride + r) * 4, 4);
          e.store(sums[half * 2 + 1], lanePtr, ((c + 1) * stride + r) * 4, 4);
        } else {
          e.store(e.makeVector({sums[half * 2], sums[half * 2 + 1]}), lanePtr,
                  (r * stride + c) * 4, 8);
        }
      }
    }
  e.barrier();

  Val row0 = source.outputRow();
  forEachOutput(frame, config, [&](Val r, Val c) {
    Val pointer = e.ptrAdd(shared, tokenMajor ? (c * stride + r) * 4
                                              : (r * stride + c) * 4);
    Val m = row0 + r, n = n0 + c;
    e.ifThen((m < source.productRows()) & (n < frame.n()), [&] {
      Val sum = e.load(e.f32Type(), pointer, 0, 4);
      for (unsigned w = 1; w < config.warpsK; ++w)
        sum = sum + e.load(e.f32Type(), pointer, w * warpBytes, 4);
      frame.storeElement(sum, source.rowOfY(m), n);
    });
  });
}

void sparseditto::emitStream(KernelFrame &frame, const GemmConfig &config,
                             WeightSource &source, int64_t rowTiles) {
  StreamEmitter(frame, config, source, rowTiles).run();
}
