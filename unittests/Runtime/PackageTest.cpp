//===- PackageTest.cpp - Tests of the package directory -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/Review.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <fstream>
#include <unistd.h>

using namespace sparseditto;
namespace fs = llvm::sys::fs;

namespace {
/// A folder that goes away with the test.
class PackageTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(fs::createUniqueDirectory("sd-package", path));
    root = std::string(path);
    directory = root + "/pkg";
  }
  void TearDown() override { fs::remove_directories(root); }

  /// Rewrites one place of the manifest.
  void edit(llvm::StringRef from, llvm::StringRef to) {
    std::string path = directory + "/manifest.json";
    std::string text = llvm::cantFail(llvm::errorOrToExpected(
                                          llvm::MemoryBuffer::getFile(path)))
                           ->getBuffer()
                           .str();
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from.str();
    text.replace(at, from.size(), to);
    std::ofstream(path) << text;
  }
  std::string readError() {
    auto package = readPackage(directory);
    if (package)
      return "";
    std::string text = llvm::toString(package.takeError());
    // Without the folder, which differs from run to run.
    if (size_t at = text.find(directory); at != std::string::npos)
      text.replace(at, directory.size(), "PKG");
    return text;
  }

  std::string root, directory;
};
} // namespace

using Files = std::vector<std::pair<std::string, std::string>>;
static const Files files = {{"kernels/a.ptx", ".version 8.5\n"},
                            {"kernels/a.mlir", "module {}\n"},
                            {"plan.mlir", "// plan\n"}};

static Package sample() {
  Package package;
  package.sourceVersion = "SparseDitto 0.1.0";
  PackageLayer layer;
  layer.name = "fc1/weight";
  layer.sourceFile = "model.safetensors";
  layer.problem = {.m = 4, .k = 6};
  layer.weight = llvm::cantFail(Matrix::allocate("w", ElementType::F16, 4, 6));
  for (int i = 0; i < 24; i += 3)
    storeFromDouble(ElementType::F16, i, layer.weight.mutableData() + 2 * i);
  PackedWeight packed;
  packed.format = "csr";
  packed.m = 4;
  packed.k = 6;
  packed.setAttribute("max_row", 2);
  packed.buffers.push_back(
      {"values", ElementType::F16, {2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}});
  packed.buffers.push_back({"empty", ElementType::I32, {0}, {}});
  layer.packed.push_back(packed);
  KernelManifest kernel;
  kernel.symbol = "k0";
  kernel.strategy.family = "csr";
  kernel.format = "csr";
  kernel.problem = layer.problem;
  kernel.chip = "sm_90a";
  kernel.ptxFile = "kernels/a.ptx";
  kernel.mlirFile = "kernels/a.mlir";
  kernel.args.push_back({ArgKind::Packed, "values", ElementType::F16, 16});
  for (KernelArg &arg : activationArgs(layer.problem))
    kernel.args.push_back(arg);
  layer.kernels.push_back(kernel);
  layer.plan.push_back({.chip = "sm_90a",
                        .nMin = 1,
                        .nMax = 64,
                        .symbol = "k0",
                        .strategy = kernel.strategy,
                        .reason = "fewest bytes",
                        .predictedMicroseconds = 2.5});
  layer.plan.push_back({.chip = "sm_90a", .nMin = 65, .useLibrary = true});
  layer.report = llvm::json::Object{{"pattern", "unstructured"}};
  package.layers.push_back(std::move(layer));
  return package;
}

static std::string writeError(const Package &package, const Files &with,
                              const std::string &directory) {
  return llvm::toString(writePackage(package, with, directory));
}

