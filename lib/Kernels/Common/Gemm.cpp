//===- Gemm.cpp - Knobs and limits of the matrix schedules ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Common/Gemm.h"
#include "mlir/IR/BuiltinOps.h"
#include "sparseditto/Kernels/Limits.h"
#include "sparseditto/Support/Error.h"
#include "llvm/Support/MathExtras.h"

using namespace sparseditto;

std::vector<KnobDeclaration> sparseditto::gemmKnobs(const GemmConfig &d) {
  return {
      {"schedule",
       {0, 1},
       int64_t(d.schedule),
       "stream: W straight to registers, warps split K, for few tokens; tile: "
       "a ring of shared-memory stages, for many tokens.",
       {"stream", "tile"}},
      {"tile_m",
       {16, 32, 64, 128, 256},
       d.tileM,
       "Output features of a thread block.",
       {}},
      {"tile_n",
       {8, 16, 32, 64, 128, 256},
       d.tileN,
       "Tokens of a thread block.",
       {}},
      {"warps_m", {1, 2, 4, 8}, d.warpsM, "Warps that split tile_m.", {}},
      {"warps_n",
       {1, 2, 4, 8},
       d.warpsN,
       "Warps that split tile_n; 1 for schedule=stream.",
       {}},
      {"warps_k",
       {1, 2, 4, 8, 16},
       d.warpsK,
       "Warps that split K and add up in shared memory; 1 for schedule=tile.",
       {}},
      {"stages",
       {1, 2, 3, 4, 5, 6},
       d.stages,
       "Buffers in the shared-memory ring: of X for stream, of W and X for "
       "tile.",
       {}},
      {"prefetch",
       {1, 2, 4, 8},
       d.prefetch,
       "Units of W that a warp keeps in flight in registers; 1 for "
       "schedule=tile.",
       {}},
      {"blocks_per_sm",
       {1, 2, 3, 4},
       d.blocksPerSm,
       "Thread blocks to keep on one SM; more leaves fewer registers.",
       {}},
      {"band_rows",
       {1, 4, 8, 16, 64},
       d.bandRows,
       "Row tiles that run through all tokens together, for reuse in L2; 64 "
       "for schedule=stream.",
       {}},
  };
}

/// Name and member of each integer knob.
static std::pair<llvm::StringRef, unsigned GemmConfig::*> gemmFields[] = {
    {"tile_m", &GemmConfig::tileM},
    {"tile_n", &GemmConfig::tileN},
    {"warps_m", &GemmConfig::warpsM},
    {"warps_n", &GemmConfig::warpsN},
    {"warps_k", &GemmConfig::warpsK},
    {"stages", &GemmConfig::stages},
    {"prefetch", &GemmConfig::prefetch},
    {"blocks_per_sm", &GemmConfig::blocksPerSm},
    {"band_rows", &GemmConfig::bandRows},
};

GemmConfig GemmConfig::read(const Strategy &strategy,
                            const FamilyDeclaration &declaration) {
  auto value = [&](llvm::StringRef name) {
    if (std::optional<int64_t> v = strategy.get(name))
      return *v;
    return declaration.find(name)->defaultValue;
  };
  GemmConfig config;
  config.schedule = value("schedule") ? Schedule::Tile : Schedule::Stream;
  for (auto &[name, member] : gemmFields)
    config.*member = unsigned(value(name));
  return config;
}

Strategy GemmConfig::write(const FamilyDeclaration &declaration) const {
  Strategy strategy = declaration.defaults();
  strategy.set("schedule", int64_t(schedule));
  for (auto &[name, member] : gemmFields)
    strategy.set(name, this->*member);
  return strategy;
}

unsigned sparseditto::streamStripsPerPass(const GemmConfig &config,
                                          const SourceShape &shape) {
  return config.warpsK * config.prefetch * shape.stepsPerUnit * 2;
}
int64_t sparseditto::streamPasses(const GemmConfig &config,
                                  const SourceShape &shape) {
  unsigned perPass = streamStripsPerPass(config, shape);
  return (shape.strips + perPass - 1) / perPass;
}
bool sparseditto::streamLoops(const GemmConfig &config,
                              const SourceShape &shape) {
  if (shape.isList)
    return true;
  int64_t passes = streamPasses(config, shape);
  return passes > 4 || (passes > 1 && config.tileN > 32);
}
unsigned sparseditto::streamBuffers(const GemmConfig &config,
                                    const SourceShape &shape) {
  if (shape.isList)
    return config.stages;
  return std::min<int64_t>(config.stages, streamPasses(config, shape));
}
unsigned sparseditto::streamPartialStride(const GemmConfig &config,
                                          Layout layout) {
  // Strides that keep the stores of a fragment free of bank conflicts.
  if (layout == Layout::TokenMajor)
    return config.tileM + 4;
  return config.tileN <= 8 ? config.tileN : config.tileN + 8;
}
unsigned sparseditto::tileStageBytes(const GemmConfig &config,
                                     const SourceShape &shape) {
  return shape.chunkBytesPerTile * (config.tileM / 16) +
         ActivationTile::bytes(config.tileN, WeightSource::stripsPerChunk);
}
unsigned sparseditto::tileSlabStride(const GemmConfig &config, Layout layout) {
  if (layout == Layout::TokenMajor)
    return config.tilesPerWarp() * 16 + 4;
  return config.tileN / config.warpsN + 8;
}

