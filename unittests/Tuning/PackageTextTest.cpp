//===- PackageTextTest.cpp - plan.mlir and report.html --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackageText.h"
#include "gtest/gtest.h"

using namespace sparseditto;

static const char hostile[] = "<script>alert(\"1\")</script>&'\n\t\\";

static bool contains(const std::string &text, llvm::StringRef part) {
  return text.find(part) != std::string::npos;
}

TEST(ReportHTML, NamesAndReasonsAreData) {
  CompileResult result;
  CompiledRow row;
  row.layer = row.file = row.pattern = hostile;
  row.chip = "sm_90a";
  row.choice.reason = hostile;
  row.choice.strategy.family = "csr";
  result.rows.push_back(row);
  row.choice.useLibrary = true;
  result.rows.push_back(row);
  LayerMemory memory;
  memory.layer = memory.file = hostile;
  memory.formats = {hostile};
  memory.packedBytes = 123456;
  memory.denseBytes = 654321;
  result.memory.push_back(memory);
  result.skipped.push_back({hostile, hostile, hostile});
  result.notes.push_back(hostile);
  std::string html = reportHTML(result);
  EXPECT_FALSE(contains(html, "<script"));
  EXPECT_FALSE(contains(html, "alert(\""));
  EXPECT_TRUE(contains(html, "&lt;script&gt;alert(&quot;1&quot;)"));
  EXPECT_TRUE(contains(html, "123456"));
  EXPECT_TRUE(contains(html, "654321"));
  EXPECT_TRUE(contains(html, "dense library"));
}

TEST(PlanText, SpellsRangesAndEscapesNames) {
  Package package;
  PackageLayer layer;
  layer.name = "a\"b\\c\n";
  PlanEntry first;
  first.chip = "sm_90a";
  first.nMax = 4;
  first.strategy.family = "csr";
  first.strategy.set("tile_n", 4);
  first.strategy.set("warps", 16);
  PlanEntry rest;
  rest.chip = "sm_90a";
  rest.nMin = 5;
  rest.useLibrary = true;
  layer.plan = {first, rest};
  package.layers.push_back(layer);
  std::string text = planText(package);
  EXPECT_TRUE(contains(
      text, "\"a\\22b\\\\c\\0A:sm_90a\" = #sparsepattern.plan<[\"n <= 4\" : "
            "<csr, {tile_n = 4, warps = 16}>, else : <library>]>"))
      << text;
}

TEST(PlanText, AnEmptyPackageIsAModule) {
  EXPECT_TRUE(contains(planText(Package()), "module attributes"));
}
