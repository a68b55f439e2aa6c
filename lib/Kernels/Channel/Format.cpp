//===- Format.cpp - The packed format channel-fragment --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "sparseditto/Support/Error.h"
#include "llvm/Support/Endian.h"

using namespace sparseditto;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::write16le;
using llvm::support::endian::write32le;

int64_t channel::Extent::numBytes() const {
  int64_t bytes = mTiles() * strips() * FragmentSource::fragmentBytes;
  if (!allColumns())
    bytes += strips() * runsPerStrip() * 4;
  if (!allRows())
    bytes += m * 4;
  return bytes;
}

static int64_t countRuns(llvm::ArrayRef<bool> kept, int64_t run) {
  int64_t count = 0;
  for (size_t first = 0; first < kept.size(); first += run)
    count += llvm::is_contained(kept.slice(first).take_front(run), true);
  return count;
}

channel::Extent channel::extentOf(llvm::ArrayRef<bool> rowKept,
                                  llvm::ArrayRef<bool> columnKept,
                                  int64_t run) {
  Extent extent;
  extent.m = int64_t(rowKept.size());
  extent.k = int64_t(columnKept.size());
  extent.keptRows = llvm::count(rowKept, true);
  extent.run = run;
  extent.keptRuns = countRuns(columnKept, run);
  return extent;
}

int64_t channel::bestRun(llvm::ArrayRef<bool> columnKept) {
  int64_t k = int64_t(columnKept.size());
  int64_t columns = llvm::count(columnKept, true);
  auto pays = [&](int64_t width) { return width * 10 <= k * 9; };
  // A run may bring up to a quarter more columns than are kept: moving X in
  // pieces of 16 bytes saves more than their weights cost. But not so many that
  // leaving columns out no longer pays, if single ones do.
  for (int64_t run : {16, 8}) {
    int64_t width = std::min(countRuns(columnKept, run) * run, k);
    if (width * 4 <= columns * 5 && (pays(width) || !pays(columns)))
      return run;
  }
  return pays(columns) ? 1 : KStrips::width;
}

channel::Extent channel::extentOf(const PackedWeight &packed) {
  Extent extent;
  extent.m = packed.m;
  extent.k = packed.k;
  extent.keptRows = packed.attribute("kept_rows");
  extent.run = packed.attribute("run");
  extent.keptRuns = packed.attribute("kept_runs");
  return extent;
}

/// The columns of W of the columns of `values`; -1 for padding, which includes
/// what a last run has beyond K.
static std::vector<int64_t> columnMap(const channel::Extent &extent,
                                      llvm::ArrayRef<int64_t> runs) {
  std::vector<int64_t> map(size_t(extent.strips()) * KStrips::width, -1);
  for (auto [i, first] : llvm::enumerate(runs))
    for (int64_t c = 0; c < extent.run && first + c < extent.k; ++c)
      map[i * size_t(extent.run) + size_t(c)] = first + c;
  return map;
}

