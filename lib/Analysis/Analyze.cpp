//===- Analyze.cpp - Finding the sparsity pattern of a weight -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bands of 128 rows are handed to workers; a worker reads the values of a panel
// once, keeps one bit an element, and counts on the bits while they are in
// cache. Sums do not depend on the order, so neither does the report.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Analysis/Analyze.h"
#include "Counting.h"
#include "Scan.h"
#include "Structure.h"
#include "Verdict.h"
#include "sparseditto/Analysis/NonZeroMask.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ThreadPool.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sparseditto;
using namespace sparseditto::detail;

namespace {

/// Sums over the block rows of one height, for one block width.
struct BlockSums {
  int64_t kept = 0, full = 0, keptElements = 0, fullElements = 0;
  int64_t maxKept = 0, minKept = std::numeric_limits<int64_t>::max();

  void merge(const BlockSums &other) {
    kept += other.kept;
    full += other.full;
    keptElements += other.keptElements;
    fullElements += other.fullElements;
    maxKept = std::max(maxKept, other.maxKept);
    minKept = std::min(minKept, other.minKept);
  }
};

/// What one worker has counted.
class Worker {
public:
  Worker(const Matrix &matrix, NonZeroMask &mask, std::vector<int32_t> &rowNnz,
         bool portable)
      : matrix(matrix), mask(mask), rowNnz(rowNnz), colNnz(matrix.cols),
        scan(scannerFor(matrix.type, portable)),
        countTiles(tileCounter(portable)), countBlocks(blockCounter(portable)),
        panel(std::make_unique<Panel>()), blockRows(blockRowsPerBand) {}

  void band(int64_t firstRow);
  void merge(const Worker &other);

  const Matrix &matrix;
  NonZeroMask &mask;
  std::vector<int32_t> &rowNnz; ///< Shared; every band has its own rows.
  std::vector<int32_t> colNnz;
  ValueCensus census;
  TileCounts tiles;
  BlockSums blocks[maxBlockLog + 1][maxBlockLog + 1]; ///< [row log][col log]
  int64_t lower = 0, upper = 0;

private:
  void bandwidth(int64_t row);
  void reduceBlockRows(int rowsInBand);

  ScanFn scan;
  CountTilesFn countTiles;
  CountBlocksFn countBlocks;
  std::unique_ptr<Panel> panel;
  std::vector<BlockRowCounts> blockRows;
};

} // namespace

void Worker::band(int64_t firstRow) {
  const int rows = int(std::min<int64_t>(panelRows, matrix.rows - firstRow));
  std::fill(blockRows.begin(), blockRows.end(), BlockRowCounts());
  panel->rows = rows;
  for (int64_t col = 0; col < matrix.cols; col += panelCols) {
    panel->cols = int(std::min<int64_t>(panelCols, matrix.cols - col));
    const size_t padded = size_t(panel->paddedWords());
    const size_t words = size_t(panel->cols + 63) / 64;
    for (int r = 0; r < rows; ++r) {
      uint64_t *bits = mask.row(firstRow + r) + col / 64;
      scan(matrix.at(firstRow + r, col), panel->cols, bits, census);
      std::memcpy(panel->words[r], bits, words * 8);
      std::memset(panel->words[r] + words, 0, (padded - words) * 8);
    }
    for (int r = rows; r < (rows + 63) / 64 * 64; ++r)
      std::memset(panel->words[r], 0, padded * 8);
    countTiles(*panel, tiles, colNnz.data() + col);
    countBlocks(*panel, col + panelCols >= matrix.cols, blockRows.data());
  }
  for (int r = 0; r < rows; ++r) {
    // A kept 1 x 1 block is a non-zero.
    rowNnz[size_t(firstRow + r)] = blockRows[size_t(r)].kept[0];
    if (blockRows[size_t(r)].kept[0] != 0)
      bandwidth(firstRow + r);
  }
  reduceBlockRows(rows);
}

