//===- Family.cpp - The family channel: whole rows or columns gone --------===//
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

/// Largest share of the weights that may remain: above it gathering X and
/// scattering Y cost more than the zeros.
constexpr double maxKeptShare = 0.9;

/// What a thread needs to gather single columns of token-major X.
constexpr unsigned gatherRegisters = 24;

class ChannelSource : public FragmentSource {
public:
  ChannelSource(KernelFrame &frame, const SourceShape &shape, unsigned tileM,
                const channel::Extent &extent)
      : FragmentSource(frame, shape, tileM), extent(extent) {}

  void begin(Val rowTile) override {
    Val first = rowTile * tilesPerBlock;
    firstRow = first * 16;
    stripStride = fragmentBytes;
    tileStride = extent.strips() * fragmentBytes;
    base = e.ptrAdd(frame.packed("values"), e.sextI64(first) * tileStride);
    // m-tiles beyond the last read the last one again; nothing is stored.
    if (extent.mTiles() % tilesPerBlock != 0)
      lastTile = e.i32(extent.mTiles() - 1) - first;
  }
  KStrips strips() override {
    KStrips strips{e.i32(extent.strips()), extent.strips(), nullptr};
    if (extent.allColumns())
      return strips;
    Val columns = frame.packed("columns");
    strips.run = unsigned(extent.run);
    strips.column = [this, columns](Val index) {
      return e.load(e.i32Type(), e.ptrAdd(columns, index * 4), 0, 4);
    };
    strips.octet = [this, columns](Val index) {
      Val pointer = e.ptrAdd(columns, index * 32);
      llvm::SmallVector<Val> result;
      for (unsigned half = 0; half < 2; ++half) {
        Val quad = e.load(e.vecType(4, e.i32Type()), pointer, half * 16, 16);
        for (unsigned i = 0; i < 4; ++i)
          result.push_back(e.extract(quad, i));
      }
      return result;
    };
    return strips;
  }
  Val outputRow() override { return firstRow; }

  int64_t productRows() const override { return extent.keptRows; }
  bool scattersRows() const override { return !extent.allRows(); }
  Val rowOfY(Val row) override {
    if (extent.allRows())
      return row;
    return e.load(e.i32Type(), e.ptrAdd(frame.packed("rows"), row * 4), 0, 4);
  }

private:
  channel::Extent extent;
  Val firstRow;
};

FamilyDeclaration declare() {
  FamilyDeclaration decl = gemmDeclaration(
      "channel",
      "the kept rows and columns as a smaller dense product on "
      "tensor cores, X gathered and Y scattered by index lists",
      "weights with whole rows or columns of zeros, at most 90 % of "
      "the weights outside of them");
  decl.knobs.push_back({"run",
                        {1, 8, 16},
                        1,
                        "Columns that are kept together, aligned; 8 and 16 "
                        "read X in 16-byte pieces but keep gone columns "
                        "between kept ones.",
                        {},
                        /*affectsPacking=*/true});
  return decl;
}

class ChannelFamily : public GemmFamily {
public:
  ChannelFamily()
      : GemmFamily(declare(), channel::formatName, channel::formatVersion) {}

  llvm::Error accepts(const PatternReport &report,
                      const Problem &problem) const override {
    if (llvm::Error error = checkType(decl, problem))
      return error;
    if (report.rowCounts.zeros == 0 && report.colCounts.zeros == 0)
      return makeError("{0}: no row and no column is all zero", decl.name);
    channel::Extent extent = bestExtent(report, problem);
    double share = double(extent.keptRows) / double(problem.m) *
                   double(extent.keptRuns * extent.run) / double(problem.k);
    if (share <= maxKeptShare)
      return llvm::Error::success();
    return makeError("{0}: {1} of {2} rows and {3} of {4} columns are kept, "
                     "expected at most {5} % of the weights",
                     decl.name, extent.keptRows, problem.m,
                     std::min(extent.keptRuns * extent.run, problem.k),
                     problem.k, int(maxKeptShare * 100));
  }

  /// The shared candidates of the kept part.
  std::vector<Strategy> candidates(const PatternReport &report,
                                   const Problem &problem,
                                   unsigned computeCapability) const override {
    Problem kept = keptProblem(bestExtent(report, problem), problem);
    std::vector<Strategy> result;
    for (Strategy &strategy :
         GemmFamily::candidates(report, kept, computeCapability)) {
      // A ring of one stage holds for the kept part; check() does not know it,
      // and with more stages the kernel uses no more than K needs.
      if (*strategy.get("stages") == 1)
        strategy.set("stages", 2);
      if (llvm::Error error = check(strategy, problem, computeCapability))
        llvm::consumeError(std::move(error));
      else if (!llvm::is_contained(result, strategy))
        result.push_back(std::move(strategy));
    }
    return result;
  }

