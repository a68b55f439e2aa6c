//===- Format.cpp - The packed format nm24-fragment -----------------------===//
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

namespace {
constexpr unsigned groupColumns = 4, keptPerGroup = 2, keptPerStep = 16,
                   lanes = 32, lanesElements = 8;

/// The two kept weights of one group, positions ascending.
struct Group {
  uint16_t value[keptPerGroup] = {0, 0};
  unsigned position[keptPerGroup] = {0, 1};
};

/// Offsets into the buffers for row `r` of the padded weight and kept column
/// `c` of step `step`.
struct Cell {
  size_t value;    ///< Element index in `values`.
  size_t metadata; ///< Element index in `metadata`.
  unsigned shift;  ///< Of the 2 bits in the word.
};
Cell locate(int64_t chunkCount, int64_t row, int64_t step, unsigned kept) {
  int64_t tile = row / 16;
  unsigned r = row % 16, g = r % 8, high = r / 8;
  unsigned lane = g * 4 + kept % 8 / 2;
  unsigned element = (kept / 8) * 4 + high * 2 + kept % 2;
  unsigned half = kept / 8;
  unsigned metaLane = g * 4 + (step % 2) * 2 + half;
  return {((size_t(tile) * chunkCount * 2 + step) * lanes + lane) *
                  lanesElements +
              element,
          (size_t(tile) * chunkCount + step / 2) * lanes + metaLane,
          high * 16 + kept % 8 * 2};
}
} // namespace

llvm::Expected<PackedWeight> nm::pack(const Matrix &weight) {
  if (llvm::Error error = checkPackable(weight))
    return error;
  int64_t tiles = mTiles(weight.rows), chunkCount = chunks(weight.cols);
  PackedWeight packed = PackedWeight::start(formatName, formatVersion, weight);
  PackedBuffer values = makeBuffer(
      "values", weight.type, {tiles, chunkCount * 2, lanes, lanesElements});
  PackedBuffer metadata =
      makeBuffer("metadata", ElementType::U32, {tiles, chunkCount, lanes});

  for (int64_t row = 0; row < tiles * 16; ++row)
    for (int64_t g = 0; g < chunkCount * (chunkColumns / groupColumns); ++g) {
      Group group;
      unsigned found = 0;
      for (unsigned p = 0; p < groupColumns; ++p) {
        int64_t column = g * groupColumns + p;
        if (row >= weight.rows || column >= weight.cols)
          continue;
        uint16_t bits = llvm::support::endian::read16le(weight.at(row, column));
        if ((bits & 0x7fff) == 0)
          continue;
        if (found < keptPerGroup) {
          group.value[found] = bits;
          group.position[found] = p;
        }
        ++found;
      }
      if (found > keptPerGroup)
        return makeError("tensor '{0}': row {1}, columns {2}..{3} (group {4}) "
                         "have {5} non-zeros, 2:4 allows 2",
                         weight.name, row, g * groupColumns,
                         g * groupColumns + groupColumns - 1, g, found);
      if (found == 1) {
        // The phantom takes a neighbouring position.
        if (group.position[0] == 3) {
          group = {{0, group.value[0]}, {2, 3}};
        } else {
          group.value[1] = 0;
          group.position[1] = group.position[0] + 1;
        }
      }
      int64_t step = g * keptPerGroup / keptPerStep;
      for (unsigned i = 0; i < keptPerGroup; ++i) {
        Cell cell = locate(chunkCount, row, step,
                           unsigned(g * keptPerGroup % keptPerStep) + i);
        llvm::support::endian::write16le(&values.bytes[cell.value * 2],
                                         group.value[i]);
        uint8_t *word = &metadata.bytes[cell.metadata * 4];
        llvm::support::endian::write32le(word,
                                         llvm::support::endian::read32le(word) |
                                             (group.position[i] << cell.shift));
      }
    }
  packed.buffers.push_back(std::move(values));
  packed.buffers.push_back(std::move(metadata));
  return packed;
}

llvm::Error nm::checkBuffers(const PackedWeight &packed, PackedCheck check) {
  if (llvm::Error error = checkPackedHeader(packed, formatName, formatVersion))
    return error;
  int64_t tiles = mTiles(packed.m), chunkCount = chunks(packed.k);
  auto values =
      checkedBuffer(packed, "values", packed.type,
                    {tiles, chunkCount * 2, lanes, lanesElements}, check);
  if (!values)
    return values.takeError();
  auto metadata = checkedBuffer(packed, "metadata", ElementType::U32,
                                {tiles, chunkCount, lanes}, check);
  if (!metadata)
    return metadata.takeError();
  return llvm::Error::success();
}

llvm::Expected<Matrix> nm::unpack(const PackedWeight &packed) {
  if (llvm::Error error = checkBuffers(packed, PackedCheck::Contents))
    return error;
  int64_t tiles = mTiles(packed.m), chunkCount = chunks(packed.k);
  const PackedBuffer &values = *packed.find("values");
  const PackedBuffer &metadata = *packed.find("metadata");
  llvm::Expected<Matrix> weight =
      Matrix::allocate("unpacked", packed.type, packed.m, packed.k);
  if (!weight)
    return weight.takeError();
  for (int64_t row = 0; row < tiles * 16; ++row)
    for (int64_t g = 0; g < chunkCount * (chunkColumns / groupColumns); ++g) {
      int64_t step = g * keptPerGroup / keptPerStep;
      int previous = -1;
      for (unsigned i = 0; i < keptPerGroup; ++i) {
        Cell cell = locate(chunkCount, row, step,
                           unsigned(g * keptPerGroup % keptPerStep) + i);
        uint16_t bits =
            llvm::support::endian::read16le(&values.bytes[cell.value * 2]);
        uint32_t word =
            llvm::support::endian::read32le(&metadata.bytes[cell.metadata * 4]);
        int position = (word >> cell.shift) & 3;
        if (position <= previous)
          return makeError("packed format '{0}': row {1}, group {2}: positions "
                           "{3} and {4} do not ascend",
                           formatName, row, g, previous, position);
        previous = position;
        int64_t column = g * groupColumns + position;
        if (row < packed.m && column < packed.k) {
          // A phantom's zero must not be stored over a weight.
          if (bits != 0)
            llvm::support::endian::write16le(
                weight->mutableData() +
                    (size_t(row) * packed.k + size_t(column)) * 2,
                bits);
        } else if ((bits & 0x7fff) != 0) {
          return makeError("packed format '{0}': a non-zero at row {1}, column "
                           "{2} outside of {3}x{4}",
                           formatName, row, column, packed.m, packed.k);
        }
      }
    }
  return weight;
}