void Worker::bandwidth(int64_t row) {
  const uint64_t *bits = mask.row(row);
  int64_t first = 0, last = mask.stride() - 1;
  while (bits[first] == 0)
    ++first;
  while (bits[last] == 0)
    --last;
  int64_t left = first * 64 + llvm::countr_zero(bits[first]);
  int64_t right = last * 64 + 63 - llvm::countl_zero(bits[last]);
  lower = std::max(lower, row - left);
  upper = std::max(upper, right - row);
}

void Worker::reduceBlockRows(int rowsInBand) {
  for (int rowLog = 0; rowLog <= maxBlockLog; ++rowLog) {
    const int height = 1 << rowLog;
    for (int i = 0; i * height < rowsInBand; ++i) {
      const BlockRowCounts &counts =
          blockRows[size_t(blockRowOffset(rowLog) + i)];
      const int64_t inside = std::min(height, rowsInBand - i * height);
      for (int colLog = 0; colLog <= maxBlockLog; ++colLog) {
        const int64_t width = int64_t(1) << colLog;
        const int64_t beyond =
            (matrix.cols + width - 1) / width * width - matrix.cols;
        const int64_t kept = counts.kept[colLog], full = counts.full[colLog];
        BlockSums &sums = blocks[rowLog][colLog];
        sums.kept += kept;
        sums.full += full;
        sums.keptElements +=
            inside * (kept * width - (counts.lastKept[colLog] ? beyond : 0));
        sums.fullElements +=
            inside * (full * width - (counts.lastFull[colLog] ? beyond : 0));
        sums.maxKept = std::max(sums.maxKept, kept);
        sums.minKept = std::min(sums.minKept, kept);
      }
    }
  }
}

static void add(GroupHistogram &into, const GroupHistogram &from) {
  for (size_t log = 0; log < into.size(); ++log)
    for (size_t k = 0; k < into[log].size(); ++k)
      into[log][k] += from[log][k];
}

void Worker::merge(const Worker &other) {
  for (size_t c = 0; c < colNnz.size(); ++c)
    colNnz[c] += other.colNnz[c];
  census.merge(other.census);
  add(tiles.alongRows, other.tiles.alongRows);
  add(tiles.alongCols, other.tiles.alongCols);
  tiles.tiles += other.tiles.tiles;
  for (int r = 0; r <= maxBlockLog; ++r)
    for (int c = 0; c <= maxBlockLog; ++c)
      blocks[r][c].merge(other.blocks[r][c]);
  lower = std::max(lower, other.lower);
  upper = std::max(upper, other.upper);
}

static CountStats countStats(const std::vector<int32_t> &counts) {
  CountStats stats;
  if (counts.empty())
    return stats;
  auto [low, high] = std::minmax_element(counts.begin(), counts.end());
  stats.min = *low;
  stats.max = *high;
  double sum = 0, squares = 0;
  for (int32_t count : counts) {
    sum += count;
    stats.zeros += count == 0;
  }
  stats.mean = sum / double(counts.size());
  for (int32_t count : counts)
    squares += (count - stats.mean) * (count - stats.mean);
  stats.stddev = std::sqrt(squares / double(counts.size()));
  stats.skew = stats.mean == 0 ? 0 : double(stats.max) / stats.mean;
  return stats;
}

static NMStats nmStats(const Worker &total, int log, Axis axis) {
  NMStats stats;
  stats.m = 1 << log;
  stats.axis = axis;
  const bool alongRows = axis == Axis::Rows;
  const int64_t length = alongRows ? total.matrix.cols : total.matrix.rows;
  const int64_t lines = alongRows ? total.matrix.rows : total.matrix.cols;
  stats.groups = lines * ((length + stats.m - 1) / stats.m);
  stats.aligned = length % stats.m == 0;
  const auto &counts =
      (alongRows ? total.tiles.alongRows : total.tiles.alongCols)[size_t(log)];
  stats.histogram.assign(counts.begin(), counts.begin() + stats.m + 1);
  // Tiles were padded with zeros: groups beyond the matrix look empty.
  stats.histogram[0] -= total.tiles.tiles * 64 * (64 >> log) - stats.groups;
  stats.minPerGroup = stats.groups == 0 ? 0 : stats.m;
  for (int k = 0; k <= stats.m; ++k) {
    if (stats.histogram[size_t(k)] == 0)
      continue;
    stats.minPerGroup = std::min(stats.minPerGroup, k);
    stats.maxPerGroup = k;
    if (k > stats.m / 2)
      stats.violatingGroups += stats.histogram[size_t(k)];
  }
  stats.excessWeights = stats.excessOver(stats.m / 2);
  return stats;
}