  CostModel cost(const PatternReport &report, const Problem &problem,
                 const Strategy &strategy, int64_t n) const override {
    CostModel cost;
    GemmConfig config = GemmConfig::read(strategy, decl);
    channel::Extent extent = extentOf(report, problem, *strategy.get("run"));
    Problem kept = keptProblem(extent, problem);
    addGemmTraffic(cost, config, kept, double(extent.numBytes()), 1, n);
    // Single columns of token-major X come in whole sectors of memory.
    if (extent.run == 1 && problem.layout == Layout::TokenMajor)
      cost.activationBytes +=
          double(problem.k - kept.k) * double(n) * byteSize(problem.type);
    cost.activationBytes += double(problem.m - kept.m) * double(n) *
                            byteSize(problem.outputType) *
                            (problem.epilogue.residual ? 2 : 1);
    cost.tensorFlops = double(extent.mTiles() * extent.strips()) * 512 *
                       double(llvm::alignTo(n, 8));
    // Columns before X.
    if (!extent.allColumns())
      cost.fixedMicroseconds += 2.3;
    return cost;
  }

  llvm::Expected<PackedWeight> pack(const Matrix &weight,
                                    const Strategy &strategy) const override {
    std::optional<int64_t> run = strategy.get("run");
    return channel::pack(weight, run ? *run : decl.find("run")->defaultValue);
  }
  llvm::Expected<Matrix> unpack(const PackedWeight &packed) const override {
    return channel::unpack(packed);
  }

protected:
  /// Which of `size` rows or columns are kept; all if they are not counted.
  static llvm::SmallVector<bool, 0> keptMask(llvm::ArrayRef<int32_t> counts,
                                             int64_t size) {
    llvm::SmallVector<bool, 0> mask(size, true);
    if (int64_t(counts.size()) == size)
      for (auto [i, count] : llvm::enumerate(counts))
        mask[i] = count != 0;
    return mask;
  }
  /// What pack() will keep.
  static channel::Extent extentOf(const PatternReport &report,
                                  const Problem &problem, int64_t run) {
    return channel::extentOf(keptMask(report.rowNnz, problem.m),
                             keptMask(report.colNnz, problem.k), run);
  }
  static channel::Extent bestExtent(const PatternReport &report,
                                    const Problem &problem) {
    return extentOf(report, problem,
                    channel::bestRun(keptMask(report.colNnz, problem.k)));
  }
  /// The dense product inside.
  static Problem keptProblem(const channel::Extent &extent,
                             const Problem &problem) {
    Problem kept = problem;
    kept.m = std::max<int64_t>(1, extent.keptRows);
    kept.k = std::clamp<int64_t>(extent.keptRuns * extent.run, 1, problem.k);
    return kept;
  }

  SourceShape sourceShape(const Problem &problem, const Strategy &strategy,
                          const PackedWeight *packed) const override {
    SourceShape shape;
    shape.chunkBytesPerTile =
        WeightSource::stripsPerChunk * FragmentSource::fragmentBytes;
    shape.strips = packed ? channel::extentOf(*packed).strips()
                          : int64_t(llvm::divideCeil(problem.k, 32)) * 2;
    if (*strategy.get("run") == 1 && problem.layout == Layout::TokenMajor)
      shape.stagingRegisters = gatherRegisters;
    return shape;
  }
  llvm::Error checkBuffers(const PackedWeight &packed) const override {
    return channel::checkBuffers(packed, PackedCheck::Shapes);
  }
  llvm::Error checkPackedFor(const PackedWeight &packed,
                             const Strategy &strategy) const override {
    if (packed.attribute("run") == *strategy.get("run"))
      return llvm::Error::success();
    return makeError("knob 'run' = {0}: the packed weight has {1}",
                     *strategy.get("run"), packed.attribute("run"));
  }
  bool completeCandidate(Strategy &strategy, const PatternReport &report,
                         const Problem &) const override {
    strategy.set(
        "run", channel::bestRun(keptMask(report.colNnz, int64_t(report.cols))));
    return true;
  }
  std::unique_ptr<WeightSource>
  makeSource(KernelFrame &frame, const SourceShape &shape,
             const GemmConfig &config, const Strategy &,
             const PackedWeight &packed) const override {
    return std::make_unique<ChannelSource>(frame, shape, config.tileM,
                                           channel::extentOf(packed));
  }
  int64_t rowTiles(const GemmConfig &config, const Strategy &,
                   const PackedWeight &packed) const override {
    channel::Extent extent = channel::extentOf(packed);
    int64_t tileM = config.tileM;
    return int64_t(llvm::divideCeil(extent.keptRows, tileM) +
                   llvm::divideCeil(extent.m - extent.keptRows, tileM));
  }
};

} // namespace

const KernelFamily &sparseditto::channelFamily() {
  static const ChannelFamily family;
  return family;
}
