//===- ManifestTest.cpp - Tests of the launch contract --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Kernels/Packed.h"
#include "gtest/gtest.h"

using namespace sparseditto;

static KernelManifest sample() {
  KernelManifest manifest;
  manifest.symbol = "sd_nm_layer0_n16";
  manifest.strategy.family = "nm";
  manifest.strategy.set("warps", 16);
  manifest.strategy.set("tile_n", 8);
  manifest.format = "nm24-fragment";
  manifest.problem = {.m = 4096,
                      .k = 11008,
                      .type = ElementType::F16,
                      .outputType = ElementType::F32,
                      .layout = Layout::FeatureMajor,
                      .epilogue = {.bias = true,
                                   .activation = Activation::Silu,
                                   .residual = true},
                      .tuneN = 16};
  manifest.nMin = 2;
  manifest.nMax = 64;
  manifest.grid = {GridDim{32, 0}, GridDim{1, 16}, GridDim{}};
  manifest.block = {128, 2, 1};
  manifest.dynamicSharedBytes = 98304;
  manifest.args.push_back({ArgKind::Packed, "values", ElementType::F16, 256});
  for (KernelArg &arg : activationArgs(manifest.problem))
    manifest.args.push_back(arg);
  manifest.weightBytes = 1234567;
  manifest.chip = "sm_90a";
  manifest.ptxVersion = 85;
  manifest.ptxFile = "kernels/a.ptx";
  manifest.mlirFile = "kernels/a.mlir";
  manifest.sourceHash = "0123456789abcdef";
  return manifest;
}

static std::string text(const llvm::json::Value &value) {
  std::string out;
  llvm::raw_string_ostream(out) << value;
  return out;
}

static std::string errorOf(const llvm::json::Value &value) {
  auto manifest = KernelManifest::fromJSON(value);
  return manifest ? std::string() : llvm::toString(manifest.takeError());
}

TEST(Manifest, RoundTripsThroughText) {
  std::string first = text(sample().toJSON());
  auto parsed = llvm::json::parse(first);
  ASSERT_TRUE(bool(parsed));
  auto manifest = KernelManifest::fromJSON(*parsed);
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(text(manifest->toJSON()), first);
  EXPECT_EQ(manifest->strategy.str(), "nm{warps=16,tile_n=8}");
  EXPECT_EQ(manifest->grid[1].evaluate(17), 2);
  EXPECT_EQ(manifest->args.size(), 9u);
}

TEST(Manifest, EveryFieldIsRequired) {
  llvm::json::Value whole = sample().toJSON();
  for (const auto &field : *whole.getAsObject()) {
    llvm::json::Value copy = whole;
    copy.getAsObject()->erase(field.first);
    EXPECT_EQ(errorOf(copy),
              "kernel has no \"" + llvm::StringRef(field.first).str() + "\"");
  }
}

TEST(Manifest, EveryFieldRefusesAnotherType) {
  llvm::json::Value whole = sample().toJSON();
  for (const auto &field : *whole.getAsObject()) {
    llvm::json::Value copy = whole;
    (*copy.getAsObject())[field.first] = true;
    EXPECT_NE(errorOf(copy), "") << llvm::StringRef(field.first).str();
  }
  EXPECT_EQ(errorOf(nullptr), "kernel is not an object");
}