TEST_F(PackageTest, RoundTrips) {
  ASSERT_EQ(writeError(sample(), files, directory + "/"), "");
  auto package = readPackage(directory);
  ASSERT_TRUE(bool(package)) << llvm::toString(package.takeError());
  Package wanted = sample();
  EXPECT_EQ(package->sourceVersion, wanted.sourceVersion);
  ASSERT_EQ(package->layers.size(), 1u);
  const PackageLayer &layer = package->layers[0], &other = wanted.layers[0];
  EXPECT_EQ(layer.name, other.name);
  EXPECT_EQ(layer.weight.bytes(), other.weight.bytes());
  ASSERT_EQ(layer.packed.size(), 1u);
  EXPECT_EQ(layer.packed[0].attribute("max_row"), 2);
  ASSERT_EQ(layer.packed[0].buffers.size(), 2u);
  EXPECT_EQ(layer.packed[0].buffers[0].bytes, other.packed[0].buffers[0].bytes);
  EXPECT_EQ(layer.packed[0].buffers[0].shape, std::vector<int64_t>({2, 2}));
  EXPECT_EQ(layer.packed[0].buffers[1].bytes.size(), 0u);
  EXPECT_EQ(layer.kernels[0].toJSON(), other.kernels[0].toJSON());
  EXPECT_EQ(layer.plan[0].reason, "fewest bytes");
  EXPECT_DOUBLE_EQ(layer.plan[0].predictedMicroseconds, 2.5);
  EXPECT_TRUE(layer.plan[1].useLibrary);
  EXPECT_EQ(layer.report, other.report);
  EXPECT_EQ(llvm::cantFail(readPackageFile(*package, "kernels/a.ptx")),
            ".version 8.5\n");
  auto outside = readPackageFile(*package, "../x");
  EXPECT_EQ(llvm::toString(outside.takeError()),
            "file name '../x' is not a plain relative path");
  EXPECT_TRUE(bool(readPackage(directory, "fc1/weight")));
  auto none = readPackage(directory, "fc2");
  EXPECT_EQ(llvm::toString(none.takeError()),
            directory + "/manifest.json: no layer 'fc2'");
  // Nothing is left beside the package.
  std::error_code code;
  int entries = 0;
  for (fs::directory_iterator it(root, code), end; it != end && !code;
       it.increment(code))
    ++entries;
  EXPECT_EQ(entries, 1);
}

TEST_F(PackageTest, ReplacesPackagesAndNothingElse) {
  ASSERT_EQ(writeError(sample(), files, directory), "");
  std::ofstream(directory + "/kernels/stale.ptx") << "old";
  ASSERT_EQ(writeError(sample(), files, directory), "");
  EXPECT_FALSE(fs::exists(directory + "/kernels/stale.ptx"));

  std::string other = root + "/other";
  fs::create_directory(other);
  ASSERT_EQ(writeError(sample(), files, other), ""); // Empty is fine.
  fs::remove_directories(other);
  fs::create_directory(other);
  std::ofstream(other + "/precious.txt") << "data";
  EXPECT_EQ(writeError(sample(), files, other),
            other + ": exists and is not a package; not replaced");
  EXPECT_TRUE(fs::exists(other + "/precious.txt"));
  std::string file = root + "/file";
  std::ofstream(file) << "data";
  EXPECT_EQ(writeError(sample(), files, file),
            file + ": exists and is not a package; not replaced");
}

