//===- Gemm.h - The two schedules of the matrix families --------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Families that feed tensor cores from fragments share two schedules:
//
//  stream  few tokens. A block of tile_m rows keeps X in shared memory and
//          reads W once, straight to registers; its warps split K and add their
//          sums up in shared memory.
//
//                 X (shared)            warp (m, k): m-tiles x a share of K
//      W (global) ---registers---> mma ---> partial sums (shared) ---> Y
//
//  tile    many tokens. Both operands pass through a ring of stages in shared
//          memory (cp.async), each warp computes a part of tile_m x tile_n.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_COMMON_GEMM_H
#define SPARSEDITTO_KERNELS_COMMON_GEMM_H

#include "sparseditto/Kernels/Common/WeightSource.h"

namespace sparseditto {

enum class Schedule { Stream, Tile };

/// The knobs, read out of a strategy.
struct GemmConfig {
  Schedule schedule = Schedule::Stream;
  unsigned tileM = 16, tileN = 8;
  unsigned warpsM = 1, warpsN = 1, warpsK = 8;
  unsigned stages = 2;
  unsigned prefetch = 4;
  unsigned blocksPerSm = 1;
  unsigned bandRows = 8;

  static GemmConfig read(const Strategy &strategy,
                         const FamilyDeclaration &declaration);
  /// The strategy with these knobs, the family's further ones at default.
  Strategy write(const FamilyDeclaration &declaration) const;

  unsigned warps() const { return warpsM * warpsN * warpsK; }
  unsigned threads() const { return warps() * 32; }
  /// m-tiles of one warp.
  unsigned tilesPerWarp() const { return tileM / 16 / warpsM; }
};

/// The knob declarations both schedules use, with `defaults`.
std::vector<KnobDeclaration> gemmKnobs(const GemmConfig &defaults);

/// Dynamic shared memory of the kernel, in bytes.
unsigned sharedBytes(const GemmConfig &config, const SourceShape &shape,
                     Layout layout);

/// Success if the combination of knobs is legal for the schedule and fits the
/// device. The error names the knob, its value and what would be legal.
llvm::Error checkGemm(const GemmConfig &config, const SourceShape &shape,
                      const Problem &problem, unsigned computeCapability);

/// Emits the whole kernel. The configuration has passed checkGemm. `rowTiles`
/// blocks of tileM rows cover the weight, those of rows without one included.
BuiltKernel buildGemm(KernelFrame &frame, const GemmConfig &config,
                      WeightSource &source, int64_t rowTiles);

// The parts of buildGemm.
void emitStream(KernelFrame &frame, const GemmConfig &config,
                WeightSource &source, int64_t rowTiles);
void emitTile(KernelFrame &frame, const GemmConfig &config,
              WeightSource &source, int64_t rowTiles);
/// Emits `product` for the blocks whose rows have weights; the blocks behind
/// them store the epilogue of zero in rows without one.
void emitRowTile(KernelFrame &frame, const GemmConfig &config,
                 WeightSource &source, Val rowTile, Val n0,
                 llvm::function_ref<void()> product);
/// Calls `body` for the row and token of each element of a tile of tileM x
/// tileN that this thread stores: neighbouring threads on neighbours in Y.
void forEachOutput(KernelFrame &frame, const GemmConfig &config,
                   llvm::function_ref<void(Val row, Val token)> body);

// Sizes that both the checks and the builders need.
unsigned streamStripsPerPass(const GemmConfig &config,
                             const SourceShape &shape);
/// Passes over K that one block makes, X being staged once a pass.
int64_t streamPasses(const GemmConfig &config, const SourceShape &shape);
/// True if the passes are a loop. A few passes of little work are unrolled;
/// beyond that the code and, as ptxas mixes passes, the registers grow.
bool streamLoops(const GemmConfig &config, const SourceShape &shape);
/// Buffers of X that the streaming schedule keeps.
unsigned streamBuffers(const GemmConfig &config, const SourceShape &shape);
unsigned streamPartialStride(const GemmConfig &config, Layout layout);
unsigned tileStageBytes(const GemmConfig &config, const SourceShape &shape);
unsigned tileSlabStride(const GemmConfig &config, Layout layout);

/// What a warp requests of a row tile in one go ("unit" of a prefetch).
struct GemmUnit {
  double bytes = 1024; ///< Packed, of 16 rows.
  double columns = 32;
};
/// Counts one launch: all of the cost but tensorFlops. `kShare` is the part of
/// the columns that a row tile reads.
void addGemmTraffic(CostModel &cost, const GemmConfig &config,
                    const Problem &problem, double weightBytes, double kShare,
                    int64_t n, GemmUnit unit = {});

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_COMMON_GEMM_H
