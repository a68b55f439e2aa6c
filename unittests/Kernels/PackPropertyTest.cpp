//===- PackPropertyTest.cpp - unpack(pack(w)) == w, for every family ------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs over the registry, so that a new family is tested without being named.
//
//===----------------------------------------------------------------------===//

#include "WeightKinds.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Kernels/Family.h"
#include "gtest/gtest.h"
#include <set>

using namespace sparseditto;
using namespace sparseditto::test;

namespace {

/// The defaults with every combination of the knobs that change the format.
std::vector<Strategy> packings(const FamilyDeclaration &declaration) {
  std::vector<Strategy> result = {declaration.defaults()};
  for (const KnobDeclaration &knob : declaration.knobs) {
    if (!knob.affectsPacking)
      continue;
    std::vector<Strategy> grown;
    for (const Strategy &strategy : result)
      for (int64_t value : knob.values) {
        grown.push_back(strategy);
        grown.back().set(knob.name, value);
      }
    result = std::move(grown);
  }
  return result;
}

/// What packing changed, in words; empty if nothing. Not packChecked(), which
/// is what this tests.
std::string difference(const Matrix &weight, const Matrix &back) {
  if (back.rows != weight.rows || back.cols != weight.cols ||
      back.type != weight.type)
    return "the shape or type";
  const unsigned bytes = byteSize(weight.type);
  for (int64_t r = 0; r < weight.rows; ++r)
    for (int64_t c = 0; c < weight.cols; ++c) {
      bool zero = weight.value(r, c) == 0;
      if (zero ? back.value(r, c) != 0
               : std::memcmp(weight.at(r, c), back.at(r, c), bytes) != 0)
        return "element (" + std::to_string(r) + ", " + std::to_string(c) + ")";
    }
  return "";
}

bool sameBuffers(const PackedWeight &a, const PackedWeight &b) {
  if (a.buffers.size() != b.buffers.size() || a.attributes != b.attributes)
    return false;
  for (size_t i = 0; i < a.buffers.size(); ++i)
    if (a.buffers[i].bytes != b.buffers[i].bytes ||
        a.buffers[i].shape != b.buffers[i].shape)
      return false;
  return true;
}

class PackProperty : public ::testing::TestWithParam<const KernelFamily *> {
protected:
  const KernelFamily &family() { return *GetParam(); }