unsigned sparseditto::sharedBytes(const GemmConfig &config,
                                  const SourceShape &shape, Layout layout) {
  unsigned operands, results;
  if (config.schedule == Schedule::Stream) {
    operands =
        streamBuffers(config, shape) *
        ActivationTile::bytes(config.tileN, streamStripsPerPass(config, shape));
    unsigned lines = layout == Layout::TokenMajor ? config.tileN : config.tileM;
    results = config.warpsK * lines * streamPartialStride(config, layout) * 4;
  } else {
    operands = config.stages * tileStageBytes(config, shape);
    unsigned lines = layout == Layout::TokenMajor ? 8 : 16;
    results = config.warps() * lines * tileSlabStride(config, layout) * 4;
  }
  return shape.listBytes() + std::max(operands, results);
}

llvm::Error sparseditto::checkGemm(const GemmConfig &c,
                                   const SourceShape &shape,
                                   const Problem &problem,
                                   unsigned computeCapability) {
  if (c.tileM % (16 * c.warpsM) != 0)
    return makeError("knob 'warps_m' = {0}: must leave each warp a multiple of "
                     "16 of the {1} rows of tile_m",
                     c.warpsM, c.tileM);
  if (c.tileN % (8 * c.warpsN) != 0)
    return makeError(
        "knob 'warps_n' = {0}: must leave each warp a multiple of 8 "
        "of the {1} tokens of tile_n",
        c.warpsN, c.tileN);
  if (c.schedule == Schedule::Stream) {
    if (c.warpsN != 1)
      return makeError("knob 'warps_n' = {0}: must be 1 for schedule=stream",
                       c.warpsN);
    if (c.bandRows != 64)
      return makeError("knob 'band_rows' = {0}: must be 64 for schedule=stream",
                       c.bandRows);
    if (c.tileN > 64)
      return makeError(
          "knob 'tile_n' = {0}: schedule=stream takes 8, 16, 32, 64", c.tileN);
    if (c.stages == 1 && (shape.isList || streamPasses(c, shape) > 1))
      return makeError(
          "knob 'stages' = 1: K needs {0} passes of warps_k * prefetch units, "
          "so schedule=stream needs stages >= 2",
          shape.isList ? std::string("several")
                       : std::to_string(streamPasses(c, shape)));
  } else {
    if (c.warpsK != 1)
      return makeError("knob 'warps_k' = {0}: must be 1 for schedule=tile",
                       c.warpsK);
    if (c.prefetch != 1)
      return makeError("knob 'prefetch' = {0}: must be 1 for schedule=tile",
                       c.prefetch);
    if (c.stages < 2)
      return makeError("knob 'stages' = {0}: schedule=tile needs 2 to 6",
                       c.stages);
  }
  if (c.threads() > 1024)
    return makeError("knobs 'warps_m', 'warps_n', 'warps_k': {0} warps in a "
                     "block, at most 32",
                     c.warps());
  unsigned maxThreads = computeCapability == 80 || computeCapability == 90 ||
                                computeCapability == 100
                            ? 2048
                            : 1536;
  if (c.threads() * c.blocksPerSm > maxThreads)
    return makeError(
        "knob 'blocks_per_sm' = {0}: {1} threads exceed the {2} of "
        "an SM",
        c.blocksPerSm, c.threads() * c.blocksPerSm, maxThreads);
  // What a thread must hold at least: sums, weights in flight, one B fragment.
  unsigned groups = c.tileN / 8 / c.warpsN;
  unsigned unitRegisters = shape.stepsPerUnit == 2 ? 9 : 8;
  unsigned registers = c.tilesPerWarp() * groups * 4 + shape.stagingRegisters;
  if (c.schedule == Schedule::Stream) {
    unsigned weights = c.tilesPerWarp() * c.prefetch * unitRegisters;
    // A list's loop overlaps the loads of two iterations. Passes of a known
    // number may too; there ptxas is asked, and a smaller prefetch stands by.
    if (shape.isList)
      weights += weights / 2;
    registers += weights + (shape.isList ? 40 + groups * 4 : 24);
  } else {
    registers += c.tilesPerWarp() * (shape.stepsPerUnit == 2 ? 5 : 8) + 40;
  }
  unsigned available =
      std::min(255u, 65536 / (c.threads() * c.blocksPerSm) / 8 * 8);
  if (registers > available)
    return makeError(
        "knobs 'tile_m', 'tile_n', 'prefetch': about {0} registers "
        "a thread, {1} are available with {2} threads and "
        "blocks_per_sm = {3}",
        registers, available, c.threads(), c.blocksPerSm);
  unsigned bytes = sharedBytes(c, shape, problem.layout);
  unsigned limit = maxSharedBytes(computeCapability);
  if (bytes > limit)
    return makeError(
        "knobs 'tile_m', 'tile_n', 'stages', 'prefetch': {0} bytes "
        "of shared memory, a block of sm_{1} has {2}",
        bytes, computeCapability, limit);
  return llvm::Error::success();
}

