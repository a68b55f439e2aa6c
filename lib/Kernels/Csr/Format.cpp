//===- Format.cpp - Packing and unpacking csr-quad ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Csr.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <cstring>
#include <numeric>

using namespace sparseditto;

namespace {
/// One warp's share of a row.
struct Slot {
  uint32_t row = csr::unusedRow;
  uint32_t begin = 0, end = 0; ///< Quads.
  uint32_t groupSize = 1, groupIndex = 0;
};

/// The non-zeros of one row, in column order.
struct Row {
  std::vector<uint16_t> columns;
  std::vector<const uint8_t *> values;
};
} // namespace

static Row gatherRow(const Matrix &weight, int64_t r) {
  Row row;
  for (int64_t c = 0; c < weight.cols; ++c) {
    const uint8_t *element = weight.at(r, c);
    // By value: -0.0 is a zero, NaN is not.
    if (loadAsDouble(weight.type, element) != 0) {
      row.columns.push_back(uint16_t(c));
      row.values.push_back(element);
    }
  }
  return row;
}

/// Bucket of a column: equal buckets share a bank. With one token an element is
/// two bytes and there are 32 four-byte banks; with eight an X row is sixteen
/// bytes and there are 8 sixteen-byte ones.
static unsigned bankOf(uint16_t column, int64_t bankOrder) {
  return bankOrder == 32 ? (column >> 1) & 31 : column & 7;
}

/// Positions of `row` reordered so that consecutive ones differ in bank.
static std::vector<uint32_t> bankAwareOrder(const Row &row, int64_t bankOrder) {
  std::vector<std::vector<uint32_t>> buckets(static_cast<size_t>(bankOrder));
  for (uint32_t i = 0; i < row.columns.size(); ++i)
    buckets[bankOf(row.columns[i], bankOrder)].push_back(i);
  std::vector<uint32_t> order;
  order.reserve(row.columns.size());
  for (size_t depth = 0; order.size() < row.columns.size(); ++depth)
    for (const std::vector<uint32_t> &bucket : buckets)
      if (depth < bucket.size())
        order.push_back(bucket[depth]);
  return order;
}

/// Slots a row of `quads` is shared by: a power of two.
static uint32_t groupSizeFor(int64_t quads, int64_t split) {
  uint32_t size = 1;
  while (int64_t(size) * split < quads && size < csr::maxGroup)
    size *= 2;
  return size;
}

llvm::Expected<PackedWeight> csr::pack(const Matrix &weight,
                                       const Strategy &strategy) {
  if (weight.cols > maxColumns)
    return makeError("csr: expected at most {0} columns, got {1}", maxColumns,
                     weight.cols);
  if (weight.type != ElementType::F16 && weight.type != ElementType::BF16 &&
      weight.type != ElementType::F32)
    return makeError("csr: expected f16, bf16 or f32, got {0}",
                     name(weight.type));
  const int64_t split = *strategy.get("split");
  const int64_t bankOrder = *strategy.get("bank_order");
  const bool isWide = weight.type == ElementType::F32;
  const unsigned elementBytes = byteSize(weight.type);

  std::vector<Row> rows;
  rows.reserve(size_t(weight.rows));
  std::vector<int64_t> order(static_cast<size_t>(weight.rows));
  std::iota(order.begin(), order.end(), 0);
  int64_t totalQuads = 0;
  for (int64_t r = 0; r < weight.rows; ++r) {
    rows.push_back(gatherRow(weight, r));
    totalQuads += int64_t(rows.back().columns.size() + 3) / 4;
  }
  // One quad of padding even for an all-zero weight: no buffer is empty.
  const int64_t storedQuads = std::max<int64_t>(totalQuads, 1);
  if (totalQuads > int64_t(UINT32_MAX))
    return makeError("csr: {0} quads do not fit in 32 bits", totalQuads);
  auto quadsOf = [&](int64_t r) {
    return int64_t(rows[size_t(r)].columns.size() + 3) / 4;
  };
  // Longest first. Groups come before smaller ones because their rows are
  // longer, so each stays aligned to its size: the list is a sequence of 8s,
  // then 4s, 2s and 1s.
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return quadsOf(a) != quadsOf(b) ? quadsOf(a) > quadsOf(b) : a < b;
  });

  std::vector<Slot> slots;
  std::vector<uint8_t> values(size_t(storedQuads) * 4 * elementBytes);
  std::vector<uint8_t> columns(size_t(storedQuads) * 4 * 2);
  for (size_t i = 0; i < columns.size(); i += 2)
    llvm::support::endian::write16le(&columns[i],
                                     uint16_t(padColumn(weight.cols)));
  int64_t nextQuad = 0;
  uint32_t largestGroup = 1;
  int64_t longest = 0;
  for (int64_t r : order) {
    const Row &row = rows[size_t(r)];
    const int64_t quads = quadsOf(r);
    const uint32_t size = groupSizeFor(quads, split);
    largestGroup = std::max(largestGroup, size);
    const int64_t share = (quads + size - 1) / size;
    longest = std::max(longest, share);
    for (uint32_t i = 0; i < size; ++i) {
      Slot slot;
      slot.row = uint32_t(r);
      slot.begin = uint32_t(nextQuad + std::min<int64_t>(i * share, quads));
      slot.end = uint32_t(nextQuad + std::min<int64_t>((i + 1) * share, quads));
      slot.groupSize = size;
      slot.groupIndex = i;
      slots.push_back(slot);
    }
    // Lane l of step s takes quad 32 s + l: its first values are those of the
    // 32 lanes' first places, then their second places, and so on.
    std::vector<uint32_t> dealt = bankAwareOrder(row, bankOrder);
    size_t next = 0;
    for (uint32_t i = 0; i < size; ++i) {
      const Slot &slot = slots[slots.size() - size + i];
      for (uint32_t base = slot.begin; base < slot.end; base += 32) {
        uint32_t lanes = std::min<uint32_t>(32, slot.end - base);
        for (unsigned place = 0; place < 4; ++place)
          for (uint32_t lane = 0; lane < lanes && next < dealt.size(); ++lane) {
            size_t at = size_t(base + lane) * 4 + place;
            uint32_t source = dealt[next++];
            std::memcpy(&values[at * elementBytes], row.values[source],
                        elementBytes);
            llvm::support::endian::write16le(&columns[at * 2],
                                             row.columns[source]);
          }
      }
    }
    nextQuad += quads;
  }
  // Whole blocks of up to 32 warps, whatever `warps` is.
  while (slots.size() % 32)
    slots.push_back(Slot());

  PackedWeight packed = PackedWeight::start(formatName, formatVersion, weight);
  PackedBuffer items;
  items.name = "items";
  items.type = ElementType::U32;
  items.shape = {int64_t(slots.size()), 4};
  items.bytes.resize(slots.size() * 16);
  for (auto [i, slot] : llvm::enumerate(slots)) {
    uint8_t *at = &items.bytes[i * 16];
    llvm::support::endian::write32le(at, slot.row);
    llvm::support::endian::write32le(at + 4, slot.begin);
    llvm::support::endian::write32le(at + 8, slot.end);
    llvm::support::endian::write32le(at + 12,
                                     slot.groupSize | slot.groupIndex << 8);
  }
  packed.buffers.push_back(std::move(items));
  PackedBuffer quads;
  if (isWide) {
    quads.name = "values";
    quads.type = ElementType::F32;
    quads.shape = {storedQuads, 4};
    quads.bytes = std::move(values);
    packed.buffers.push_back(std::move(quads));
    PackedBuffer index;
    index.name = "columns";
    index.type = ElementType::U16;
    index.shape = {storedQuads, 4};
    index.bytes = std::move(columns);
    packed.buffers.push_back(std::move(index));
  } else {
    quads.name = "quads";
    quads.type = ElementType::U16;
    quads.shape = {storedQuads, 8};
    quads.bytes.resize(size_t(storedQuads) * 16);
    for (int64_t q = 0; q < storedQuads; ++q) {
      std::memcpy(&quads.bytes[size_t(q) * 16], &values[size_t(q) * 8], 8);
      std::memcpy(&quads.bytes[size_t(q) * 16 + 8], &columns[size_t(q) * 8], 8);
    }
    packed.buffers.push_back(std::move(quads));
  }
  packed.setAttribute("bank_order", bankOrder);
  packed.setAttribute("largest_group", largestGroup);
  packed.setAttribute("longest", longest);
  packed.setAttribute("slots", int64_t(slots.size()));
  packed.setAttribute("split", split);
  return packed;
}

