//===- Family.cpp - The family nm: 2:4 on sparse tensor cores -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "mlir/IR/BuiltinOps.h"
#include "sparseditto/Kernels/Families.h"
#include "sparseditto/Support/Error.h"

using namespace sparseditto;

namespace {

/// Fragments for mma.sp: 512 bytes of values a step and m-tile, 128 bytes of
/// metadata a chunk (two steps) and m-tile.
class NMSource : public WeightSource {
public:
  NMSource(KernelFrame &frame, const SourceShape &shape, unsigned tileM)
      : WeightSource(frame, shape, tileM), tiles(nm::mTiles(frame.problem().m)),
        chunks(nm::chunks(frame.problem().k)), values(frame.packed("values")),
        metadata(frame.packed("metadata")) {}

  void begin(Val rowTile) override {
    firstTile = rowTile * tilesPerBlock;
    firstRow = firstTile * 16;
  }
  KStrips strips() override {
    return {e.i32(chunks * stripsPerChunk), chunks * stripsPerChunk, nullptr};
  }
  Val outputRow() override { return firstRow; }

  void beginWarp(Val first, unsigned count) override {
    warpValues.clear();
    warpMetadata.clear();
    Val lane = e.lane();
    for (unsigned i = 0; i < count; ++i) {
      Val chunk = e.sextI64(existing(firstTile + first + i)) * chunks;
      warpValues.push_back(
          e.ptrAdd(e.ptrAdd(values, chunk * valueBytes), lane * 16));
      warpMetadata.push_back(
          e.ptrAdd(e.ptrAdd(metadata, chunk * metadataBytes), lane * 4));
    }
  }

  llvm::SmallVector<Val> loadUnit(unsigned tile, Val base,
                                  unsigned offset) override {
    mlir::Type quad = e.vecType(4, e.i32Type());
    Val v = e.ptrAdd(warpValues[tile], base * valueBytes);
    Val m = e.ptrAdd(warpMetadata[tile], base * metadataBytes);
    int64_t first = int64_t(offset) * valueBytes;
    return {e.load(quad, v, first, 16),
            e.load(quad, v, first + valueBytes / 2, 16),
            e.load(e.i32Type(), m, int64_t(offset) * metadataBytes, 4)};
  }
  llvm::SmallVector<Val> zeroUnit() override {
    Val zero = e.zero(e.vecType(4, e.i32Type()));
    // Positions 0 and 1 in every group: ordered metadata must ascend.
    return {zero, zero, e.i32(0x44444444)};
  }
  llvm::SmallVector<Val> stepOfUnit(llvm::ArrayRef<Val> unit,
                                    unsigned step) override {
    return {unit[step], unit[2]};
  }

  // Staged chunk: [step][m-tile][lane][16 bytes], then [m-tile][lane][4 bytes].
  void stageChunk(Val dst, Val chunk) override {
    copyPieces(dst, tilesPerBlock * 64, [&](Val piece) -> std::pair<Val, Val> {
      Val lane = piece % 32, tile = piece / 32 % tilesPerBlock;
      Val step = piece / (32 * tilesPerBlock);
      return {e.ptrAdd(e.ptrAdd(values, chunkIndex(tile, chunk) * valueBytes),
                       step * (valueBytes / 2) + lane * 16),
              Val()};
    });
    copyPieces(e.ptrAdd(dst, tilesPerBlock * valueBytes), tilesPerBlock * 8,
               [&](Val piece) -> std::pair<Val, Val> {
                 Val part = piece % 8, tile = piece / 8;
                 return {e.ptrAdd(e.ptrAdd(metadata, chunkIndex(tile, chunk) *
                                                         metadataBytes),
                                  part * 16),
                         Val()};
               });
  }
  llvm::SmallVector<Val> stepOfChunk(Val staged, Val tile, unsigned offset,
                                     unsigned step) override {
    Val v = e.ptrAdd(staged, tile * (valueBytes / 2) + e.lane() * 16);
    Val m = e.ptrAdd(staged, tile * metadataBytes + e.lane() * 4);
    return {e.load(e.vecType(4, e.i32Type()), v,
                   (step * tilesPerBlock + offset) * (valueBytes / 2), 16),
            e.load(e.i32Type(), m,
                   tilesPerBlock * valueBytes + offset * metadataBytes, 4)};
  }

