//===- Format.cpp - The packed format bsr-fragment ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include <numeric>

using namespace sparseditto;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::write32le;

static constexpr int64_t stripColumns = KStrips::width;
/// Stored strips of a weight without non-zeros.
static constexpr int64_t unusedStrips = 2;

/// The strips (first column / 16) with a non-zero in rows row0 .. row0+rows-1.
static std::vector<uint32_t> keptStrips(const Matrix &weight, int64_t row0,
                                        int64_t rows) {
  int64_t strips = (weight.cols + stripColumns - 1) / stripColumns;
  std::vector<bool> kept(strips);
  for (int64_t r = row0; r < std::min(row0 + rows, weight.rows); ++r)
    for (int64_t c = 0; c < weight.cols; ++c)
      if (read16le(weight.at(r, c)) & 0x7fff)
        kept[c / stripColumns] = true;
  std::vector<uint32_t> list;
  for (int64_t strip = 0; strip < strips; ++strip)
    if (kept[strip])
      list.push_back(uint32_t(strip));
  return list;
}

/// Strips come in pairs.
static size_t paddedLength(llvm::ArrayRef<uint32_t> list) {
  return llvm::alignTo(list.size(), 2);
}

llvm::Expected<PackedWeight> block::pack(const Matrix &weight,
                                         int64_t panelRows) {
  if (llvm::Error error = checkPackable(weight))
    return error;
  int64_t count = panels(weight.rows, panelRows);
  int64_t tilesPerPanel = panelRows / 16;
  int64_t padding = (weight.cols + stripColumns - 1) / stripColumns;
  std::vector<std::vector<uint32_t>> lists;
  size_t total = 0, longest = 2, shortest = SIZE_MAX;
  for (int64_t p = 0; p < count; ++p) {
    lists.push_back(keptStrips(weight, p * panelRows, panelRows));
    size_t padded = paddedLength(lists.back());
    total += padded;
    longest = std::max(longest, padded);
    shortest = std::min(shortest, padded);
  }
  if (total > UINT32_MAX)
    return makeError("tensor '{0}': {1} kept strips are too many for format "
                     "'{2}'",
                     weight.name, total, formatName);
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    size_t lengthA = paddedLength(lists[a]), lengthB = paddedLength(lists[b]);
    return lengthA != lengthB ? lengthA > lengthB : a < b;
  });

  PackedWeight packed = PackedWeight::start(formatName, formatVersion, weight);
  packed.setAttribute("panel_rows", panelRows);
  packed.setAttribute("max_strips", int64_t(longest));
  // Panels of one length stay in order: offsets and rows are then known when
  // the kernel is compiled.
  if (shortest == longest)
    packed.setAttribute("strips", int64_t(longest));
  // No buffer is empty, even if nothing is kept.
  int64_t stored = std::max<int64_t>(int64_t(total), unusedStrips);
  PackedBuffer values =
      makeBuffer("values", weight.type, {stored, tilesPerPanel, 32, 8});
  PackedBuffer columns = makeBuffer("columns", ElementType::U32, {stored});
  if (total == 0)
    for (int64_t i = 0; i < unusedStrips; ++i)
      write32le(&columns.bytes[i * 4], uint32_t(padding));
  PackedBuffer offsets = makeBuffer("offsets", ElementType::U32, {count + 1});
  PackedBuffer rows = makeBuffer("rows", ElementType::U32, {count});
  size_t next = 0;
  for (auto [i, panel] : llvm::enumerate(order)) {
    const std::vector<uint32_t> &list = lists[panel];
    write32le(&rows.bytes[i * 4], panel);
    write32le(&offsets.bytes[i * 4], uint32_t(next));
    for (uint32_t strip : list) {
      write32le(&columns.bytes[next * 4], strip);
      for (int64_t t = 0; t < tilesPerPanel; ++t)
        packFragment(weight, int64_t(panel) * panelRows + t * 16,
                     int64_t(strip) * stripColumns,
                     &values.bytes[(next * tilesPerPanel + t) *
                                   FragmentSource::fragmentBytes]);
      ++next;
    }
    if (list.size() % 2 != 0)
      write32le(&columns.bytes[next++ * 4], uint32_t(padding));
  }
  write32le(&offsets.bytes[count * 4], uint32_t(next));
  packed.buffers = {std::move(values), std::move(columns), std::move(offsets),
                    std::move(rows)};
  return packed;
}

