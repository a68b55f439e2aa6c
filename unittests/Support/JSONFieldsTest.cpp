//===- JSONFieldsTest.cpp - Tests of checked reading of objects -----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/JSONFields.h"
#include "gtest/gtest.h"

using namespace sparseditto;

static llvm::json::Value parse(const char *text) {
  return llvm::cantFail(llvm::json::parse(text));
}

TEST(JSONFields, NumbersAreFinite) {
  // What reads this would write it as "inf", which is not JSON.
  llvm::json::Value value = parse(R"({"a": 1e999, "b": -1e999, "c": 1e-999})");
  for (const char *key : {"a", "b"}) {
    double number = 0.5;
    JSONFields fields(value, "point");
    fields.number(key, number);
    EXPECT_EQ(llvm::toString(fields.finish()),
              std::string("point: \"") + key + "\" is not a finite number");
    EXPECT_EQ(number, 0.5);
  }
  double number = 0.5;
  JSONFields fields(value, "point");
  fields.number("c", number);
  EXPECT_EQ(llvm::toString(fields.finish()), "");
  EXPECT_EQ(number, 0);
}

TEST(JSONFields, UnknownWordsAreShownEscaped) {
  llvm::json::Value value = parse(R"({"word": "a\n\u0000\u00e9\"b"})");
  int out = 7;
  JSONFields fields(value, "item");
  fields.word(
      "word", [](llvm::StringRef) { return std::optional<int>(); }, out);
  EXPECT_EQ(llvm::toString(fields.finish()),
            "item: unknown word 'a\\0A\\00\\C3\\A9\\22b'");
  EXPECT_EQ(out, 7);
}

TEST(JSONFields, LongWordsAreCut) {
  llvm::json::Object object{{"word", std::string(100000, 'a')}};
  llvm::json::Value value(std::move(object));
  int out = 7;
  JSONFields fields(value, "item");
  fields.word(
      "word", [](llvm::StringRef) { return std::optional<int>(); }, out);
  EXPECT_EQ(llvm::toString(fields.finish()),
            "item: unknown word '" + std::string(60, 'a') + "...'");
}
