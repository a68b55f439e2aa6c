//===- PrintableTest.cpp - Tests of text from outside in messages ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/Printable.h"
#include "gtest/gtest.h"

using namespace sparseditto;

TEST(Printable, EscapesAndCuts) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable(llvm::StringRef("a\0b\n\x1b\xff", 6)),
            "a\\00b\\0A\\1B\\FF");
  EXPECT_EQ(printable("'quoted' \"twice\" \\"), "'quoted' \\22twice\\22 \\\\");
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
}

TEST(Printable, LinesKeepTheirQuotes) {
  EXPECT_EQ(printableLine("got '\n\x7f', wanted \"x\""),
            "got '  ', wanted \"x\"");
  EXPECT_EQ(printableLine(std::string(401, 'a')),
            std::string(400, 'a') + "...");
}