llvm::Expected<PackedWeight> channel::pack(const Matrix &weight, int64_t run) {
  if (llvm::Error error = checkPackable(weight))
    return error;
  llvm::SmallVector<bool, 0> rowKept(weight.rows), columnKept(weight.cols);
  for (int64_t r = 0; r < weight.rows; ++r)
    for (int64_t c = 0; c < weight.cols; ++c)
      if (read16le(weight.at(r, c)) & 0x7fff)
        rowKept[r] = columnKept[c] = true;
  Extent extent = extentOf(rowKept, columnKept, run);

  std::vector<int64_t> rows, goneRows, runs;
  for (int64_t r = 0; r < weight.rows; ++r)
    (rowKept[r] ? rows : goneRows).push_back(r);
  for (int64_t c = 0; c < weight.cols; c += extent.run)
    if (llvm::is_contained(
            llvm::ArrayRef<bool>(columnKept).slice(c).take_front(extent.run),
            true))
      runs.push_back(c);

  auto kept = Matrix::allocate(weight.name, weight.type, extent.mTiles() * 16,
                               extent.strips() * KStrips::width);
  if (!kept)
    return kept.takeError();
  std::vector<int64_t> columns = columnMap(extent, runs);
  for (auto [i, row] : llvm::enumerate(rows))
    for (auto [j, column] : llvm::enumerate(columns))
      if (column >= 0)
        write16le(kept->mutableData() + (i * columns.size() + j) * 2,
                  read16le(weight.at(row, column)));

  PackedWeight packed = PackedWeight::start(formatName, formatVersion, weight);
  packed.setAttribute("run", extent.run);
  packed.setAttribute("kept_runs", extent.keptRuns);
  packed.setAttribute("kept_rows", extent.keptRows);
  PackedBuffer values = makeBuffer("values", weight.type,
                                   {extent.mTiles(), extent.strips(), 32, 8});
  for (int64_t tile = 0; tile < extent.mTiles(); ++tile)
    for (int64_t strip = 0; strip < extent.strips(); ++strip)
      packFragment(*kept, tile * 16, strip * KStrips::width,
                   &values.bytes[size_t(tile * extent.strips() + strip) *
                                 FragmentSource::fragmentBytes]);
  packed.buffers.push_back(std::move(values));
  auto addList = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> entries) {
    PackedBuffer list =
        makeBuffer(name, ElementType::U32, {int64_t(entries.size())});
    for (auto [i, entry] : llvm::enumerate(entries))
      write32le(&list.bytes[i * 4], uint32_t(entry));
    packed.buffers.push_back(std::move(list));
  };
  if (!extent.allColumns()) {
    runs.resize(size_t(extent.strips() * extent.runsPerStrip()),
                int64_t(llvm::alignTo(extent.k, extent.run)));
    addList("columns", runs);
  }
  if (!extent.allRows()) {
    llvm::append_range(rows, goneRows);
    addList("rows", rows);
  }
  return packed;
}

/// Entry `i` of a u32 list.
static int64_t entry(const PackedBuffer &list, int64_t i) {
  return read32le(&list.bytes[size_t(i) * 4]);
}

static llvm::Error checkColumns(const channel::Extent &extent,
                                const PackedBuffer &columns) {
  int64_t padding = int64_t(llvm::alignTo(extent.k, extent.run));
  for (int64_t i = 0; i < columns.shape[0]; ++i) {
    int64_t column = entry(columns, i);
    if (i >= extent.keptRuns) {
      if (column != padding)
        return makeError("packed format '{0}': columns[{1}] is {2}, expected "
                         "{3} as padding",
                         channel::formatName, i, column, padding);
      continue;
    }
    int64_t least = i == 0 ? 0 : entry(columns, i - 1) + extent.run;
    if (column < least || column >= extent.k || column % extent.run != 0)
      return makeError("packed format '{0}': columns[{1}] is {2}, expected a "
                       "multiple of {3} from {4} to {5}",
                       channel::formatName, i, column, extent.run, least,
                       extent.k - 1);
  }
  return llvm::Error::success();
}

static llvm::Error checkRows(const channel::Extent &extent,
                             const PackedBuffer &rows) {
  std::vector<bool> seen(size_t(extent.m));
  for (int64_t i = 0; i < extent.m; ++i) {
    int64_t row = entry(rows, i);
    bool first = i == 0 || i == extent.keptRows;
    if (row >= extent.m || seen[size_t(row)] ||
        (!first && row < entry(rows, i - 1)))
      return makeError("packed format '{0}': rows[{1}] is {2}, expected the "
                       "{3} kept rows of {4} ascending, then the others",
                       channel::formatName, i, row, extent.keptRows, extent.m);
    seen[size_t(row)] = true;
  }
  return llvm::Error::success();
}