  /// Round trip; false if the family does not pack this weight, which it then
  /// may not have accepted.
  bool roundTrips(const Matrix &weight, const Strategy &strategy) {
    SCOPED_TRACE(strategy.str() + " " + weight.name + " " +
                 std::to_string(weight.rows) + "x" +
                 std::to_string(weight.cols) + " " + name(weight.type).str());
    auto packed = family().pack(weight, strategy);
    if (!packed) {
      std::string why = llvm::toString(packed.takeError());
      Problem problem{.m = weight.rows, .k = weight.cols, .type = weight.type};
      auto report = analyze(weight, {.threads = 1});
      if (!report) {
        ADD_FAILURE() << llvm::toString(report.takeError());
        return false;
      }
      EXPECT_NE(llvm::toString(family().accepts(*report, problem)), "")
          << "accepted, but not packed: " << why;
      return false;
    }
    // Buffers are as large as they say, and never empty.
    for (const PackedBuffer &buffer : packed->buffers) {
      size_t bytes = byteSize(buffer.type);
      for (int64_t extent : buffer.shape)
        bytes *= size_t(extent);
      EXPECT_EQ(buffer.bytes.size(), bytes) << buffer.name;
      EXPECT_GT(bytes, 0u) << buffer.name;
    }
    auto back = family().unpack(*packed);
    if (!back) {
      ADD_FAILURE() << llvm::toString(back.takeError());
      return true;
    }
    EXPECT_EQ(difference(weight, *back), "");
    return true;
  }
};

/// M x K: odd, prime, one less and one more than every tile size.
constexpr std::pair<int64_t, int64_t> shapes[] = {
    {1, 1},   {1, 2},   {2, 1},    {3, 7},    {7, 3},     {1, 257},  {257, 1},
    {15, 33}, {16, 16}, {16, 64},  {17, 31},  {31, 65},   {33, 130}, {64, 63},
    {65, 17}, {72, 56}, {97, 101}, {127, 40}, {129, 127}, {8, 1031}};

TEST_P(PackProperty, EveryPatternShapeTypeAndKnobComesBack) {
  std::set<WeightKind> packed;
  uint64_t seed = 0;
  for (ElementType type : family().declaration().types)
    for (const Strategy &strategy : packings(family().declaration()))
      for (const WeightKindName &entry : allWeightKinds())
        for (auto [rows, cols] : shapes)
          for (Values values : {Values::Usual, Values::AnyBits})
            if (roundTrips(
                    makeWeight(entry.kind, type, rows, cols, ++seed, values),
                    strategy) &&
                rows > 1 && cols > 3)
              packed.insert(entry.kind);
  // Whatever a family is for, these it can hold.
  for (WeightKind kind : {WeightKind::TwoFour, WeightKind::TwoFourRow,
                          WeightKind::Single, WeightKind::Empty})
    EXPECT_TRUE(packed.count(kind)) << name(kind).str();
}

TEST_P(PackProperty, EachLegalMaskInEachGroup) {
  // 11 masks with 0, 1 or 2 of 4; the last group of 62 columns is cut in half.
  unsigned masks = 0;
  for (const Strategy &strategy : packings(family().declaration()))
    for (unsigned mask = 0; mask < 16; ++mask) {
      if (llvm::popcount(mask) > 2)
        continue;
      ++masks;
      for (int64_t r = 0; r < 16; ++r)
        for (int64_t g = 0; g < 16; ++g) {
          Matrix weight = llvm::cantFail(
              Matrix::allocate("mask " + std::to_string(mask),
                               family().declaration().types[0], 17, 62));
          for (int64_t p = 0; p < 4; ++p)
            if ((mask >> p & 1) != 0 && g * 4 + p < weight.cols)
              storeFromDouble(weight.type, double(p + 1) * (p % 2 ? -1 : 1),
                              weight.mutableData() +
                                  (r * weight.cols + g * 4 + p) *
                                      byteSize(weight.type));
          ASSERT_TRUE(roundTrips(weight, strategy));
        }
    }
  EXPECT_EQ(masks % 11, 0u);
}

TEST_P(PackProperty, EachElementAlone) {
  for (ElementType type : family().declaration().types)
    for (const Strategy &strategy : packings(family().declaration()))
      for (int64_t r = 0; r < 35; r += 2)
        for (int64_t c = 0; c < 67; c += 3) {
          Matrix weight =
              llvm::cantFail(Matrix::allocate("element", type, 35, 67));
          // The smallest subnormal: any flush loses it.
          weight.mutableData()[(r * 67 + c) * byteSize(type)] = 1;
          ASSERT_NE(weight.value(r, c), 0);
          ASSERT_TRUE(roundTrips(weight, strategy));
        }
}

TEST_P(PackProperty, OnlyPackingKnobsChangeTheBuffers) {
  const FamilyDeclaration &declaration = family().declaration();
  Matrix weight =
      makeWeight(WeightKind::TwoFour, declaration.types[0], 70, 150, 11);
  for (const Strategy &strategy : packings(declaration)) {
    auto packed = family().pack(weight, strategy);
    ASSERT_TRUE(bool(packed)) << llvm::toString(packed.takeError());
    for (const KnobDeclaration &knob : declaration.knobs)
      for (int64_t value : knob.values) {
        if (knob.affectsPacking)
          continue;
        Strategy other = strategy;
        other.set(knob.name, value);
        auto again = family().pack(weight, other);
        ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
        EXPECT_TRUE(sameBuffers(*packed, *again)) << other.str();
      }
  }
}

/// A knob that is declared to change the format does so for some weight.
TEST_P(PackProperty, PackingKnobsAreDeclaredForAReason) {
  const FamilyDeclaration &declaration = family().declaration();
  for (const KnobDeclaration &knob : declaration.knobs) {
    if (!knob.affectsPacking)
      continue;
    bool changes = false;
    for (WeightKind kind : {WeightKind::TwoFour, WeightKind::Channels,
                            WeightKind::DenseRow, WeightKind::Dense}) {
      Matrix weight = makeWeight(kind, declaration.types[0], 40, 3000, 12);
      std::optional<PackedWeight> first;
      for (int64_t value : knob.values) {
        Strategy strategy = declaration.defaults();
        strategy.set(knob.name, value);
        auto packed = family().pack(weight, strategy);
        if (!packed) {
          llvm::consumeError(packed.takeError());
          continue;
        }
        if (!first)
          first = std::move(*packed);
        else
          changes |= !sameBuffers(*first, *packed);
      }
    }
    EXPECT_TRUE(changes) << knob.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, PackProperty,
                         ::testing::ValuesIn(allFamilies().begin(),
                                             allFamilies().end()),
                         [](const auto &info) {
                           return info.param->name().str();
                         });

TEST(WeightKinds, AreWhatTheySay) {
  auto counts = [](WeightKind kind, int64_t rows, int64_t cols) {
    Matrix weight = makeWeight(kind, ElementType::F16, rows, cols, 5);
    return llvm::cantFail(analyze(weight, {.threads = 1}));
  };
  EXPECT_EQ(counts(WeightKind::Dense, 40, 80).nnz, 40 * 80);
  EXPECT_EQ(counts(WeightKind::Empty, 40, 80).nnz, 0);
  EXPECT_EQ(counts(WeightKind::Single, 40, 80).nnz, 1);
  EXPECT_EQ(counts(WeightKind::DenseRow, 40, 80).nnz, 80);
  EXPECT_EQ(counts(WeightKind::DenseColumn, 40, 80).nnz, 40);
  EXPECT_TRUE(counts(WeightKind::TwoFour, 40, 80).satisfies24());
  EXPECT_FALSE(counts(WeightKind::Unstructured, 40, 80).satisfies24());
  const BlockStats *blocks =
      counts(WeightKind::Blocks, 160, 160).findBlock(16, 16);
  ASSERT_TRUE(blocks);
  PatternReport channels = counts(WeightKind::Channels, 60, 160);
  EXPECT_EQ(channels.rowCounts.zeros, 20);
  EXPECT_GT(channels.colCounts.zeros, 40);
  EXPECT_LT(channels.colCounts.zeros, 120);
  // Every mask with at most two of four occurs.
  Matrix weight = makeWeight(WeightKind::TwoFour, ElementType::F16, 16, 64, 6);
  std::set<unsigned> masks;
  for (int64_t r = 0; r < 16; ++r)
    for (int64_t g = 0; g < 16; ++g) {
      unsigned mask = 0;
      for (int64_t p = 0; p < 4; ++p)
        mask |= unsigned(weight.value(r, g * 4 + p) != 0) << p;
      masks.insert(mask);
    }
  EXPECT_EQ(masks.size(), 11u);
}

TEST(WeightKinds, AnyBitsHoldEveryKindOfNumber) {
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::F32}) {
    Matrix weight =
        makeWeight(WeightKind::Unstructured, type, 64, 64, 7, Values::AnyBits);
    double smallestNormal = type == ElementType::F16 ? 0x1p-14 : 0x1p-126;
    unsigned nan = 0, inf = 0, subnormal = 0, negativeZero = 0;
    for (int64_t r = 0; r < 64; ++r)
      for (int64_t c = 0; c < 64; ++c) {
        double value = weight.value(r, c);
        nan += std::isnan(value);
        inf += std::isinf(value);
        subnormal += value != 0 && std::fabs(value) < smallestNormal;
        negativeZero += value == 0 && std::signbit(value);
      }
    EXPECT_GT(nan, 20u);
    EXPECT_GT(inf, 5u);
    EXPECT_GT(subnormal, 20u);
    EXPECT_GT(negativeZero, 20u);
  }
}

} // namespace