TEST_F(PackageTest, RefusesInconsistentPackages) {
  auto errorOf = [&](auto change) {
    Package package = sample();
    change(package.layers[0]);
    return writeError(package, files, directory);
  };
  EXPECT_EQ(errorOf([](PackageLayer &layer) { layer.name = ""; }),
            "layer name '' is empty, too long, not UTF-8 or used twice");
  EXPECT_EQ(errorOf([](auto &layer) { layer.problem.m = 5; }),
            "layer 'fc1/weight': weight is 4 x 6 f16, the problem is 5 x 6 "
            "f16");
  EXPECT_EQ(errorOf([](auto &layer) { layer.packed[0].k = 7; }),
            "layer 'fc1/weight': packed format 'csr' is 4 x 7, the layer is 4 "
            "x 6");
  EXPECT_EQ(
      errorOf([](auto &layer) { layer.packed[0].buffers[0].bytes.pop_back(); }),
      "layer 'fc1/weight': packed format 'csr': buffer 'values' holds 7 bytes, "
      "its shape and type need 8");
  EXPECT_EQ(errorOf([](auto &layer) {
              layer.packed[0].buffers[0].shape = {int64_t(1) << 62, 8};
            }),
            "layer 'fc1/weight': packed format 'csr': buffer 'values' holds 8 "
            "bytes, its shape and type overflow");
  EXPECT_EQ(errorOf([](auto &layer) { layer.kernels[0].problem.k = 7; }),
            "kernel 'k0' is for 4 x 7 f16, layer 'fc1/weight' is 4 x 6 f16");
  EXPECT_EQ(errorOf([](auto &layer) { layer.kernels[0].format = "bsr"; }),
            "kernel 'k0' of layer 'fc1/weight' reads format 'bsr' v1, which "
            "the layer does not have");
  EXPECT_EQ(
      errorOf([](auto &layer) { layer.packed.push_back(layer.packed[0]); }),
      "kernel 'k0' of layer 'fc1/weight' reads format 'csr' v1, which the "
      "layer has more than once");
  EXPECT_EQ(errorOf([](auto &layer) {
              layer.packed.push_back(layer.packed[0]);
              layer.kernels[0].packedIndex = 1;
            }),
            "");
  EXPECT_EQ(errorOf([](auto &layer) { layer.kernels[0].packedIndex = 4; }),
            "kernel 'k0' of layer 'fc1/weight' reads format 'csr' v1 as packed "
            "weight 4 of 1");
  EXPECT_EQ(errorOf([](auto &layer) {
              layer.kernels[0].args[0].type = ElementType::BF16;
            }),
            "kernel 'k0' reads buffer 'values' of bf16, format 'csr' of layer "
            "'fc1/weight' has f16");
  EXPECT_EQ(
      errorOf([](auto &layer) { layer.kernels.push_back(layer.kernels[0]); }),
      "layer 'fc1/weight': kernel 'k0' is given twice for sm_90a");
  EXPECT_EQ(errorOf([](auto &layer) { layer.plan.pop_back(); }),
            "plan of layer 'fc1/weight' on sm_90a: nothing serves N > 64");
  EXPECT_EQ(errorOf([](auto &layer) { layer.plan[1].nMin = 66; }),
            "plan of layer 'fc1/weight' on sm_90a: entry for N in [66, 0] does "
            "not follow N = 64");
  EXPECT_EQ(errorOf([](auto &layer) { layer.plan[0].symbol = "k1"; }),
            "plan of layer 'fc1/weight' on sm_90a: kernel 'k1' is not in the "
            "layer");
  EXPECT_EQ(errorOf([](auto &layer) { layer.kernels[0].nMax = 32; }),
            "plan of layer 'fc1/weight' on sm_90a: kernel 'k0' serves N in [1, "
            "32], the entry asks for [1, 64]");
  EXPECT_EQ(errorOf([](auto &layer) {
              layer.kernels[0].cubinFile = "kernels/a.cubin";
            }),
            "kernel 'k0' names file 'kernels/a.cubin', which is not given");
  EXPECT_EQ(writeError(sample(), {{"../x", ""}}, directory),
            "package file name '../x' is not a plain relative path or is "
            "reserved");
  EXPECT_EQ(writeError(sample(), {{"manifest.json", ""}}, directory),
            "package file name 'manifest.json' is not a plain relative path or "
            "is reserved");
}

