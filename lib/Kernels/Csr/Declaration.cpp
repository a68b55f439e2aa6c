//===- Declaration.cpp - What csr accepts, its knobs and its cost ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Csr.h"
#include "sparseditto/Kernels/Families.h"
#include "sparseditto/Kernels/Limits.h"
#include "sparseditto/Support/Error.h"
#include <algorithm>
#include <cmath>

using namespace sparseditto;

static FamilyDeclaration makeDeclaration() {
  FamilyDeclaration d;
  d.name = "csr";
  d.summary = "index-based product on the CUDA cores, one warp a row, four "
              "non-zeros a step, X gathered from shared memory";
  d.accepts = "any pattern with at most 65528 columns; pays at N = 1 above "
              "about 70 % zeros and up to N = 16 above about 90 %";
  d.types = {ElementType::F16, ElementType::BF16, ElementType::F32};
  d.knobs = {
      {"tile_n",
       {1, 2, 4, 8, 16},
       1,
       "tokens a block serves; X of that many tokens is staged once",
       {},
       false},
      {"warps", {8, 16, 32}, 16, "warps a block, each with one row", {}, false},
      {"prefetch",
       {1, 2, 4, 8},
       4,
       "quads a lane loads before it waits for X",
       {},
       false},
      {"x_source",
       {csr::Shared, csr::Global},
       csr::Shared,
       "gather X from shared memory or, where K is too long for it, from "
       "global memory",
       {"shared", "global"},
       false},
      {"split",
       {16, 64, 256, 1024},
       1024,
       "quads of a row above which 2, 4 or 8 warps share it",
       {},
       true},
      {"bank_order",
       {8, 32},
       32,
       "shared-memory banks that the order of a row's non-zeros spreads over: "
       "32 suits tile_n 1 and 2, 8 the wider tiles",
       {},
       true},
  };
  return d;
}

/// Which banks matter: see csr-quad's description.
static int64_t bestBankOrder(int64_t tileN) { return tileN <= 2 ? 32 : 8; }

namespace {
class CsrFamily : public KernelFamily {
public:
  const FamilyDeclaration &declaration() const override {
    static const FamilyDeclaration d = makeDeclaration();
    return d;
  }

  llvm::Error accepts(const PatternReport &report,
                      const Problem &problem) const override {
    if (llvm::Error error = checkProblem(problem))
      return error;
    // 16-byte quads addressed with 31-bit indices.
    if (report.nnz / 4 + report.rows > INT32_MAX)
      return makeError("csr: {0} non-zeros are too many", report.nnz);
    return llvm::Error::success();
  }

  llvm::Error check(const Strategy &strategy, const Problem &problem,
                    unsigned computeCapability) const override {
    if (llvm::Error error =
            KernelFamily::check(strategy, problem, computeCapability))
      return error;
    if (llvm::Error error = checkProblem(problem))
      return error;
    if (llvm::Error error = checkOutputType(declaration(), problem))
      return error;
    const int64_t tileN = *strategy.get("tile_n");
    if (*strategy.get("x_source") == csr::Shared)
      return checkSharedMemory("csr",
                               csr::stagedBytes(problem, tileN) +
                                   *strategy.get("warps") * tileN * 4,
                               computeCapability, "tile_n");
    return llvm::Error::success();
  }

  std::vector<Strategy> candidates(const PatternReport &report,
                                   const Problem &problem,
                                   unsigned computeCapability) const override;
  CostModel cost(const PatternReport &report, const Problem &problem,
                 const Strategy &strategy, int64_t n) const override;

  llvm::Expected<PackedWeight> pack(const Matrix &weight,
                                    const Strategy &strategy) const override {
    return csr::pack(weight, strategy);
  }
  llvm::Expected<Matrix> unpack(const PackedWeight &packed) const override {
    return csr::unpack(packed);
  }
  llvm::Expected<BuiltKernel>
  build(mlir::MLIRContext &context, const Problem &problem,
        const Strategy &strategy, const PackedWeight &packed,
        unsigned computeCapability, llvm::StringRef symbol) const override {
    if (llvm::Error error = check(strategy, problem, computeCapability))
      return error;
    return csr::build(context, problem, strategy, packed, symbol);
  }

private:
  llvm::Error checkProblem(const Problem &problem) const {
    if (llvm::Error error = checkType(declaration(), problem))
      return error;
    if (problem.k > csr::maxColumns)
      return makeError("csr: expected at most {0} columns, got {1}",
                       csr::maxColumns, problem.k);
    return llvm::Error::success();
  }
};
} // namespace

