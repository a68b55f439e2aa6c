//===- GuardedBufferTests.cpp - Tests of guarded buffers ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestKernel.h"

using namespace sparseditto;

TEST(GuardedBuffer, EndTouchesTheGuardPage) {
  GuardedBufferOptions options;
  options.alignment = 2;
  GuardedBuffer buffer =
      llvm::cantFail(GuardedBuffer::create("b", 1002, options));
  EXPECT_EQ((buffer.devicePointer() + 1002) % 4096, 0u);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(*(volatile uint8_t *)(buffer.data() + 1002), "");
}

TEST(GuardedBuffer, StartTouchesTheGuardPage) {
  GuardedBufferOptions options;
  options.side = GuardedBufferOptions::Start;
  GuardedBuffer buffer =
      llvm::cantFail(GuardedBuffer::create("b", 1002, options));
  EXPECT_EQ(buffer.devicePointer() % 4096, 0u);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(*(volatile uint8_t *)(buffer.data() - 1), "");
}

TEST(GuardedBuffer, OffsetDecidesTheAlignment) {
  for (auto side : {GuardedBufferOptions::End, GuardedBufferOptions::Start})
    for (unsigned offset : {0u, 2u, 8u, 254u})
      for (size_t size : {0, 1, 255, 256, 5000}) {
        GuardedBufferOptions options;
        options.side = side;
        options.offset = offset;
        auto buffer = llvm::cantFail(GuardedBuffer::create("b", size, options));
        EXPECT_EQ(buffer.devicePointer() % 256, offset);
        for (uint8_t byte : buffer.bytes())
          ASSERT_EQ(byte, 0xff);
      }
}

TEST(GuardedBuffer, RefusesBadOptions) {
  GuardedBufferOptions options;
  options.alignment = 3;
  EXPECT_EQ(textOf(GuardedBuffer::create("b", 4, options).takeError()),
            "buffer 'b': alignment 3 with offset 0 is not a power of two up to "
            "4096 with an offset below it");
  EXPECT_EQ(textOf(GuardedBuffer::create("b", SIZE_MAX).takeError()),
            "buffer 'b': 18446744073709551615 bytes exceed the limit");
}

TEST(GuardedBuffer, Moves) {
  GuardedBuffer a = bufferOf<int>("a", {1, 2, 3});
  GuardedBuffer b = std::move(a);
  EXPECT_EQ(a.size(), 0u);
  EXPECT_EQ(valuesOf<int>(b), (std::vector<int>{1, 2, 3}));
  a = std::move(b);
  EXPECT_EQ(valuesOf<int>(a), (std::vector<int>{1, 2, 3}));
}
