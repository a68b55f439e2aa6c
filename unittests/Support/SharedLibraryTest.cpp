//===- SharedLibraryTest.cpp - Libraries found at run time ----------------===//
//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/SharedLibrary.h"
#include "gtest/gtest.h"

using namespace sparseditto;

TEST(SharedLibrary, SaysWhatItTried) {
  auto library = SharedLibrary::open({std::string("libnot-there.so.9")});
  ASSERT_FALSE(bool(library));
  std::string text = llvm::toString(library.takeError());
  EXPECT_EQ(text.find("cannot load any of libnot-there.so.9: "), 0u) << text;
  auto c = SharedLibrary::open(
      {std::string("libnot-there.so.9"), std::string("libc.so.6")});
  ASSERT_TRUE(bool(c)) << llvm::toString(c.takeError());
  EXPECT_NE(c->find("strlen"), nullptr);
  EXPECT_EQ(c->find("no_such_symbol_of_ours"), nullptr);
}