  Accumulator multiply(llvm::ArrayRef<Val> a, unsigned step,
                       llvm::ArrayRef<Val> b, const Accumulator &acc) override {
    llvm::SmallVector<Val, 4> registers;
    for (unsigned i = 0; i < 4; ++i)
      registers.push_back(e.extract(a[0], i));
    return e.mmaSparse(frame.problem().type, registers, b, acc, a[1], step % 2);
  }

private:
  static constexpr int64_t valueBytes = 1024, metadataBytes = 128;

  /// Row tiles beyond the last read the last one again; nothing of it is
  /// stored.
  Val existing(Val tile) {
    if (tiles % tilesPerBlock == 0)
      return tile;
    return e.minSigned(tile, e.i32(tiles - 1));
  }
  Val chunkIndex(Val tile, Val chunk) {
    return e.sextI64(existing(firstTile + tile)) * chunks + e.sextI64(chunk);
  }

  int64_t tiles, chunks;
  Val values, metadata, firstTile, firstRow;
  llvm::SmallVector<Val, 4> warpValues, warpMetadata;
};

FamilyDeclaration declare() {
  return gemmDeclaration(
      "nm",
      "2:4 weights on sparse tensor cores (mma.sp), 9/16 of the "
      "dense bytes.",
      "weights with at most 2 non-zeros in every aligned group of 4 "
      "along K");
}

class NMFamily : public GemmFamily {
public:
  NMFamily() : GemmFamily(declare(), nm::formatName, nm::formatVersion) {}

  llvm::Error accepts(const PatternReport &report,
                      const Problem &problem) const override {
    if (report.satisfies24())
      return llvm::Error::success();
    const NMStats *stats = report.findNM(4, Axis::Rows);
    return makeError("{0} of {1} groups of 4 along K have more than 2 "
                     "non-zeros",
                     stats ? stats->violatingGroups : -1,
                     stats ? stats->groups : -1);
  }

  CostModel cost(const PatternReport &report, const Problem &problem,
                 const Strategy &strategy, int64_t n) const override {
    CostModel cost;
    GemmConfig config = GemmConfig::read(strategy, decl);
    double chunks =
        double(nm::mTiles(problem.m)) * double(nm::chunks(problem.k));
    addGemmTraffic(cost, config, problem, chunks * (1024 + 128), 1, n,
                   {.bytes = 1024 + 128, .columns = 64});
    // Sparse tensor cores issue half the dense multiply-adds.
    cost.tensorFlops =
        double(problem.m) * double(problem.k) * double(llvm::alignTo(n, 8));
    return cost;
  }

  llvm::Expected<PackedWeight> pack(const Matrix &weight,
                                    const Strategy &) const override {
    return nm::pack(weight);
  }
  llvm::Expected<Matrix> unpack(const PackedWeight &packed) const override {
    return nm::unpack(packed);
  }

protected:
  SourceShape sourceShape(const Problem &problem, const Strategy &,
                          const PackedWeight *) const override {
    SourceShape shape;
    shape.stepsPerUnit = 2;
    shape.chunkBytesPerTile = 1024 + 128;
    shape.strips = nm::chunks(problem.k) * WeightSource::stripsPerChunk;
    return shape;
  }
  llvm::Error checkBuffers(const PackedWeight &packed) const override {
    return nm::checkBuffers(packed, PackedCheck::Shapes);
  }
  std::unique_ptr<WeightSource>
  makeSource(KernelFrame &frame, const SourceShape &shape,
             const GemmConfig &config, const Strategy &,
             const PackedWeight &) const override {
    return std::make_unique<NMSource>(frame, shape, config.tileM);
  }
};

} // namespace

const KernelFamily &sparseditto::nmFamily() {
  static const NMFamily family;
  return family;
}