TEST_F(PackageTest, DiagnosesDamagedPackages) {
  EXPECT_EQ(readError(), "PKG: not a directory, so not a package");
  auto fresh = [&] {
    fs::remove_directories(directory);
    EXPECT_EQ(writeError(sample(), files, directory), "");
  };
  fresh();
  edit("\"schema\": 1", "\"schema\": 2");
  EXPECT_EQ(readError(), "PKG/manifest.json: schema 2, this version reads 1");
  fresh();
  edit("\"use_library\": false", "\"use_library\": 3");
  EXPECT_EQ(readError(), "PKG/manifest.json: layer: plan entry: "
                         "\"use_library\" is not true or false");
  fresh();
  edit("fc1/weight/csr/values", "fc1/weight/csr/valves");
  EXPECT_EQ(readError(),
            "PKG/manifest.json: layer: packed weight: buffer: tensor "
            "'fc1/weight/csr/valves' is not in weights.safetensors");
  fresh();
  edit("kernels/a.ptx", "kernels/b.ptx");
  EXPECT_EQ(readError(), "PKG/manifest.json: kernel 'k0': file "
                         "'kernels/b.ptx' does not exist");
  fresh();
  edit("kernels/a.ptx", "../../../../etc/passwd");
  EXPECT_EQ(readError(),
            "PKG/manifest.json: layer: kernel 'k0': file name "
            "'../../../../etc/passwd' is not a plain relative path");
  fresh();
  // Copies of one tensor would make a small file a large package.
  edit("fc1/weight/csr/values", "fc1/weight/csr/empty");
  EXPECT_EQ(readError(), "PKG/manifest.json: layer: packed weight: buffer: "
                         "tensor 'fc1/weight/csr/empty' is used twice");
  fresh();
  edit("\"chip\": \"sm_90a\"", "\"chip\": \"sm\\n90a\"");
  EXPECT_EQ(readError().find('\n'), std::string::npos) << readError();
  fresh();
  edit("\"name\": \"fc1/weight\"", "\"name\": \"fc1\\nweight\"");
  edit("\"m\": 4", "\"m\": 8");
  EXPECT_EQ(readError().find('\n'), std::string::npos) << readError();
  fresh();
  ASSERT_EQ(truncate((directory + "/kernels/a.ptx").c_str(), off_t(257) << 20),
            0);
  {
    auto package = readPackage(directory);
    ASSERT_TRUE(bool(package));
    auto text = readPackageFile(*package, "kernels/a.ptx");
    EXPECT_EQ(llvm::toString(text.takeError()),
              directory + "/kernels/a.ptx: 269484032 bytes, at most 268435456 "
                          "are read");
  }
  fresh();
  edit("\"m\": 4", "\"m\": 8");
  EXPECT_NE(readError(), "");
  fresh();
  fs::remove(directory + "/weights.safetensors");
  EXPECT_NE(readError().find("weights.safetensors"), std::string::npos);
  fresh();
  ASSERT_EQ(truncate((directory + "/weights.safetensors").c_str(), 100), 0);
  EXPECT_NE(readError().find("weights.safetensors"), std::string::npos);
  fresh();
  std::ofstream(directory + "/manifest.json") << "{\"schema\": 1,";
  EXPECT_EQ(readError().find("PKG/manifest.json: ["), 0u) << readError();
  // Deep nesting would overflow the stack of the parser.
  std::ofstream(directory + "/manifest.json") << std::string(1 << 20, '[');
  EXPECT_EQ(readError(),
            "PKG/manifest.json: JSON nested 1048576 deep, at most 64 is read");
}

/// A byte of the manifest at a time: an error or a package, never a crash.
TEST_F(PackageTest, SurvivesFlippedBytes) {
  ASSERT_EQ(writeError(sample(), files, directory), "");
  std::string path = directory + "/manifest.json";
  std::string text =
      llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)))
          ->getBuffer()
          .str();
  size_t refused = 0;
  for (size_t i = 0; i < text.size(); i += 3) {
    if (text[i] == ' ' || text[i] == '\n')
      continue;
    std::string changed = text;
    changed[i] ^= 0x11;
    std::ofstream(path) << changed;
    auto package = readPackage(directory);
    if (!package) {
      ++refused;
      llvm::consumeError(package.takeError());
    }
  }
  EXPECT_GT(refused, text.size() / 12);
}

//===----------------------------------------------------------------------===//
// Kernels that a person has to look at
//===----------------------------------------------------------------------===//