llvm::Error block::checkBuffers(const PackedWeight &packed, PackedCheck check) {
  if (llvm::Error error = checkPackedHeader(packed, formatName, formatVersion))
    return error;
  int64_t panelRows = packed.attribute("panel_rows");
  if (panelRows != 16 && panelRows != 32 && panelRows != 64 && panelRows != 128)
    return makeError("packed format '{0}': panel_rows is {1}, expected 16, 32, "
                     "64 or 128",
                     formatName, panelRows);
  int64_t stripsOfK = (packed.k + stripColumns - 1) / stripColumns;
  int64_t longest = packed.attribute("max_strips");
  if (longest < 2 || longest % 2 != 0 || longest > (stripsOfK + 1) / 2 * 2)
    return makeError("packed format '{0}': max_strips is {1}, expected an even "
                     "number from 2 to {2}",
                     formatName, longest, (stripsOfK + 1) / 2 * 2);
  int64_t uniform = packed.attribute("strips");
  if (uniform != 0 && uniform != longest)
    return makeError(
        "packed format '{0}': strips is {1}, expected max_strips = "
        "{2} or none",
        formatName, uniform, longest);
  int64_t count = panels(packed.m, panelRows);
  const PackedBuffer *columns = packed.find("columns");
  int64_t total = columns && columns->shape.size() == 1 ? columns->shape[0] : 0;
  for (auto [name, type, shape] :
       {std::tuple<llvm::StringRef, ElementType, std::vector<int64_t>>{
            "columns", ElementType::U32, {total}},
        {"values", packed.type, {total, panelRows / 16, 32, 8}},
        {"offsets", ElementType::U32, {count + 1}},
        {"rows", ElementType::U32, {count}}})
    if (llvm::Error error =
            checkedBuffer(packed, name, type, shape, check).takeError())
      return error;
  if (check == PackedCheck::Shapes)
    return llvm::Error::success();

  const PackedBuffer &offsets = *packed.find("offsets");
  const PackedBuffer &rows = *packed.find("rows");
  auto at = [](const PackedBuffer &buffer, int64_t i) -> int64_t {
    return read32le(&buffer.bytes[size_t(i) * 4]);
  };
  std::vector<bool> seen(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = at(offsets, i), end = at(offsets, i + 1);
    if ((i == 0 && begin != 0) || end < begin || end - begin > longest ||
        (end - begin) % 2 != 0 || end > total)
      return makeError("packed format '{0}': panel {1} spans strips {2}..{3} "
                       "of {4}, expected an even number of at most {5}",
                       formatName, i, begin, end, total, longest);
    int64_t row = at(rows, i);
    if (row >= count || seen[row])
      return makeError("packed format '{0}': rows[{1}] is {2}, expected a "
                       "permutation of 0..{3}",
                       formatName, i, row, count - 1);
    seen[row] = true;
    if (uniform != 0 && (end - begin != uniform || row != i))
      return makeError("packed format '{0}': panel {1} holds {2} strips of row "
                       "panel {3}, expected {4} of its own",
                       formatName, i, end - begin, row, uniform);
  }
  if (at(offsets, count) != total &&
      !(at(offsets, count) == 0 && total == unusedStrips))
    return makeError("packed format '{0}': offsets end at {1}, expected {2}",
                     formatName, at(offsets, count), total);
  for (int64_t i = 0; i < total; ++i)
    if (at(*columns, i) > stripsOfK)
      return makeError("packed format '{0}': columns[{1}] is {2}, expected "
                       "at most {3}",
                       formatName, i, at(*columns, i), stripsOfK);
  return llvm::Error::success();
}

llvm::Expected<Matrix> block::unpack(const PackedWeight &packed) {
  if (llvm::Error error = checkBuffers(packed, PackedCheck::Contents))
    return error;
  llvm::Expected<Matrix> weight =
      Matrix::allocate("unpacked", packed.type, packed.m, packed.k);
  if (!weight)
    return weight.takeError();
  int64_t panelRows = packed.attribute("panel_rows");
  int64_t tilesPerPanel = panelRows / 16;
  const PackedBuffer &values = *packed.find("values");
  const PackedBuffer &columns = *packed.find("columns");
  const PackedBuffer &offsets = *packed.find("offsets");
  const PackedBuffer &rows = *packed.find("rows");
  for (int64_t i = 0; i < panels(packed.m, panelRows); ++i)
    for (int64_t s = read32le(&offsets.bytes[i * 4]),
                 end = read32le(&offsets.bytes[(i + 1) * 4]);
         s < end; ++s)
      for (int64_t t = 0; t < tilesPerPanel; ++t)
        if (llvm::Error error = unpackFragment(
                &values.bytes[size_t(s * tilesPerPanel + t) *
                              FragmentSource::fragmentBytes],
                *weight,
                int64_t(read32le(&rows.bytes[i * 4])) * panelRows + t * 16,
                int64_t(read32le(&columns.bytes[s * 4])) * stripColumns,
                formatName))
          return error;
  return weight;
}
