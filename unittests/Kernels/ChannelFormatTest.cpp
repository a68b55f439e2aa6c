//===- ChannelFormatTest.cpp - channel-fragment ---------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelWeights.h"
#include "sparseditto/Kernels/Families.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace sparseditto;
using namespace sparseditto::test;

namespace {

Strategy withRun(int64_t run) {
  Strategy strategy = channelFamily().declaration().defaults();
  strategy.set("run", run);
  return strategy;
}

PackedWeight packOrDie(const Matrix &weight, int64_t run = 1) {
  return llvm::cantFail(packChecked(channelFamily(), weight, withRun(run)));
}

/// The run of the best candidate.
int64_t bestRun(const Matrix &weight) {
  Problem problem;
  problem.m = weight.rows;
  problem.k = weight.cols;
  return *channelFamily()
              .candidates(channelReport(weight), problem, 80)
              .front()
              .get("run");
}

std::string unpackError(const PackedWeight &packed) {
  auto weight = channelFamily().unpack(packed);
  return weight ? "" : llvm::toString(weight.takeError());
}

PackedBuffer &bufferOf(PackedWeight &packed, llvm::StringRef name) {
  for (PackedBuffer &buffer : packed.buffers)
    if (buffer.name == name)
      return buffer;
  llvm_unreachable("no such buffer");
}

std::vector<uint32_t> listOf(const PackedWeight &packed, llvm::StringRef name) {
  const PackedBuffer &buffer = *packed.find(name);
  std::vector<uint32_t> list(buffer.bytes.size() / 4);
  std::memcpy(list.data(), buffer.bytes.data(), buffer.bytes.size());
  return list;
}

void setWord(PackedWeight &packed, llvm::StringRef name, size_t index,
             uint32_t value) {
  std::memcpy(&bufferOf(packed, name).bytes[index * 4], &value, 4);
}

/// A weight of which exactly these columns (and all rows) are kept.
Matrix withColumns(int64_t rows, int64_t cols, std::vector<int64_t> columns) {
  return weightWithout(
      ElementType::F16, rows, cols, [](int64_t) { return false; },
      [=](int64_t c) { return !llvm::is_contained(columns, c); });
}

TEST(ChannelFormat, ListsNameKeptThenGoneRows) {
  Matrix weight = weightWithout(
      ElementType::F16, 5, 9, [](int64_t r) { return r == 1 || r == 4; },
      [](int64_t c) { return c != 1 && c != 3 && c != 8; });
  PackedWeight packed = packOrDie(weight);
  EXPECT_EQ(packed.attribute("run"), 1);
  EXPECT_EQ(packed.attribute("kept_runs"), 3);
  EXPECT_EQ(packed.attribute("kept_rows"), 3);
  EXPECT_EQ(listOf(packed, "rows"), (std::vector<uint32_t>{0, 2, 3, 1, 4}));
  std::vector<uint32_t> columns(32, 9);
  columns[0] = 1;
  columns[1] = 3;
  columns[2] = 8;
  EXPECT_EQ(listOf(packed, "columns"), columns);
}

TEST(ChannelFormat, RunsKeepWhatLiesBetween) {
  Matrix weight = withColumns(16, 100, {3, 20, 21, 99});
  for (auto [run, count] :
       {std::pair<int64_t, int64_t>{1, 4}, {8, 3}, {16, 3}}) {
    PackedWeight packed = packOrDie(weight, run);
    EXPECT_EQ(packed.attribute("run"), run);
    EXPECT_EQ(packed.attribute("kept_runs"), count);
  }
  EXPECT_EQ(listOf(packOrDie(weight, 16), "columns"),
            (std::vector<uint32_t>{0, 16, 96, 112}));
}

TEST(ChannelFamily, RunsOfCandidatesFollowTheKeptColumns) {
  for (int64_t run : {16, 8, 1})
    EXPECT_EQ(bestRun(channelWeight(ElementType::F16, 20, 200, run)), run);
  // One gone column inside of a run of 16 is stored, seven are not.
  Matrix one = weightWithout(
      ElementType::F16, 16, 64, [](int64_t) { return false; },
      [](int64_t c) { return c >= 32 || c == 3; });
  EXPECT_EQ(bestRun(one), 16);
  Matrix seven = weightWithout(
      ElementType::F16, 16, 64, [](int64_t) { return false; },
      [](int64_t c) { return c >= 32 || (c % 16 >= 8 && c % 16 < 15); });
  EXPECT_EQ(bestRun(seven), 1);
  // Runs of 8 would keep all columns of eight in nine.
  auto never = [](int64_t) { return false; };
  EXPECT_EQ(bestRun(weightWithout(ElementType::F16, 16, 144, never,
                                  [](int64_t c) { return c % 9 < 2; })),
            1);
  // One gone column does not pay, whole strips are read.
  EXPECT_EQ(bestRun(weightWithout(
                ElementType::F16, 16, 144, [](int64_t r) { return r < 8; },
                [](int64_t c) { return c == 5; })),
            16);
}

TEST(ChannelFormat, AbsentListsWhenAllIsKept) {
  PackedWeight all =
      packOrDie(randomWeight(ElementType::BF16, 17, 33, 1, 1), 16);
  EXPECT_EQ(all.find("columns"), nullptr);
  EXPECT_EQ(all.find("rows"), nullptr);
  PackedWeight rows =
      packOrDie(weightWithout(
                    ElementType::F16, 40, 50, [](int64_t r) { return r < 8; },
                    [](int64_t) { return false; }),
                16);
  EXPECT_EQ(rows.find("columns"), nullptr);
  EXPECT_NE(rows.find("rows"), nullptr);
  PackedWeight columns = packOrDie(withColumns(40, 50, {0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(columns.find("rows"), nullptr);
  EXPECT_NE(columns.find("columns"), nullptr);
}

TEST(ChannelFormat, HostileShapes) {
  for (auto [m, k] : {std::pair<int64_t, int64_t>{1, 1},
                      {1, 257},
                      {257, 1},
                      {16, 32},
                      {17, 33},
                      {100, 130}}) {
    // No row, one row, one column, everything but one of each, every pattern
    // of runs.
    packOrDie(llvm::cantFail(Matrix::allocate("w", ElementType::F16, m, k)));
    for (ElementType type : {ElementType::F16, ElementType::BF16}) {
      packOrDie(weightWithout(
          type, m, k, [m = m](int64_t r) { return r != m - 1; },
          [](int64_t) { return false; }));
      packOrDie(weightWithout(
          type, m, k, [](int64_t) { return false; },
          [k = k](int64_t c) { return c != k - 1; }));
      packOrDie(weightWithout(
          type, m, k, [m = m](int64_t r) { return r == m / 2; },
          [k = k](int64_t c) { return c == k / 2; }));
      for (int64_t run : {1, 2, 8, 16, 48})
        for (int64_t packedRun : {1, 8, 16})
          packOrDie(channelWeight(type, m, k, run), packedRun);
    }
  }
}

TEST(ChannelFormat, NothingKeptHasNoEmptyBuffer) {
  PackedWeight packed = packOrDie(
      llvm::cantFail(Matrix::allocate("w", ElementType::F16, 40, 100)));
  EXPECT_EQ(packed.attribute("kept_rows"), 0);
  EXPECT_EQ(packed.attribute("kept_runs"), 0);
  for (const PackedBuffer &buffer : packed.buffers)
    EXPECT_FALSE(buffer.bytes.empty()) << buffer.name;
}

TEST(ChannelFormat, UnstructuredInsideTheKeptPart) {
  Matrix weight = randomWeight(ElementType::F16, 64, 96, 0.02, 9);
  PackedWeight packed = packOrDie(weight);
  PatternReport report = channelReport(weight);
  EXPECT_EQ(packed.attribute("kept_rows"), 64 - report.rowCounts.zeros);
}

TEST(ChannelFormat, CorruptListsAreRefused) {
  Matrix weight = channelWeight(ElementType::F16, 12, 100, 8);
  const PackedWeight good = packOrDie(weight, 8);
  auto with = [&](llvm::StringRef name, size_t index, uint32_t value) {
    PackedWeight packed = good;
    setWord(packed, name, index, value);
    return unpackError(packed);
  };
  // Kept runs start at 0, 16, ..., 96; one run of padding follows.
  EXPECT_EQ(with("columns", 1, 0),
            "packed format 'channel-fragment': columns[1] is 0, expected a "
            "multiple of 8 from 8 to 99");
  EXPECT_EQ(with("columns", 1, 17),
            "packed format 'channel-fragment': columns[1] is 17, expected a "
            "multiple of 8 from 8 to 99");
  EXPECT_EQ(with("columns", 6, 104),
            "packed format 'channel-fragment': columns[6] is 104, expected a "
            "multiple of 8 from 88 to 99");
  EXPECT_EQ(with("columns", 6, UINT32_MAX - 7),
            "packed format 'channel-fragment': columns[6] is 4294967288, "
            "expected a multiple of 8 from 88 to 99");
  EXPECT_EQ(with("columns", 7, 96),
            "packed format 'channel-fragment': columns[7] is 96, expected 104 "
            "as padding");
  // Rows 0 2 3 5 6 8 9 11 are kept, then 1 4 7 10.
  EXPECT_EQ(with("rows", 3, 12),
            "packed format 'channel-fragment': rows[3] is 12, expected the 8 "
            "kept rows of 12 ascending, then the others");
  EXPECT_EQ(with("rows", 1, 0),
            "packed format 'channel-fragment': rows[1] is 0, expected the 8 "
            "kept rows of 12 ascending, then the others");
  EXPECT_EQ(with("rows", 8, 11),
            "packed format 'channel-fragment': rows[8] is 11, expected the 8 "
            "kept rows of 12 ascending, then the others");
}

TEST(ChannelFormat, CorruptAttributesAndSizesAreRefused) {
  const PackedWeight good =
      packOrDie(channelWeight(ElementType::F16, 12, 100, 8), 8);
  auto with = [&](llvm::StringRef name, int64_t value) {
    PackedWeight packed = good;
    packed.setAttribute(name, value);
    return unpackError(packed);
  };
  EXPECT_EQ(with("run", 4),
            "packed format 'channel-fragment': run is 4, expected 16, 8 or 1");
  EXPECT_EQ(with("run", 0),
            "packed format 'channel-fragment': run is 0, expected 16, 8 or 1");
  EXPECT_EQ(with("kept_runs", 14),
            "packed format 'channel-fragment': kept_runs is 14, expected 0 to "
            "13");
  EXPECT_EQ(with("kept_runs", -1),
            "packed format 'channel-fragment': kept_runs is -1, expected 0 to "
            "13");
  EXPECT_EQ(with("kept_rows", 13),
            "packed format 'channel-fragment': kept_rows is 13, expected 0 to "
            "12");
  EXPECT_EQ(with("kept_rows", 12),
            "packed format 'channel-fragment': 3 buffers, expected values, "
            "columns");
  EXPECT_NE(with("kept_runs", 1), "");
  EXPECT_NE(with("kept_rows", 1), "");

  PackedWeight shortRows = good;
  bufferOf(shortRows, "rows").bytes.pop_back();
  EXPECT_NE(unpackError(shortRows).find("buffer 'rows'"), std::string::npos);
  PackedWeight shortColumns = good;
  bufferOf(shortColumns, "columns").shape = {4};
  EXPECT_NE(unpackError(shortColumns).find("buffer 'columns'"),
            std::string::npos);
  PackedWeight huge = good;
  huge.m = int64_t(1) << 30;
  EXPECT_NE(unpackError(huge), "");
  PackedWeight version = good;
  version.version = 2;
  EXPECT_NE(unpackError(version).find("version 2"), std::string::npos);
}

TEST(ChannelFormat, NonZeroPaddingIsRefused) {
  PackedWeight packed =
      packOrDie(channelWeight(ElementType::F16, 12, 100, 8), 8);
  // The last element of the last fragment: row 15, column 63 of the kept part.
  std::vector<uint8_t> &bytes = bufferOf(packed, "values").bytes;
  bytes[bytes.size() - 1] = 0x3c;
  EXPECT_EQ(unpackError(packed),
            "packed format 'channel-fragment': a non-zero in the padding, at "
            "row 15, column 63 of the kept part");
}

TEST(ChannelFamily, AcceptsWhatHasGoneRowsOrColumns) {
  auto verdict = [](const Matrix &weight) {
    Problem problem;
    problem.m = weight.rows;
    problem.k = weight.cols;
    llvm::Error error = channelFamily().accepts(channelReport(weight), problem);
    return error ? llvm::toString(std::move(error)) : "";
  };
  EXPECT_EQ(verdict(channelWeight(ElementType::F16, 32, 64, 1)), "");
  EXPECT_EQ(verdict(channelWeight(ElementType::F16, 32, 64, 1, false)), "");
  EXPECT_EQ(
      verdict(llvm::cantFail(Matrix::allocate("w", ElementType::F16, 8, 8))),
      "");
  EXPECT_EQ(verdict(randomWeight(ElementType::F16, 32, 64, 1, 1)),
            "channel: no row and no column is all zero");
  EXPECT_EQ(verdict(weightWithout(
                ElementType::F16, 32, 64, [](int64_t r) { return r == 3; },
                [](int64_t) { return false; })),
            "channel: 31 of 32 rows and 64 of 64 columns are kept, expected at "
            "most 90 % of the weights");
}

TEST(ChannelFamily, CostCountsThePackedBytes) {
  for (int64_t run : {1, 8, 16}) {
    Matrix weight = channelWeight(ElementType::F16, 100, 300, run);
    Problem problem;
    problem.m = weight.rows;
    problem.k = weight.cols;
    Strategy strategy = withRun(run);
    EXPECT_EQ(channelFamily()
                  .cost(channelReport(weight), problem, strategy, 8)
                  .weightBytes,
              double(packOrDie(weight, run).numBytes()));
  }
}

} // namespace
