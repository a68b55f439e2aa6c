//===- Family.cpp - The family dense: fragments on tensor cores -----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "sparseditto/Kernels/Families.h"
#include "sparseditto/Kernels/Limits.h"

using namespace sparseditto;

namespace {

class DenseSource : public FragmentSource {
public:
  using FragmentSource::FragmentSource;

  void begin(Val rowTile) override {
    int64_t tiles = dense::mTiles(frame.problem().m);
    count = dense::strips(frame.problem().k);
    Val first = rowTile * tilesPerBlock;
    firstRow = first * 16;
    stripStride = fragmentBytes;
    tileStride = count * fragmentBytes;
    base = e.ptrAdd(frame.packed("values"), e.sextI64(first) * tileStride);
    // Row tiles beyond the last read the last one again; nothing is stored.
    if (tiles % tilesPerBlock != 0)
      lastTile = e.i32(tiles - 1) - first;
  }
  KStrips strips() override { return {e.i32(count), count, nullptr}; }
  Val outputRow() override { return firstRow; }

private:
  int64_t count = 0;
  Val firstRow;
};

FamilyDeclaration declare() {
  return gemmDeclaration(
      "dense",
      "all weights, zeros included, in fragment order on tensor "
      "cores; the fallback where no pattern pays",
      "every weight");
}

class DenseFamily : public GemmFamily {
public:
  DenseFamily()
      : GemmFamily(declare(), dense::formatName, dense::formatVersion) {}

  llvm::Error accepts(const PatternReport &,
                      const Problem &problem) const override {
    return checkType(decl, problem);
  }

  CostModel cost(const PatternReport &, const Problem &problem,
                 const Strategy &strategy, int64_t n) const override {
    CostModel cost;
    GemmConfig config = GemmConfig::read(strategy, decl);
    double fragments =
        double(dense::mTiles(problem.m)) * double(dense::strips(problem.k));
    addGemmTraffic(cost, config, problem,
                   fragments * FragmentSource::fragmentBytes, 1, n);
    cost.tensorFlops = fragments * 512 * double(llvm::alignTo(n, 8));
    return cost;
  }

  llvm::Expected<PackedWeight> pack(const Matrix &weight,
                                    const Strategy &) const override {
    return dense::pack(weight);
  }
  llvm::Expected<Matrix> unpack(const PackedWeight &packed) const override {
    return dense::unpack(packed);
  }

protected:
  SourceShape sourceShape(const Problem &problem, const Strategy &,
                          const PackedWeight *) const override {
    SourceShape shape;
    shape.chunkBytesPerTile =
        WeightSource::stripsPerChunk * FragmentSource::fragmentBytes;
    shape.strips = dense::strips(problem.k);
    return shape;
  }
  llvm::Error checkBuffers(const PackedWeight &packed) const override {
    return dense::checkBuffers(packed, PackedCheck::Shapes);
  }
  std::unique_ptr<WeightSource>
  makeSource(KernelFrame &frame, const SourceShape &shape,
             const GemmConfig &config, const Strategy &,
             const PackedWeight &) const override {
    return std::make_unique<DenseSource>(frame, shape, config.tileM);
  }
};

} // namespace

const KernelFamily &sparseditto::denseFamily() {
  static const DenseFamily family;
  return family;
}
