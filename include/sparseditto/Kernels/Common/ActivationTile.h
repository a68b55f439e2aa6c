//===- ActivationTile.h - X in shared memory --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels walk K in strips of 16 columns of W (16 rows of X). A tile holds some
// strips of X for tileN tokens, in 16-byte chunks:
//
//   token-major, row = token           feature-major, row = column of W
//   +----+----+--   --+----+           +----+--   --+----+
//   | k0 | k8 |  ...  |    | n = 0     | n0 |  ...  |    | k = 0
//   +----+----+--   --+----+           +----+--   --+----+
//   |    |    |       |    | n = 1     |    |       |    | k = 1
//   chunk c of row r lies at chunk c ^ f(r) of its row, with f such that the
//   eight rows of an ldmatrix hit eight different bank groups.
//
// Whatever lies outside of N or K is zero in the tile, so an Inf or NaN in X
// never reaches another token, and nothing outside of X is read.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_COMMON_ACTIVATIONTILE_H
#define SPARSEDITTO_KERNELS_COMMON_ACTIVATIONTILE_H

#include "sparseditto/Kernels/Common/KernelFrame.h"
#include <functional>

namespace sparseditto {

/// The strips that one thread block walks.
struct KStrips {
  static constexpr unsigned width = 16;
  Val count; ///< Number of strips, i32.
  /// The count when it is known while building.
  std::optional<int64_t> staticCount;
  /// First column of W of run i; null when it is run * i. Runs that pad a list
  /// start at the first multiple of `run` from K on, and read as zeros.
  std::function<Val(Val index)> column;
  /// Columns of W that `column` places together: 16 (a strip), 8 or 1.
  unsigned run = width;
  /// For run = 1: columns 8 * i to 8 * i + 7 at once.
  std::function<llvm::SmallVector<Val>(Val index)> octet;
};

class ActivationTile {
public:
  /// A tile of `strips` strips by `tileN` tokens (powers of two, tileN >= 8,
  /// strips >= 2), filled by all threads of the block.
  ActivationTile(KernelFrame &frame, const KStrips &strips, unsigned tileN,
                 unsigned stripsPerTile);

  static unsigned bytes(unsigned tileN, unsigned strips) {
    return tileN * strips * KStrips::width * 2;
  }
  unsigned bytes() const { return bytes(tileN, strips); }

  /// Copies the strips from `firstStrip` on for the tokens from `n0` on to
  /// `dst`: by cp.async when X and its stride are multiples of 16 bytes and the
  /// 8 elements of a chunk are neighbours in X, else element by element. The
  /// caller commits, waits and synchronises.
  void stage(Val dst, Val firstStrip, Val n0);

  /// Computes the lane's addresses for a warp that reads the strips from
  /// `firstStrip` (of the tile) on and `groups` groups of 8 tokens from group
  /// `firstGroup` on. Both i32.
  void prepare(Val firstStrip, Val firstGroup, unsigned groups);
  /// The B fragment of mma for 32 columns of W (strips 2 * step and
  /// 2 * step + 1 after firstStrip) and 8 tokens: 4 x i32, two per strip.
  llvm::SmallVector<Val, 4> fragment(Val tile, unsigned step, unsigned group);

private:
  Val swizzled(Val row, Val chunk);
  void stageAligned(Val dst, Val firstStrip, Val n0);
  void stageElements(Val dst, Val firstStrip, Val n0);
  void stageGathered(Val dst, Val firstStrip, Val n0);
  Val columnOf(Val strip, Val within);
  struct Piece;
  Piece piece(Val index, Val firstStrip, Val n0);
  void forEachPiece(unsigned unroll, llvm::function_ref<void(Val)> body);

  KernelFrame &frame;
  KernelEmitter &e;
  KStrips kStrips;
  unsigned tileN, strips;
  bool tokenMajor;
  unsigned chunksPerRow, rows, rowBytes;
  Val aligned;
  llvm::SmallVector<Val, 8> laneOffsets;
};

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_COMMON_ACTIVATIONTILE_H
