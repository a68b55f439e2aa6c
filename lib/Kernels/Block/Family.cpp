//===- Family.cpp - The family block: kept blocks on tensor cores ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "sparseditto/Kernels/Families.h"
#include "sparseditto/Kernels/Limits.h"
#include "sparseditto/Support/Error.h"

using namespace sparseditto;

namespace {

/// Largest share of kept 16 x 16 blocks that the family serves: above it the
/// list and the gather cost more than the zeros.
constexpr double maxKeptShare = 0.8;

class BlockSource : public FragmentSource {
public:
  BlockSource(KernelFrame &frame, const SourceShape &shape, unsigned tileM,
              int64_t panelRows, int64_t uniform)
      : FragmentSource(frame, shape, tileM), panelRows(panelRows),
        uniform(uniform) {}

  void begin(Val rowTile) override {
    int64_t blocksPerPanel = panelRows / (tilesPerBlock * 16);
    Val panel = rowTile / blocksPerPanel, part = rowTile % blocksPerPanel;
    Val row = panel;
    if (uniform > 0) {
      // Two loads less that the list, and so X, would have to wait for.
      first = panel * uniform;
      count = e.i32(uniform);
    } else {
      Val offsets = e.ptrAdd(frame.packed("offsets"), panel * 4);
      first = e.load(e.i32Type(), offsets, 0, 4);
      count = e.load(e.i32Type(), offsets, 4, 4) - first;
      row =
          e.load(e.i32Type(), e.ptrAdd(frame.packed("rows"), panel * 4), 0, 4);
    }
    firstRow = row * panelRows + part * int64_t(tilesPerBlock * 16);
    tileStride = fragmentBytes;
    stripStride = panelRows / 16 * fragmentBytes;
    base =
        e.ptrAdd(frame.packed("values"),
                 e.sextI64(first) * stripStride +
                     e.sextI64(part) * int64_t(tilesPerBlock * fragmentBytes));
  }
  void stageList(Val dst) override {
    list = dst;
    Val columns = e.ptrAdd(frame.packed("columns"), e.sextI64(first) * 4);
    e.forLoop(e.tid(), count, e.i32(e.threads()), [&](Val i) {
      Val column = e.load(e.i32Type(), e.ptrAdd(columns, i * 4), 0, 4);
      e.store(column * KStrips::width, e.ptrAdd(list, i * 4), 0, 4);
    });
  }
  KStrips strips() override {
    return {count, std::nullopt, [this](Val strip) {
              return e.load(e.i32Type(), e.ptrAdd(list, strip * 4), 0, 4);
            }};
  }
  Val outputRow() override { return firstRow; }

private:
  int64_t panelRows;
  int64_t uniform; ///< Strips of every panel, which are in order; 0: neither.
  Val first, count, firstRow, list;
};

FamilyDeclaration declare() {
  FamilyDeclaration decl = gemmDeclaration(
      "block",
      "kept blocks in fragment order on tensor cores, X gathered by "
      "a list of column strips",
      "weights with whole 16 x 16 blocks (or larger multiples of 16) "
      "of zeros, at most 80 % of the blocks kept");
  decl.knobs.push_back({"panel_rows",
                        {16, 32, 64, 128},
                        16,
                        "Rows that share one list of kept column strips; more "
                        "than the pattern's block height keeps the union of "
                        "block rows.",
                        {},
                        /*affectsPacking=*/true});
  return decl;
}

class BlockFamily : public GemmFamily {
public:
  BlockFamily()
      : GemmFamily(declare(), block::formatName, block::formatVersion) {}

  llvm::Error accepts(const PatternReport &report,
                      const Problem &problem) const override {
    if (llvm::Error error = checkType(decl, problem))
      return error;
    double kept = keptShare(report, 16);
    if (kept <= maxKeptShare)
      return llvm::Error::success();
    return makeError("{0} % of the 16x16 blocks hold a non-zero, block takes "
                     "at most {1} %",
                     int(kept * 100 + 0.5), int(maxKeptShare * 100));
  }

