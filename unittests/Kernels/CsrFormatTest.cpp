//===- CsrFormatTest.cpp - csr-quad packs and unpacks exactly -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWeights.h"
#include "sparseditto/Kernels/Families.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"
#include <limits>

using namespace sparseditto;
using namespace sparseditto::test;

static std::string message(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST(CsrFormat, RoundTripsEveryTypeShapeAndKnob) {
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::F32})
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1},
                              {1, 300},
                              {300, 1},
                              {17, 33},
                              {64, 1000}})
      for (double density : {0.0, 0.03, 0.5, 1.0})
        for (int64_t split : {16, 1024})
          for (int64_t bankOrder : {8, 32}) {
            Matrix weight = randomWeight(type, rows, cols, density,
                                         uint64_t(rows * 1000 + cols));
            Strategy strategy = csrFamily().declaration().defaults();
            strategy.set("split", split);
            strategy.set("bank_order", bankOrder);
            auto packed = packChecked(csrFamily(), weight, strategy);
            ASSERT_TRUE(bool(packed)) << message(packed.takeError());
            EXPECT_EQ(packed->attribute("slots") % 32, 0);
          }
}

TEST(CsrFormat, KeepsSpecialValuesAndDropsNegativeZero) {
  Matrix weight = llvm::cantFail(Matrix::allocate("w", ElementType::F16, 1, 6));
  const uint16_t bits[6] = {0x8000, 0x7e00, 0xfc00, 0x0001, 0x3c00, 0x0000};
  std::memcpy(weight.mutableData(), bits, sizeof(bits));
  auto packed =
      packChecked(csrFamily(), weight, csrFamily().declaration().defaults());
  ASSERT_TRUE(bool(packed)) << message(packed.takeError());
  Matrix back = llvm::cantFail(csrFamily().unpack(*packed));
  const uint16_t expected[6] = {0x0000, 0x7e00, 0xfc00, 0x0001, 0x3c00, 0x0000};
  EXPECT_EQ(0, std::memcmp(back.data, expected, sizeof(expected)));
}

TEST(CsrFormat, SharesALongRowBetweenAlignedSlots) {
  Matrix weight = randomWeight(ElementType::F16, 9, 1024, 0.01, 7);
  for (int64_t c = 0; c < weight.cols; ++c)
    storeFromDouble(ElementType::F16, 1, weight.mutableData() + c * 2);
  Strategy strategy = csrFamily().declaration().defaults();
  strategy.set("split", 64);
  auto packed = packChecked(csrFamily(), weight, strategy);
  ASSERT_TRUE(bool(packed)) << message(packed.takeError());
  EXPECT_EQ(packed->attribute("largest_group"), 4);
  const PackedBuffer &items = *packed->find("items");
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(llvm::support::endian::read32le(&items.bytes[i * 16]), 0u);
    EXPECT_EQ(llvm::support::endian::read32le(&items.bytes[i * 16 + 12]),
              4u | i << 8);
  }
}

TEST(CsrFormat, RefusesDamagedBuffers) {
  Matrix weight = randomWeight(ElementType::F16, 8, 40, 0.5, 3);
  PackedWeight packed = llvm::cantFail(
      packChecked(csrFamily(), weight, csrFamily().declaration().defaults()));
  auto refuses = [](const PackedWeight &damaged, llvm::StringRef text) {
    auto back = csrFamily().unpack(damaged);
    ASSERT_FALSE(bool(back));
    EXPECT_NE(message(back.takeError()).find(text.str()), std::string::npos);
  };
  PackedWeight row = packed;
  llvm::support::endian::write32le(row.buffers[0].bytes.data(), 8);
  refuses(row, "slot 0 is out of range");
  PackedWeight end = packed;
  llvm::support::endian::write32le(&end.buffers[0].bytes[8], 0x7fffffff);
  refuses(end, "slot 0 is out of range");
  PackedWeight column = packed;
  llvm::support::endian::write16le(&column.buffers[1].bytes[8], 41);
  refuses(column, "column 41 of quad 0 is out of range");
  PackedWeight shorter = packed;
  shorter.buffers[1].bytes.pop_back();
  refuses(shorter, "buffer sizes disagree");
  PackedWeight version = packed;
  version.version = 2;
  refuses(version, "got csr-quad version 2");
}

TEST(CsrFormat, RefusesTooManyColumns) {
  Matrix weight =
      llvm::cantFail(Matrix::allocate("w", ElementType::F16, 1, 65529));
  auto packed =
      packChecked(csrFamily(), weight, csrFamily().declaration().defaults());
  ASSERT_FALSE(bool(packed));
  EXPECT_EQ(message(packed.takeError()),
            "csr: expected at most 65528 columns, got 65529");
}

TEST(Knobs, NameTheKnobTheValueAndTheLegalSet) {
  const FamilyDeclaration &declaration = csrFamily().declaration();
  Strategy strategy = declaration.defaults();
  strategy.set("tile_n", 3);
  EXPECT_EQ(message(checkKnobs(declaration, strategy)),
            "family csr: knob 'tile_n' got 3, expected one of 1, 2, 4, 8, 16");
  strategy = declaration.defaults();
  strategy.set("tile", 1);
  EXPECT_EQ(message(checkKnobs(declaration, strategy)),
            "family csr has no knob 'tile', expected one of tile_n, warps, "
            "prefetch, x_source, split, bank_order");
}
