//===- FragmentFormatTest.cpp - nm24-, bsr- and dense-fragment ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWeights.h"
#include "sparseditto/Kernels/Families.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;

namespace {

PackedWeight packOrDie(const KernelFamily &family, const Matrix &weight,
                       int64_t panelRows = 0) {
  Strategy strategy = family.declaration().defaults();
  if (panelRows != 0)
    strategy.set("panel_rows", panelRows);
  return llvm::cantFail(packChecked(family, weight, strategy));
}

std::string unpackError(const KernelFamily &family,
                        const PackedWeight &packed) {
  auto weight = family.unpack(packed);
  return weight ? "" : llvm::toString(weight.takeError());
}

void put(Matrix &weight, int64_t row, int64_t column, double value) {
  storeFromDouble(weight.type, value,
                  weight.mutableData() +
                      (row * weight.cols + column) * byteSize(weight.type));
}

Matrix zeros(int64_t rows, int64_t cols, ElementType type = ElementType::F16) {
  return llvm::cantFail(Matrix::allocate("w", type, rows, cols));
}

void setWord(PackedWeight &packed, llvm::StringRef buffer, size_t index,
             uint32_t value) {
  for (PackedBuffer &b : packed.buffers)
    if (b.name == buffer)
      memcpy(&b.bytes[index * 4], &value, 4);
}

TEST(NM24Format, EveryMaskOfAGroupInEveryPlace) {
  // The 11 masks with at most two of four, in each row and group of two steps.
  for (unsigned mask = 0; mask < 16; ++mask) {
    if (llvm::popcount(mask) > 2)
      continue;
    Matrix weight = zeros(16, 64);
    for (int64_t r = 0; r < 16; ++r)
      for (int64_t c = 0; c < 64; ++c)
        if (mask >> (c % 4) & 1)
          put(weight, r, c, double(r * 64 + c + 1));
    PackedWeight packed = packOrDie(nmFamily(), weight);
    // Ordered metadata: positions ascend in every group, phantoms included.
    for (size_t i = 0; i < packed.find("metadata")->bytes.size(); ++i)
      for (unsigned half = 0; half < 2; ++half) {
        unsigned pair = packed.find("metadata")->bytes[i] >> (half * 4) & 15;
        EXPECT_LT(pair & 3, pair >> 2) << "mask " << mask;
      }
  }
}

TEST(NM24Format, RandomShapesWithTails) {
  for (auto [m, k] : {std::pair<int64_t, int64_t>{1, 1},
                      {1, 3},
                      {16, 64},
                      {17, 65},
                      {33, 129},
                      {100, 257}})
    for (ElementType type : {ElementType::F16, ElementType::BF16})
      packOrDie(nmFamily(), structuredWeight("nm", type, m, k, 3));
}

TEST(NM24Format, SizeIsNineSixteenthsOfDense) {
  PackedWeight packed = packOrDie(
      nmFamily(), structuredWeight("nm", ElementType::F16, 256, 512, 4));
  EXPECT_EQ(packed.numBytes(), 256 * 512 * 2 * 9 / 16);
}

TEST(NM24Format, ViolationsAreNamed) {
  Matrix weight = zeros(20, 70);
  for (int64_t c : {40, 41, 43})
    put(weight, 18, c, 1);
  auto packed = nmFamily().pack(weight, nmFamily().declaration().defaults());
  ASSERT_FALSE(bool(packed));
  EXPECT_EQ(llvm::toString(packed.takeError()),
            "tensor 'w': row 18, columns 40..43 (group 10) have 3 non-zeros, "
            "2:4 allows 2");
}

TEST(NM24Format, NegativeZeroIsAZeroAndNaNAWeight) {
  Matrix weight = zeros(1, 4);
  for (int64_t c : {0, 1})
    put(weight, 0, c, -0.0);
  put(weight, 0, 2, std::numeric_limits<double>::quiet_NaN());
  put(weight, 0, 3, std::numeric_limits<double>::infinity());
  packOrDie(nmFamily(), weight);
}

TEST(NM24Format, CorruptMetadataIsRefused) {
  PackedWeight packed = packOrDie(
      nmFamily(), structuredWeight("nm", ElementType::F16, 16, 64, 5));
  setWord(packed, "metadata", 0, 0);
  EXPECT_NE(unpackError(nmFamily(), packed).find("do not ascend"),
            std::string::npos);
}

TEST(BlockFormat, PanelsKeepTheUnionOfTheirRows) {
  Matrix weight = zeros(128, 160);
  put(weight, 3, 20, 1);   // Strip 1 of panel 0.
  put(weight, 17, 159, 2); // Strip 9 of panel 1, of panel 0 at 32 rows.
  put(weight, 18, 0, 3);
  PackedWeight thin = packOrDie(blockFamily(), weight, 16);
  EXPECT_EQ(thin.find("columns")->shape[0], 4); // 1, then padding; 0 and 9.
  PackedWeight tall = packOrDie(blockFamily(), weight, 32);
  EXPECT_EQ(tall.find("columns")->shape[0], 4); // 0, 1, 9 and padding.
  EXPECT_EQ(tall.attribute("max_strips"), 4);
}

TEST(BlockFormat, LongestPanelsComeFirst) {
  Matrix weight = zeros(64, 64);
  put(weight, 0, 0, 1);
  for (int64_t c : {0, 16, 32})
    put(weight, 40, c, 1);
  PackedWeight packed = packOrDie(blockFamily(), weight, 16);
  const std::vector<uint8_t> &rows = packed.find("rows")->bytes;
  EXPECT_EQ(rows[0], 2); // Rows 32..47.
  EXPECT_EQ(rows[4], 0);
}

TEST(BlockFormat, PanelsOfOneLengthAreTold) {
  Matrix weight = zeros(64, 64);
  for (int64_t panel = 0; panel < 4; ++panel)
    put(weight, panel * 16, panel * 16, 1);
  PackedWeight packed = packOrDie(blockFamily(), weight, 16);
  EXPECT_EQ(packed.attribute("strips"), 2); // With padding.
  // The kernel relies on it.
  PackedWeight bad = packed;
  setWord(bad, "rows", 0, 1);
  setWord(bad, "rows", 1, 0);
  EXPECT_NE(unpackError(blockFamily(), bad)
                .find("panel 0 holds 2 strips of row panel 1, expected 2 of "
                      "its own"),
            std::string::npos)
      << unpackError(blockFamily(), bad);
  bad = packed;
  setWord(bad, "offsets", 1, 0);
  EXPECT_NE(unpackError(blockFamily(), bad).find("panel 0 holds 0 strips"),
            std::string::npos);
  bad = packed;
  bad.setAttribute("strips", 4);
  EXPECT_NE(unpackError(blockFamily(), bad)
                .find("strips is 4, expected max_strips = 2 or none"),
            std::string::npos);
  // Copies that do not tell stay legal.
  put(weight, 0, 16, 1);
  put(weight, 0, 32, 1);
  EXPECT_EQ(packOrDie(blockFamily(), weight, 16).attribute("strips"), 0);
}

TEST(BlockFormat, RandomShapesAndPanels) {
  for (int64_t panel : {16, 32, 64, 128})
    for (auto [m, k] :
         {std::pair<int64_t, int64_t>{1, 1}, {17, 15}, {130, 97}, {256, 256}}) {
      packOrDie(blockFamily(),
                structuredWeight("block", ElementType::BF16, m, k, 6), panel);
      packOrDie(blockFamily(), zeros(m, k), panel);
      packOrDie(blockFamily(), randomWeight(ElementType::F16, m, k, 0.05, 7),
                panel);
    }
}

TEST(BlockFormat, CorruptListsAreRefused) {
  PackedWeight good =
      packOrDie(blockFamily(),
                structuredWeight("block", ElementType::F16, 64, 128, 8), 16);
  auto refused = [&](llvm::StringRef buffer, size_t index, uint32_t value,
                     llvm::StringRef message) {
    PackedWeight bad = good;
    setWord(bad, buffer, index, value);
    EXPECT_NE(unpackError(blockFamily(), bad).find(message.str()),
              std::string::npos)
        << unpackError(blockFamily(), bad);
  };
  refused("offsets", 0, 2, "panel 0 spans strips 2");
  refused("offsets", 1, 3, "expected an even number");
  refused("offsets", 4, 0xfffffffe, "panel 3 spans");
  refused("rows", 1, 1000, "expected a permutation");
  uint32_t same;
  memcpy(&same, &good.find("rows")->bytes[0], 4);
  refused("rows", 1, same, "expected a permutation");
  refused("columns", 0, 9, "expected at most 8");
  PackedWeight bad = good;
  bad.setAttribute("panel_rows", 48);
  EXPECT_NE(unpackError(blockFamily(), bad).find("panel_rows is 48"),
            std::string::npos);
  bad = good;
  bad.setAttribute("max_strips", 1 << 20);
  EXPECT_NE(unpackError(blockFamily(), bad).find("max_strips"),
            std::string::npos);
}

class FragmentFormat : public ::testing::TestWithParam<const char *> {};

TEST_P(FragmentFormat, UntrustedBuffersAreRefused) {
  const KernelFamily &family = *findFamily(GetParam());
  Matrix weight = zeros(33, 70);
  put(weight, 0, 0, 1);
  put(weight, 32, 69, 2);
  PackedWeight good = packOrDie(family, weight);
  auto refused = [&](auto change, llvm::StringRef message) {
    PackedWeight bad = good;
    change(bad);
    std::string error = unpackError(family, bad);
    EXPECT_NE(error.find(message.str()), std::string::npos) << error;
  };
  refused([](PackedWeight &p) { p.format = "other"; }, "expected '");
  refused([](PackedWeight &p) { p.version = 7; }, "has version 7, expected 1");
  refused([](PackedWeight &p) { p.m = -1; }, "outside of 1..2^30");
  refused([](PackedWeight &p) { p.k = INT64_MAX; }, "outside of 1..2^30");
  refused([](PackedWeight &p) { p.type = ElementType::F32; },
          "expected f16 or bf16");
  refused([](PackedWeight &p) { p.m += 1000; }, "expected [");
  for (size_t i = 0; i < good.buffers.size(); ++i) {
    refused([&](PackedWeight &p) { p.buffers.erase(p.buffers.begin() + i); },
            "is missing");
    refused([&](PackedWeight &p) { p.buffers[i].bytes.pop_back(); }, "bytes");
    refused([&](PackedWeight &p) { p.buffers[i].type = ElementType::I8; },
            "has type i8");
  }
  // A weight in the padding below the last row.
  refused(
      [](PackedWeight &p) {
        for (uint8_t &byte : p.buffers[0].bytes)
          byte = 0x3c;
      },
      "outside of 33x70");
}

TEST_P(FragmentFormat, OtherTypesAreNotPacked) {
  const KernelFamily &family = *findFamily(GetParam());
  auto packed = family.pack(zeros(4, 4, ElementType::F32),
                            family.declaration().defaults());
  ASSERT_FALSE(bool(packed));
  EXPECT_EQ(llvm::toString(packed.takeError()),
            "tensor 'w': type f32 cannot be packed, expected f16 or bf16");
}

INSTANTIATE_TEST_SUITE_P(Families, FragmentFormat,
                         ::testing::Values("nm", "block", "dense"),
                         [](const auto &info) { return info.param; });

TEST(DenseFormat, AnyWeightComesBack) {
  for (auto [m, k] : {std::pair<int64_t, int64_t>{1, 1}, {15, 33}, {50, 100}})
    packOrDie(denseFamily(), randomWeight(ElementType::BF16, m, k, 0.7, 10));
}

/// check()'s error for one changed knob of the defaults.
std::string
checkError(const KernelFamily &family,
           std::initializer_list<std::pair<const char *, int64_t>> knobs,
           unsigned cc = 90, int64_t k = 4096) {
  Problem problem;
  problem.m = 64;
  problem.k = k;
  Strategy strategy = family.declaration().defaults();
  for (auto [knob, value] : knobs)
    strategy.set(knob, value);
  llvm::Error error = family.check(strategy, problem, cc);
  return error ? llvm::toString(std::move(error)) : "";
}

TEST(GemmKnobs, EveryRuleSaysWhatIsLegal) {
  const KernelFamily &nm = nmFamily();
  EXPECT_EQ(checkError(nm, {}), "");
  EXPECT_NE(checkError(nm, {{"warps_m", 2}}).find("multiple of 16"),
            std::string::npos);
  EXPECT_NE(checkError(nm, {{"warps_n", 2}}).find("multiple of 8"),
            std::string::npos);
  EXPECT_NE(checkError(nm, {{"warps_n", 2}, {"tile_n", 16}}).find("must be 1"),
            std::string::npos);
  EXPECT_NE(checkError(nm, {{"tile_n", 128}}).find("takes 8, 16, 32, 64"),
            std::string::npos);
  EXPECT_NE(checkError(nm, {{"band_rows", 8}}).find("must be 64"),
            std::string::npos);
  EXPECT_NE(checkError(nm, {{"stages", 1}}).find("needs stages >= 2"),
            std::string::npos);
  EXPECT_EQ(checkError(nm, {{"stages", 1}}, 90, 2048), "");
  EXPECT_NE(checkError(nm, {{"schedule", 1}}).find("'warps_k' = 8"),
            std::string::npos);
  EXPECT_NE(
      checkError(nm, {{"schedule", 1}, {"warps_k", 1}}).find("'prefetch' = 4"),
      std::string::npos);
  EXPECT_NE(
      checkError(
          nm, {{"schedule", 1}, {"warps_k", 1}, {"prefetch", 1}, {"stages", 1}})
          .find("needs 2 to 6"),
      std::string::npos);
  EXPECT_NE(checkError(nm, {{"tile_m", 128}, {"warps_m", 8}, {"warps_k", 16}})
                .find("at most 32"),
            std::string::npos);
  EXPECT_NE(
      checkError(nm, {{"warps_k", 16}, {"blocks_per_sm", 4}}, 86).find("1536"),
      std::string::npos);
  EXPECT_NE(checkError(nm, {{"tile_m", 128}}).find("registers"),
            std::string::npos);
  std::string shared = checkError(
      nm, {{"tile_n", 32}, {"prefetch", 2}, {"blocks_per_sm", 1}}, 86);
  EXPECT_NE(shared.find("bytes of shared memory, a block of sm_86 has 101376"),
            std::string::npos)
      << shared;
  EXPECT_NE(checkError(blockFamily(), {{"tile_m", 32}})
                .find("must divide panel_rows = 16"),
            std::string::npos);
}

} // namespace