  CostModel cost(const PatternReport &report, const Problem &problem,
                 const Strategy &strategy, int64_t n) const override {
    CostModel cost;
    GemmConfig config = GemmConfig::read(strategy, decl);
    int64_t panelRows = *strategy.get("panel_rows");
    double kept = keptShare(report, panelRows);
    double panels = double(block::panels(problem.m, panelRows));
    double strips = panels * kept * double(llvm::divideCeil(problem.k, 16));
    addGemmTraffic(cost, config, problem,
                   strips * (double(panelRows) * 32 + 4) + panels * 8, kept, n);
    cost.tensorFlops =
        strips * double(panelRows) * 32 * double(llvm::alignTo(n, 8));
    cost.fixedMicroseconds += 2; // Offsets, then the list, then X.
    // A warp's products are unrolled, and a cold launch fetches its code: the
    // others hide that behind their weights, a list of few strips does not.
    // Fitted to an H200.
    if (config.schedule == Schedule::Stream)
      cost.fixedMicroseconds += 0.02 * config.tilesPerWarp() * config.prefetch *
                                double(config.tileN) / 8;
    return cost;
  }

  llvm::Expected<PackedWeight> pack(const Matrix &weight,
                                    const Strategy &strategy) const override {
    std::optional<int64_t> rows = strategy.get("panel_rows");
    return block::pack(weight,
                       rows ? *rows : decl.find("panel_rows")->defaultValue);
  }
  llvm::Expected<Matrix> unpack(const PackedWeight &packed) const override {
    return block::unpack(packed);
  }

protected:
  /// Share of the strips that panels of so many rows keep; 1 if not counted.
  static double keptShare(const PatternReport &report, int64_t panelRows) {
    const BlockStats *stats = report.findBlock(int(panelRows), 16);
    if (!stats || stats->blocks == 0)
      return 1;
    return double(stats->nonZeroBlocks) / double(stats->blocks);
  }

  SourceShape sourceShape(const Problem &problem, const Strategy &,
                          const PackedWeight *packed) const override {
    SourceShape shape;
    shape.chunkBytesPerTile =
        WeightSource::stripsPerChunk * FragmentSource::fragmentBytes;
    shape.isList = true;
    shape.strips = packed ? packed->attribute("max_strips")
                          : int64_t(llvm::divideCeil(problem.k, 32)) * 2;
    return shape;
  }
  llvm::Error checkOwn(const GemmConfig &config, const Strategy &strategy,
                       const Problem &) const override {
    int64_t panelRows = *strategy.get("panel_rows");
    if (panelRows % config.tileM == 0)
      return llvm::Error::success();
    return makeError("knob 'tile_m' = {0}: must divide panel_rows = {1}",
                     config.tileM, panelRows);
  }
  llvm::Error checkBuffers(const PackedWeight &packed) const override {
    return block::checkBuffers(packed, PackedCheck::Shapes);
  }
  llvm::Error checkPackedFor(const PackedWeight &packed,
                             const Strategy &strategy) const override {
    if (packed.attribute("panel_rows") == *strategy.get("panel_rows"))
      return llvm::Error::success();
    return makeError("knob 'panel_rows' = {0}: the packed weight has {1}",
                     *strategy.get("panel_rows"),
                     packed.attribute("panel_rows"));
  }
  std::unique_ptr<WeightSource>
  makeSource(KernelFrame &frame, const SourceShape &shape,
             const GemmConfig &config, const Strategy &strategy,
             const PackedWeight &packed) const override {
    return std::make_unique<BlockSource>(frame, shape, config.tileM,
                                         *strategy.get("panel_rows"),
                                         packed.attribute("strips"));
  }
  int64_t rowTiles(const GemmConfig &config, const Strategy &strategy,
                   const PackedWeight &packed) const override {
    int64_t panelRows = *strategy.get("panel_rows");
    return block::panels(packed.m, panelRows) * (panelRows / config.tileM);
  }
  /// A panel as tall as the thread block, unless the union of its block rows
  /// would keep far more than panels of 16 rows do.
  bool completeCandidate(Strategy &strategy, const PatternReport &report,
                         const Problem &) const override {
    int64_t tileM = *strategy.get("tile_m");
    if (tileM > 128)
      return false;
    strategy.set("panel_rows", tileM);
    return keptShare(report, tileM) <= 2.5 * keptShare(report, 16);
  }
};

} // namespace

const KernelFamily &sparseditto::blockFamily() {
  static const BlockFamily family;
  return family;
}