static llvm::Error malformed(const llvm::Twine &what) {
  return llvm::createStringError("malformed csr-quad weight: " + what);
}

llvm::Expected<Matrix> csr::unpack(const PackedWeight &packed) {
  if (packed.format != formatName || packed.version != formatVersion)
    return malformed("expected format csr-quad version 1, got " +
                     packed.format + " version " + llvm::Twine(packed.version));
  const bool isWide = packed.type == ElementType::F32;
  const unsigned elementBytes = byteSize(packed.type);
  if (!isWide && elementBytes != 2)
    return malformed("element type " + name(packed.type));
  const PackedBuffer *items = packed.find("items");
  const PackedBuffer *values = packed.find(isWide ? "values" : "quads");
  const PackedBuffer *columns = isWide ? packed.find("columns") : values;
  if (!items || !values || !columns)
    return malformed("a buffer is missing");
  const size_t valueStride = 16;
  const size_t columnStride = isWide ? 8 : 16, columnOffset = isWide ? 0 : 8;
  const size_t quads = values->bytes.size() / valueStride;
  if (items->bytes.size() % 16 || values->bytes.size() % valueStride ||
      columns->bytes.size() != quads * columnStride)
    return malformed("buffer sizes disagree");
  if (packed.k > maxColumns)
    return malformed("too many columns");

  auto weight = Matrix::allocate("unpacked", packed.type, packed.m, packed.k);
  if (!weight)
    return weight.takeError();
  uint8_t *out = weight->mutableData();
  for (size_t i = 0; i < items->bytes.size(); i += 16) {
    const uint8_t *at = &items->bytes[i];
    uint32_t row = llvm::support::endian::read32le(at);
    uint32_t begin = llvm::support::endian::read32le(at + 4);
    uint32_t end = llvm::support::endian::read32le(at + 8);
    if (row == unusedRow)
      continue;
    if (int64_t(row) >= packed.m || begin > end || end > quads)
      return malformed("slot " + llvm::Twine(i / 16) + " is out of range");
    for (size_t quad = begin; quad < end; ++quad)
      for (unsigned place = 0; place < 4; ++place) {
        const uint8_t *value =
            &values->bytes[quad * valueStride + place * elementBytes];
        uint16_t column = llvm::support::endian::read16le(
            &columns->bytes[quad * columnStride + columnOffset + place * 2]);
        if (int64_t(column) == padColumn(packed.k) &&
            loadAsDouble(packed.type, value) == 0)
          continue;
        if (int64_t(column) >= packed.k)
          return malformed("column " + llvm::Twine(column) + " of quad " +
                           llvm::Twine(quad) + " is out of range");
        std::memcpy(out + (size_t(row) * size_t(packed.k) + column) *
                              elementBytes,
                    value, elementBytes);
      }
  }
  return weight;
}