void sparseditto::forEachOutput(KernelFrame &frame, const GemmConfig &config,
                                llvm::function_ref<void(Val, Val)> body) {
  KernelEmitter &e = frame.emitter();
  bool tokenMajor = frame.problem().layout == Layout::TokenMajor;
  auto element = [&](Val index) {
    if (tokenMajor)
      body(index % config.tileM, index / config.tileM);
    else
      body(index / config.tileN, index % config.tileN);
  };
  unsigned elements = config.tileM * config.tileN, threads = config.threads();
  Val tid = e.tid();
  if (elements < threads)
    e.ifThen(tid < elements, [&] { element(tid); });
  else if (elements == threads)
    element(tid);
  else
    e.forLoop(tid, e.i32(elements), e.i32(threads), element);
}

void sparseditto::emitRowTile(KernelFrame &frame, const GemmConfig &config,
                              WeightSource &source, Val rowTile, Val n0,
                              llvm::function_ref<void()> product) {
  KernelEmitter &e = frame.emitter();
  int64_t m = frame.problem().m, rows = source.productRows();
  if (rows == m) {
    product();
    return;
  }
  int64_t tiles = llvm::divideCeil(rows, int64_t(config.tileM));
  auto storeZeros = [&] {
    Val row0 = (rowTile - tiles) * int64_t(config.tileM) + rows;
    forEachOutput(frame, config, [&](Val r, Val c) {
      Val row = row0 + r, n = n0 + c;
      e.ifThen((row < m) & (n < frame.n()),
               [&] { frame.storeElement(e.f32(0), source.rowOfY(row), n); });
    });
  };
  if (rows == 0)
    storeZeros();
  else
    e.ifThenElse(rowTile < tiles, product, storeZeros);
}

BuiltKernel sparseditto::buildGemm(KernelFrame &frame, const GemmConfig &config,
                                   WeightSource &source, int64_t rowTiles) {
  if (config.schedule == Schedule::Stream)
    emitStream(frame, config, source, rowTiles);
  else
    emitTile(frame, config, source, rowTiles);
  return frame.finish(
      rowTiles, config.tileN,
      sharedBytes(config, source.shape(), frame.problem().layout));
}

void sparseditto::addGemmTraffic(CostModel &cost, const GemmConfig &config,
                                 const Problem &problem, double weightBytes,
                                 double kShare, int64_t n, GemmUnit unit) {
  double in = byteSize(problem.type), out = byteSize(problem.outputType);
  double nTiles = double(llvm::divideCeil(n, config.tileN));
  double mTiles = double(llvm::divideCeil(problem.m, config.tileM));
  double columns = double(problem.k) * kShare;
  bool isStream = config.schedule == Schedule::Stream;
  cost.weightBytes = weightBytes;
  cost.activationBytes =
      double(problem.k) * n * in +
      double(problem.m) * n * out * (problem.epilogue.residual ? 2 : 1);
  // Tokens that are not there are staged as well.
  cost.l2Bytes = weightBytes * (nTiles - 1) +
                 columns * config.tileN * nTiles * in * mTiles;
  cost.blocks = mTiles * nTiles;
  cost.threadsPerBlock = config.threads();
  cost.registersPerThread = 65536 / (config.threads() * config.blocksPerSm);
  // Of 64 columns a stage in the tile schedule, one of which is being used.
  cost.bytesInFlight = isStream ? config.warps() * config.tilesPerWarp() *
                                      config.prefetch * unit.bytes
                                : std::max(1.0, config.stages - 1.0) *
                                      (config.tileM / 16.0) * unit.bytes * 64 /
                                      unit.columns;
  // Fitted to an H200 with the rates of the machine model: what a block does
  // one after the other, of which a step through K is a small part.
  double steps =
      columns /
      (isStream ? unit.columns * config.warpsK * config.prefetch : 64);
  cost.roundTrips = 0.74 + 0.037 * steps;
  cost.fixedMicroseconds = isStream ? 0 : 0.3;
}