/// sample() with its kernel rewritten by an agent.
static Package customSample() {
  Package package = sample();
  KernelManifest &kernel = package.layers[0].kernels[0];
  kernel.custom.emplace();
  kernel.custom->base = kernel.strategy;
  kernel.custom->reason = "loads first";
  kernel.custom->diffFile = "kernels/a.diff";
  kernel.strategy.family = "custom";
  return package;
}

static Files customFiles() {
  Files with = files;
  with.emplace_back("kernels/a.diff", "@@ -1,1 +1,1 @@\n-a\n+b\n");
  return with;
}

class ReviewTest : public PackageTest {
protected:
  Review review() {
    Package package =
        llvm::cantFail(readPackage(directory, "", PackageUse::Review));
    return llvm::cantFail(reviewOf(package, package.layers[0].kernels[0]));
  }
  std::string approve(llvm::StringRef symbol, llvm::StringRef by) {
    auto count = approveKernel(directory, symbol, by);
    if (count)
      return std::to_string(*count);
    std::string text = llvm::toString(count.takeError());
    if (size_t at = text.find(directory); at != std::string::npos)
      text.replace(at, directory.size(), "PKG");
    return text;
  }
};

TEST_F(ReviewTest, UnreviewedUntilApprovedAndAgainWhenChanged) {
  ASSERT_EQ(writeError(customSample(), customFiles(), directory), "");
  Package package = llvm::cantFail(readPackage(directory));
  const KernelManifest &kernel = package.layers[0].kernels[0];
  EXPECT_EQ(kernel.toJSON(), customSample().layers[0].kernels[0].toJSON());
  EXPECT_TRUE(kernel.isUnreviewed());
  EXPECT_EQ(review(), Review::Unreviewed);
  EXPECT_EQ(llvm::toString(checkReviewed(package)),
            "kernel 'k0' is unreviewed: an agent wrote it and no person "
            "approved it (sd-tune approve)");

  EXPECT_EQ(approve("k0", "Ada"), "1");
  package = llvm::cantFail(readPackage(directory));
  EXPECT_EQ(package.layers[0].kernels[0].custom->approvedBy, "Ada");
  EXPECT_FALSE(package.layers[0].kernels[0].isUnreviewed());
  EXPECT_EQ(llvm::toString(checkReviewed(package)), "");
  EXPECT_EQ(review(), Review::Approved);

  // Each file counts, and so does what moves from one to the next.
  for (const char *file :
       {"kernels/a.mlir", "kernels/a.ptx", "kernels/a.diff"}) {
    std::string path = directory + "/" + file;
    std::string before = llvm::cantFail(readPackageFile(package, file));
    std::ofstream(path) << before << " ";
    EXPECT_EQ(review(), Review::Changed) << file;
    EXPECT_EQ(
        llvm::toString(checkReviewed(package)),
        "kernel 'k0' has changed since Ada approved it (sd-tune approve)");
    std::ofstream(path) << before;
    EXPECT_EQ(review(), Review::Approved) << file;
  }
  std::ofstream(directory + "/kernels/a.mlir") << "module {}\n.";
  std::ofstream(directory + "/kernels/a.ptx") << "version 8.5\n";
  EXPECT_EQ(review(), Review::Changed);
  EXPECT_EQ(approve("k0", "Grace"), "1");
  EXPECT_EQ(review(), Review::Approved);
}

TEST_F(ReviewTest, PackagesFromBeforeTheseFieldsAreRead) {
  ASSERT_EQ(writeError(sample(), files, directory), "");
  // Written without either, as packages always were.
  const std::string text =
      llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(
                         directory + "/manifest.json")))
          ->getBuffer()
          .str();
  EXPECT_EQ(text.find("custom"), std::string::npos);
  EXPECT_EQ(text.find("production"), std::string::npos);
  Package package = llvm::cantFail(readPackage(directory));
  EXPECT_FALSE(package.production);
  EXPECT_FALSE(package.layers[0].kernels[0].custom);
  EXPECT_EQ(review(), Review::NotNeeded);
}