llvm::Error channel::checkBuffers(const PackedWeight &packed,
                                  PackedCheck check) {
  if (llvm::Error error = checkPackedHeader(packed, formatName, formatVersion))
    return error;
  Extent extent = extentOf(packed);
  if (extent.run != 16 && extent.run != 8 && extent.run != 1)
    return makeError("packed format '{0}': run is {1}, expected 16, 8 or 1",
                     formatName, extent.run);
  int64_t runsOfK = (extent.k + extent.run - 1) / extent.run;
  if (extent.keptRuns < 0 || extent.keptRuns > runsOfK)
    return makeError("packed format '{0}': kept_runs is {1}, expected 0 to {2}",
                     formatName, extent.keptRuns, runsOfK);
  if (extent.keptRows < 0 || extent.keptRows > extent.m)
    return makeError("packed format '{0}': kept_rows is {1}, expected 0 to {2}",
                     formatName, extent.keptRows, extent.m);
  if (llvm::Error error =
          checkedBuffer(packed, "values", packed.type,
                        {extent.mTiles(), extent.strips(), 32, 8}, check)
              .takeError())
    return error;
  if (packed.buffers.size() !=
      size_t(1 + !extent.allColumns() + !extent.allRows()))
    return makeError("packed format '{0}': {1} buffers, expected values{2}{3}",
                     formatName, packed.buffers.size(),
                     extent.allColumns() ? "" : ", columns",
                     extent.allRows() ? "" : ", rows");
  if (!extent.allColumns()) {
    auto columns =
        checkedBuffer(packed, "columns", ElementType::U32,
                      {extent.strips() * extent.runsPerStrip()}, check);
    if (!columns)
      return columns.takeError();
    if (check == PackedCheck::Contents)
      if (llvm::Error error = checkColumns(extent, **columns))
        return error;
  }
  if (!extent.allRows()) {
    auto rows =
        checkedBuffer(packed, "rows", ElementType::U32, {extent.m}, check);
    if (!rows)
      return rows.takeError();
    if (check == PackedCheck::Contents)
      if (llvm::Error error = checkRows(extent, **rows))
        return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Matrix> channel::unpack(const PackedWeight &packed) {
  if (llvm::Error error = checkBuffers(packed, PackedCheck::Contents))
    return error;
  Extent extent = extentOf(packed);
  auto weight = Matrix::allocate("unpacked", packed.type, packed.m, packed.k);
  if (!weight)
    return weight.takeError();
  auto kept = Matrix::allocate("kept", packed.type, extent.mTiles() * 16,
                               extent.strips() * KStrips::width);
  if (!kept)
    return kept.takeError();
  const PackedBuffer &values = *packed.find("values");
  for (int64_t tile = 0; tile < extent.mTiles(); ++tile)
    for (int64_t strip = 0; strip < extent.strips(); ++strip)
      if (llvm::Error error = unpackFragment(
              &values.bytes[size_t(tile * extent.strips() + strip) *
                            FragmentSource::fragmentBytes],
              *kept, tile * 16, strip * KStrips::width, formatName))
        return error;

  const PackedBuffer *rows = packed.find("rows");
  const PackedBuffer *list = packed.find("columns");
  std::vector<int64_t> runs;
  for (int64_t i = 0; i < extent.keptRuns; ++i)
    runs.push_back(list ? entry(*list, i) : i * extent.run);
  std::vector<int64_t> columns = columnMap(extent, runs);
  for (int64_t i = 0; i < kept->rows; ++i)
    for (auto [j, column] : llvm::enumerate(columns)) {
      uint16_t bits = read16le(kept->at(i, int64_t(j)));
      if ((bits & 0x7fff) == 0)
        continue;
      if (i >= extent.keptRows || column < 0)
        return makeError("packed format '{0}': a non-zero in the padding, at "
                         "row {1}, column {2} of the kept part",
                         formatName, i, j);
      int64_t row = rows ? entry(*rows, i) : i;
      write16le(weight->mutableData() +
                    (size_t(row) * size_t(packed.k) + size_t(column)) * 2,
                bits);
    }
  return weight;
}
