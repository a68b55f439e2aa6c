//===- WeightSource.h - How a packed weight meets the tensor cores -*- C++ -*-//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a matrix kernel that differs between formats. All formats keep A
// fragments in the order of the lanes, so that one 16-byte load a lane brings a
// whole fragment, from global memory (streaming schedule) or from shared memory
// (tile schedule). Words used here:
//
//   strip   16 columns of W         step    2 strips, 32 columns: one
//   ldmatrix.x4 unit    1 or 2 steps: what loadUnit brings      m-tile  16 rows
//   of W chunk   4 strips: one stage of the tile schedule
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_COMMON_WEIGHTSOURCE_H
#define SPARSEDITTO_KERNELS_COMMON_WEIGHTSOURCE_H

#include "sparseditto/Kernels/Common/ActivationTile.h"

namespace sparseditto {

/// What of a source decides sizes, known without a weight.
struct SourceShape {
  unsigned stepsPerUnit = 1;
  /// Shared bytes of one m-tile of one chunk.
  unsigned chunkBytesPerTile = 0;
  /// Strips a block walks; for lists the most that any block may walk.
  int64_t strips = 0;
  /// True if blocks walk lists of strips of different lengths.
  bool isList = false;
  /// Registers of a thread that staging X holds beside sums and weights.
  unsigned stagingRegisters = 0;
  /// Shared bytes of the list.
  unsigned listBytes() const {
    return isList ? unsigned((strips * 4 + 127) / 128 * 128) : 0;
  }
};

using Accumulator = std::array<Val, 4>;

class WeightSource {
public:
  static constexpr unsigned stripsPerChunk = 4;

  WeightSource(KernelFrame &frame, const SourceShape &shape, unsigned tileM)
      : frame(frame), e(frame.emitter()), sourceShape(shape),
        tilesPerBlock(tileM / 16) {}
  virtual ~WeightSource();

  const SourceShape &shape() const { return sourceShape; }

  /// Emits what the block's position decides. `rowTile` counts tiles of tileM
  /// rows in the order of the format.
  virtual void begin(Val rowTile) = 0;
  /// For lists: copies the list to shared memory; the caller synchronises.
  virtual void stageList(Val dst) {}
  /// After begin(), for lists after stageList().
  virtual KStrips strips() = 0;
  /// First row of the product of the block.
  virtual Val outputRow() = 0;

  /// Rows of the product. Y has problem.m, which may be more: those without a
  /// weight, served by blocks of their own behind the product's.
  virtual int64_t productRows() const { return frame.problem().m; }
  /// True if rowOfY is not the identity.
  virtual bool scattersRows() const { return false; }
  /// Row of Y of row `row` of the product; from productRows() to M - 1 come
  /// the rows without a weight.
  virtual Val rowOfY(Val row) { return row; }

  /// Streaming: the warp owns `count` m-tiles from `first` (in the block) on.
  virtual void beginWarp(Val first, unsigned count) = 0;
  /// Registers of unit `base + offset` of the warp's m-tile `tile`.
  virtual llvm::SmallVector<Val> loadUnit(unsigned tile, Val base,
                                          unsigned offset) = 0;
  /// A unit of zeros, and the types of a unit.
  virtual llvm::SmallVector<Val> zeroUnit() = 0;
  /// The registers of one step of a unit.
  virtual llvm::SmallVector<Val> stepOfUnit(llvm::ArrayRef<Val> unit,
                                            unsigned step) = 0;

  /// Tile: copies chunk `chunk` of the block's m-tiles to shared memory by
  /// cp.async, zeros beyond the last strip.
  virtual void stageChunk(Val dst, Val chunk) = 0;
  /// The registers of step 0 or 1 of m-tile `tile` of a staged chunk.
  virtual llvm::SmallVector<Val>
  stepOfChunk(Val staged, Val tile, unsigned offset, unsigned step) = 0;

  /// acc += A * B for one step; `step` counts from a unit's or chunk's start.
  virtual Accumulator multiply(llvm::ArrayRef<Val> a, unsigned step,
                               llvm::ArrayRef<Val> b,
                               const Accumulator &acc) = 0;

protected:
  /// Copies `pieces` x 16 bytes with all threads; `source` gives address and
  /// condition (null: always) of a piece, in the order of the destination.
  void copyPieces(Val dst, unsigned pieces,
                  llvm::function_ref<std::pair<Val, Val>(Val piece)> source);

  KernelFrame &frame;
  KernelEmitter &e;
  SourceShape sourceShape;
  unsigned tilesPerBlock;
};

/// Dense 16 x 16 fragments, one strip of one m-tile in 512 bytes:
/// address = base + m-tile * tileStride + strip * stripStride.
class FragmentSource : public WeightSource {
public:
  using WeightSource::WeightSource;
  static constexpr unsigned fragmentBytes = 512;

  void beginWarp(Val first, unsigned count) override;
  llvm::SmallVector<Val> loadUnit(unsigned tile, Val base,
                                  unsigned offset) override;
  llvm::SmallVector<Val> zeroUnit() override;
  llvm::SmallVector<Val> stepOfUnit(llvm::ArrayRef<Val> unit,
                                    unsigned step) override;
  void stageChunk(Val dst, Val chunk) override;
  llvm::SmallVector<Val> stepOfChunk(Val staged, Val tile, unsigned offset,
                                     unsigned step) override;
  Accumulator multiply(llvm::ArrayRef<Val> a, unsigned step,
                       llvm::ArrayRef<Val> b, const Accumulator &acc) override;

protected:
  // Set by begin().
  Val base; ///< Of the block: strip 0 of its first m-tile.
  int64_t tileStride = 0, stripStride = 0;
  /// Last m-tile that exists, counted in the block; null when all do.
  Val lastTile;

private:
  Val tileOffset(Val tile);
  llvm::SmallVector<Val, 4> warpTiles;
};

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_COMMON_WEIGHTSOURCE_H