TEST_F(ReviewTest, WhatCannotBeApproved) {
  ASSERT_EQ(writeError(customSample(), customFiles(), directory), "");
  EXPECT_EQ(approve("k1", "Ada"), "PKG/manifest.json: no kernel 'k1'");
  for (std::string by : {std::string(), std::string(" "), std::string("a\nb"),
                         std::string("\xff"), std::string(201, 'a')})
    EXPECT_EQ(approve("k0", by),
              "the name of who approves is empty, longer than 200 bytes or not "
              "printable");
  EXPECT_EQ(review(), Review::Unreviewed);
  ASSERT_EQ(writeError(sample(), files, directory), "");
  EXPECT_EQ(approve("k0", "Ada"),
            "kernel 'k0' needs no approval: no agent wrote it");
  EXPECT_EQ(review(), Review::NotNeeded);
}

TEST_F(ReviewTest, ProductionTakesApprovedKernelsOnly) {
  Package package = customSample();
  package.production = true;
  EXPECT_EQ(writeError(package, customFiles(), directory),
            "kernel 'k0' is unreviewed: an agent wrote it and no person "
            "approved it (sd-tune approve)");
  EXPECT_FALSE(fs::exists(directory));
  // Marked later.
  ASSERT_EQ(writeError(customSample(), customFiles(), directory), "");
  edit("\"layers\"", "\"production\": true, \"layers\"");
  EXPECT_EQ(readError(),
            "PKG/manifest.json: kernel 'k0' is unreviewed: an agent wrote it "
            "and no person approved it (sd-tune approve)");
  EXPECT_EQ(approve("k0", "Ada"), "1");
  EXPECT_EQ(readError(), "");
  EXPECT_TRUE(llvm::cantFail(readPackage(directory)).production);
  std::ofstream(directory + "/kernels/a.mlir") << "module { }\n";
  EXPECT_EQ(readError(),
            "PKG/manifest.json: kernel 'k0' has changed since Ada approved it "
            "(sd-tune approve)");
  // Without an agent's kernels it is a mark and nothing more.
  package = sample();
  package.production = true;
  ASSERT_EQ(writeError(package, files, directory), "");
  EXPECT_TRUE(llvm::cantFail(readPackage(directory)).production);
}

TEST_F(ReviewTest, DiagnosesDamagedReviews) {
  ASSERT_EQ(writeError(customSample(), customFiles(), directory), "");
  edit("\"unreviewed\"", "\"fine\"");
  EXPECT_NE(readError().find("review: unknown state 'fine'"), std::string::npos)
      << readError();
  edit("\"fine\"", "\"approved\"");
  EXPECT_NE(readError().find("review has no \"by\""), std::string::npos)
      << readError();
  edit("\"approved\"", "\"approved\", \"by\": \"x\", \"hash\": \"\"");
  EXPECT_NE(readError().find("approved without a name or a hash"),
            std::string::npos)
      << readError();
  edit("\"hash\": \"\"", "\"hash\": \"00\"");
  EXPECT_EQ(review(), Review::Changed);
  edit("\"kernels/a.diff\"", "\"../a.diff\"");
  EXPECT_NE(readError().find("'../a.diff' is not a plain relative path"),
            std::string::npos)
      << readError();
  edit("\"../a.diff\"", "\"none\"");
  EXPECT_NE(readError().find("file 'none' does not exist"), std::string::npos)
      << readError();
  // The mark of an agent's kernel is its family, with or without the rest.
  Package package = customSample();
  package.layers[0].kernels[0].custom.reset();
  ASSERT_EQ(writeError(package, files, directory), "");
  EXPECT_EQ(review(), Review::Unreviewed);
  package = customSample();
  package.layers[0].kernels[0].strategy.family = "csr";
  EXPECT_EQ(writeError(package, customFiles(), directory),
            "kernel 'k0': rewritten, but of family 'csr' and not 'custom'");
}