static BlockStats blockStats(const Worker &total, int rowLog, int colLog) {
  const BlockSums &sums = total.blocks[rowLog][colLog];
  BlockStats stats;
  stats.r = 1 << rowLog;
  stats.c = 1 << colLog;
  stats.blocks = ((total.matrix.rows + stats.r - 1) / stats.r) *
                 ((total.matrix.cols + stats.c - 1) / stats.c);
  stats.nonZeroBlocks = sums.kept;
  stats.fullBlocks = sums.full;
  stats.keptElements = sums.keptElements;
  stats.fullElements = sums.fullElements;
  stats.maxBlocksPerRow = sums.maxKept;
  stats.minBlocksPerRow = stats.blocks == 0 ? 0 : sums.minKept;
  return stats;
}

llvm::Expected<PatternReport>
sparseditto::analyze(const Matrix &matrix, const AnalyzeOptions &options) {
  llvm::Expected<NonZeroMask> mask =
      NonZeroMask::allocate(matrix.rows, matrix.cols);
  if (!mask)
    return mask.takeError();

  PatternReport report;
  report.matrixName = matrix.name;
  report.sourceFile = matrix.sourceFile;
  report.type = matrix.type;
  report.rows = matrix.rows;
  report.cols = matrix.cols;
  report.originalShape = matrix.originalShape;
  report.rowNnz.resize(size_t(matrix.rows));

  const bool empty = matrix.rows == 0 || matrix.cols == 0;
  const int64_t bands = empty ? 0 : (matrix.rows + panelRows - 1) / panelRows;
  // Below a million elements starting threads costs more than they save.
  const int64_t useful = matrix.rows * matrix.cols < (1 << 20) ? 1 : bands;
  unsigned threads =
      llvm::hardware_concurrency(options.threads).compute_thread_count();
  threads = unsigned(std::clamp<int64_t>(useful, 1, threads));

  std::vector<Worker> workers;
  workers.reserve(threads);
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back(matrix, *mask, report.rowNnz, options.portable);
  std::atomic<int64_t> next = 0;
  auto work = [&](Worker &worker) {
    for (int64_t band; (band = next.fetch_add(1)) < bands;)
      worker.band(band * panelRows);
  };
  if (threads == 1) {
    work(workers[0]);
  } else {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
    for (Worker &worker : workers)
      pool.async([&work, &worker] { work(worker); });
    pool.wait();
    for (unsigned i = 1; i < threads; ++i)
      workers[0].merge(workers[i]);
  }

  const Worker &total = workers[0];
  for (int32_t count : report.rowNnz)
    report.nnz += count;
  report.negativeZeros = total.census.negativeZeros;
  report.nanCount = total.census.nans;
  report.infCount = total.census.infinities;
  report.subnormalCount = total.census.subnormals;
  report.maxAbs = total.census.maxAbs(matrix.type);
  report.colNnz = total.colNnz;
  report.rowCounts = countStats(report.rowNnz);
  report.colCounts = countStats(report.colNnz);
  for (Axis axis : {Axis::Rows, Axis::Cols})
    for (int log = 1; log <= maxGroupLog; ++log)
      report.nm.push_back(nmStats(total, log, axis));
  for (int r = 0; r <= maxBlockLog; ++r)
    for (int c = 0; c <= maxBlockLog; ++c) {
      BlockStats stats = blockStats(total, r, c);
      if (stats.keptElements != 0)
        stats.fill = double(report.nnz) / double(stats.keptElements);
      report.blocks.push_back(stats);
    }
  report.lowerBandwidth = total.lower;
  report.upperBandwidth = total.upper;
  findStructure(*mask, report);
  decide(report);
  return report;
}