TEST(Manifest, DiagnosesWhatCannotBeLaunched) {
  auto changed = [](auto change) {
    KernelManifest manifest = sample();
    change(manifest);
    return llvm::toString(manifest.verify());
  };
  EXPECT_EQ(changed([](KernelManifest &) {}), "");
  EXPECT_EQ(changed([](auto &m) { m.symbol = "a b"; }),
            "kernel symbol 'a b' is not an identifier of 1 to 256 characters");
  EXPECT_EQ(changed([](auto &m) { m.block = {1024, 2, 1}; }),
            "kernel 'sd_nm_layer0_n16': 2048 threads a block, at most 1024 are "
            "allowed");
  EXPECT_EQ(changed([](auto &m) { m.nMax = 1; }),
            "kernel 'sd_nm_layer0_n16': N range [2, 1] is empty or out of "
            "range");
  EXPECT_EQ(changed([](auto &m) { m.grid[2].factor = 0; }),
            "kernel 'sd_nm_layer0_n16': grid dimension 0 * ceil(N / 0) is out "
            "of range");
  EXPECT_EQ(changed([](auto &m) { std::swap(m.args[1], m.args[2]); }),
            "kernel 'sd_nm_layer0_n16': argument 1 is 'y', expected 'x'");
  EXPECT_EQ(changed([](auto &m) { m.args[2].type = ElementType::F16; }),
            "kernel 'sd_nm_layer0_n16': argument 'y' has type f16, expected "
            "f32");
  EXPECT_EQ(changed([](auto &m) { m.args[1].alignment = 16; }),
            "kernel 'sd_nm_layer0_n16': argument 'x' wants alignment 16, "
            "callers promise only 2");
  EXPECT_EQ(changed([](auto &m) { m.args[0].alignment = 24; }),
            "kernel 'sd_nm_layer0_n16': packed argument 'values' has alignment "
            "24, expected a power of two up to 256");
  EXPECT_EQ(changed([](auto &m) { m.args.pop_back(); }),
            "kernel 'sd_nm_layer0_n16': 7 arguments after the packed buffers, "
            "the problem needs 8");
  // Names end up in messages, in file names and in generated text.
  EXPECT_EQ(changed([](auto &m) { m.strategy.family = "n\nm"; }),
            "kernel 'sd_nm_layer0_n16': family 'n\\0Am' is not 1 to 256 "
            "letters, digits and \"_-.\"");
  EXPECT_EQ(changed([](auto &m) { m.format = ""; }),
            "kernel 'sd_nm_layer0_n16': packed format '' v1 is not 1 to 256 "
            "letters, digits and \"_-.\" and a version of at least 1");
  EXPECT_EQ(changed([](auto &m) { m.chip = "sm 90"; }),
            "kernel 'sd_nm_layer0_n16': chip 'sm 90' is not 1 to 256 letters, "
            "digits and \"_-.\"");
  EXPECT_EQ(changed([](auto &m) { m.args[0].name = "\x1b[2J"; }),
            "kernel 'sd_nm_layer0_n16': name '\\1B[2J' of argument 0 is not 1 "
            "to 256 letters, digits and \"_-.\"");
  EXPECT_EQ(changed([](auto &m) {
              m.args.back().name = "\x7f";
            }).find("kernel 'sd_nm_layer0_n16': name '\\7F' of argument "),
            0u);
  EXPECT_EQ(changed([](auto &m) { m.symbol = std::string(1 << 20, 'a'); }),
            "kernel symbol '" + std::string(60, 'a') +
                "...' is not an identifier of 1 to 256 characters");
  EXPECT_EQ(changed([](auto &m) { m.ptxFile = "../x.ptx"; }),
            "kernel 'sd_nm_layer0_n16': file name '../x.ptx' is not a plain "
            "relative path");
}

TEST(Manifest, PackagePathsStayInside) {
  for (const char *good : {"a", "kernels/a.ptx", "a/b/c.d"})
    EXPECT_TRUE(isPackagePath(good)) << good;
  for (const char *bad :
       {"", "/etc/passwd", "a//b", "a/", "./a", "a/../b", "..", "a\\b", "c:/x",
        "a\nb", "a\x7f", "\xc3\xa9", "a'b", "a\"b"})
    EXPECT_FALSE(isPackagePath(bad)) << bad;
}

TEST(Manifest, StrategyRefusesRepeatedKnobs) {
  auto strategy = strategyFromJSON(llvm::json::Object{
      {"family", "nm"},
      {"knobs",
       llvm::json::Array{llvm::json::Object{{"name", "a"}, {"value", 1}},
                         llvm::json::Object{{"name", "a"}, {"value", 2}}}}});
  ASSERT_FALSE(bool(strategy));
  EXPECT_EQ(llvm::toString(strategy.takeError()),
            "strategy: knob name 'a' is not 1 to 256 letters, digits and "
            "\"_-.\", or given twice");
}

TEST(Packed, AttributesStaySorted) {
  PackedWeight packed;
  packed.setAttribute("rows", 3);
  packed.setAttribute("chunks", 2);
  packed.setAttribute("rows", 5);
  ASSERT_EQ(packed.attributes.size(), 2u);
  EXPECT_EQ(packed.attributes[0].first, "chunks");
  EXPECT_EQ(packed.attribute("rows"), 5);
  EXPECT_EQ(packed.attribute("missing", -7), -7);
  packed.buffers.push_back({"values", ElementType::U8, {4}, {1, 2, 3, 4}});
  EXPECT_EQ(packed.numBytes(), 4);
  EXPECT_EQ(packed.find("other"), nullptr);
}
