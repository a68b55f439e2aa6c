//===- FuzzSeedsTest.cpp - Seeds that fuzzing starts from -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader that gains a field refuses its old seed at once, and fuzzing would
// no longer reach what is behind.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Floor.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/ModuleJob.h"
#include "sparseditto/Runtime/Package.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <fstream>

using namespace sparseditto;
namespace fs = llvm::sys::fs;

static std::string seed(const char *name) {
  return std::string(SPARSEDITTO_FUZZ_SEEDS) + "/" + name;
}

template <typename Read>
static std::string errorOf(const char *name, Read read) {
  auto value = readJSONFile(seed(name), 1 << 20);
  if (!value)
    return llvm::toString(value.takeError());
  auto result = read(*value);
  return result ? "" : llvm::toString(result.takeError());
}

TEST(FuzzSeeds, JSONIsAccepted) {
  EXPECT_EQ(errorOf("json/job", Job::fromJSON), "");
  EXPECT_EQ(errorOf("json/job-of-module", Job::fromJSON), "");
  EXPECT_EQ(errorOf("json/result", JobResult::fromJSON), "");
  EXPECT_EQ(errorOf("json/result-of-module", JobResult::fromJSON), "");
  EXPECT_EQ(errorOf("json/module-job", ModuleJob::fromJSON), "");
  EXPECT_EQ(errorOf("json/module-result", ModuleJobResult::fromJSON), "");
  EXPECT_EQ(errorOf("json/measurement", Measurement::fromJSON), "");
  EXPECT_EQ(errorOf("json/floor", FloorCurve::fromJSON), "");
  EXPECT_EQ(errorOf("json/kernel", KernelManifest::fromJSON), "");
  EXPECT_EQ(errorOf("json/strategy", strategyFromJSON), "");
  EXPECT_EQ(errorOf("json/problem", problemFromJSON), "");
}

/// manifest.json, a zero byte, weights.safetensors: as FuzzPackage.cpp reads
/// it.
TEST(FuzzSeeds, PackagesAreAccepted) {
  for (const char *name : {"one", "two", "library", "empty"}) {
    std::string path = seed("package/") + name;
    auto buffer = llvm::MemoryBuffer::getFile(path);
    ASSERT_TRUE(bool(buffer)) << path;
    auto [manifest, weights] = (*buffer)->getBuffer().split('\0');
    llvm::SmallString<128> directory;
    ASSERT_FALSE(fs::createUniqueDirectory("sd-seed", directory));
    ASSERT_FALSE(fs::create_directory(directory + "/kernels"));
    for (auto [file, text] : {std::pair("kernels/a.ptx", llvm::StringRef("a")),
                              {"kernels/a.mlir", "a"},
                              {"manifest.json", manifest},
                              {"weights.safetensors", weights}})
      std::ofstream(directory.str().str() + "/" + file) << text.str();
    auto package = readPackage(directory);
    EXPECT_TRUE(bool(package)) << name << llvm::toString(package.takeError());
    fs::remove_directories(directory);
  }
}