std::vector<Strategy> CsrFamily::candidates(const PatternReport &report,
                                            const Problem &problem,
                                            unsigned computeCapability) const {
  std::vector<Strategy> result;
  const int64_t n = problem.tuneN;
  int64_t tile = 1;
  while (tile < n && tile < 16)
    tile *= 2;
  const double meanQuads = std::max(1.0, report.rowCounts.mean / 4);
  const double maxQuads = double(report.rowCounts.max) / 4;
  // Where one row would outlast the others several times, share it.
  const int64_t split = maxQuads > 4 * meanQuads && maxQuads > 64 ? 64 : 1024;
  // Both orders, so that one packed copy can serve every N; the better first.
  auto addOrder = [&](int64_t tileN, int64_t warps, int64_t source,
                      int64_t order) {
    Strategy s = declaration().defaults();
    s.set("tile_n", tileN);
    s.set("warps", warps);
    s.set("x_source", source);
    s.set("split", split);
    s.set("bank_order", order);
    const double steps = meanQuads / 32;
    s.set("prefetch", steps <= 1 ? 1 : steps <= 2 ? 2 : 4);
    if (llvm::Error error = check(s, problem, computeCapability))
      llvm::consumeError(std::move(error));
    else if (!llvm::is_contained(result, s))
      result.push_back(std::move(s));
  };
  auto add = [&](int64_t tileN, int64_t warps, int64_t source) {
    addOrder(tileN, warps, source, bestBankOrder(tileN));
    addOrder(tileN, warps, source, bestBankOrder(tileN) == 32 ? 8 : 32);
  };
  for (int64_t tileN : {tile, tile / 2, tile / 4})
    if (tileN >= 1) {
      add(tileN, tileN >= 8 ? 32 : 16, csr::Shared);
      add(tileN, 8, csr::Shared);
    }
  if (result.empty())
    add(std::min<int64_t>(tile, 8), 8, csr::Global);
  return result;
}

/// How often a block waits for X beyond what a block of one token does. Copies
/// that are as contiguous in X as in shared memory are in flight all at once;
/// others, and gathered elements, go round by round.
static double stagingRoundTrips(const Problem &problem, int64_t tileN,
                                int64_t warps, int64_t n) {
  const int64_t element = byteSize(problem.type), threads = warps * 32;
  const bool isTokenMajor = problem.layout == Layout::TokenMajor;
  auto rounds = [&](int64_t pieces) {
    return double((pieces + threads - 1) / threads);
  };
  if (tileN == 1) {
    const bool isContiguous =
        isTokenMajor ? problem.k * element % 16 == 0 : n == 1;
    return isContiguous ? 0 : 1 + rounds(problem.k);
  }
  const int64_t rowBytes = tileN * element;
  if (!isTokenMajor && rowBytes % 16 == 0 && n * element % 16 == 0)
    return n == tileN ? 0.5 * double(rowBytes / 16)
                      : 1 + rounds(problem.k * (rowBytes / 16));
  // A thread holds the loads of 16 bytes of a row at a time.
  return 1 + rounds(problem.k) * double(std::max<int64_t>(1, rowBytes / 16));
}

CostModel CsrFamily::cost(const PatternReport &report, const Problem &problem,
                          const Strategy &strategy, int64_t n) const {
  CostModel cost;
  const double element = byteSize(problem.type);
  const int64_t tileN = *strategy.get("tile_n");
  const int64_t warps = *strategy.get("warps");
  // Rows are padded to quads: half a quad a row on average.
  const double padded = double(report.nnz) + 2.0 * double(report.rows);
  const double tiles = double((n + tileN - 1) / tileN);
  cost.weightBytes = padded * (element + 2) + 16.0 * double(report.rows);
  cost.activationBytes =
      double(n) * (element * double(problem.k) +
                   byteSize(problem.outputType) * double(problem.m));
  // Unpacking a non-zero costs about as much as two tokens' multiply-adds.
  cost.fmaFlops = 2.0 * padded * tiles * double(tileN + 2);
  // Bank conflicts of the other order.
  if (*strategy.get("bank_order") != bestBankOrder(tileN))
    cost.fmaFlops *= 1.3;
  cost.blocks = std::ceil(double(report.rows) / double(warps)) * tiles;
  cost.threadsPerBlock = unsigned(warps * 32);
  // What ptxas gives, up to what the block leaves a thread.
  cost.registersPerThread =
      unsigned(std::min<int64_t>(24 + 4 * tileN, 65536 / (warps * 32)));
  // Extents of the rows, then quads, then X: at one token nothing hides that
  // each waits for the one before. Fitted to an H200.
  cost.fixedMicroseconds = 0.4 + 0.05 * double(tileN) + (tileN == 1 ? 0.7 : 0);
  if (*strategy.get("x_source") == csr::Global) {
    cost.l2Bytes = double(report.nnz) * double(n) * 32;
    return cost;
  }
  const double staged = double(csr::stagedBytes(problem, tileN));
  cost.sharedBytesPerBlock = staged + double(warps * tileN) * 4;
  cost.l2Bytes = cost.blocks * staged + (tiles - 1) * cost.weightBytes;
  // A warp reads whole words; the two halves of a row of 32 bytes fall on the
  // same banks.
  const double row = std::max(4.0, double(tileN) * element);
  cost.sharedBytes = padded * tiles * row * (row > 16 ? 3.5 : 1.0);
  cost.roundTrips = stagingRoundTrips(problem, tileN, warps, n);
  return cost;
}

const KernelFamily &sparseditto::csrFamily() {
  static const CsrFamily family;
  return family;
}
