//===- KernelCacheTest.cpp - Symbols, sharing, refusals -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/KernelCache.h"
#include "ForwardingFamily.h"
#include "TestWeights.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

using namespace sparseditto;
using namespace sparseditto::test;

namespace {
/// csr that counts how often it is asked to build.
class CountingFamily : public ForwardingFamily {
public:
  CountingFamily() : ForwardingFamily(*findFamily("csr")) {}
  mutable std::atomic<int> builds = 0;

  llvm::Expected<BuiltKernel>
  build(mlir::MLIRContext &context, const Problem &problem,
        const Strategy &strategy, const PackedWeight &packed,
        unsigned capability, llvm::StringRef symbol) const override {
    ++builds;
    return base.build(context, problem, strategy, packed, capability, symbol);
  }
};

class KernelCacheTest : public ::testing::Test {
protected:
  KernelCacheTest() {
    llvm::sys::fs::createUniqueDirectory("sd-cache", directory);
    Matrix weight = randomWeight(ElementType::F16, 64, 96, 0.2, 7);
    problem.m = 64;
    problem.k = 96;
    strategy = family.declaration().defaults();
    packed = llvm::cantFail(packChecked(family, weight, strategy));
    if (const char *old = std::getenv("SPARSEDITTO_PTXAS"))
      ptxasBefore = old;
  }
  ~KernelCacheTest() override {
    if (ptxasBefore)
      setenv("SPARSEDITTO_PTXAS", ptxasBefore->c_str(), 1);
    else
      unsetenv("SPARSEDITTO_PTXAS");
    llvm::sys::fs::remove_directories(directory);
  }

  std::string symbol() const { return kernelSymbol(problem, strategy, packed); }

  /// A ptxas that writes a cubin and says `log` of the kernel.
  PtxasOptions fakePtxas(const std::string &log, int exitCode = 0) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, "ptxas");
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    EXPECT_FALSE(error);
    os << "#!/bin/sh\n"
          "[ \"$1\" = --version ] && {\n"
          "  echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit 0; }\n"
          "while [ $# -gt 0 ]; do\n"
          "  [ \"$1\" = -o ] && echo cubin > \"$2\"\n  shift\ndone\n"
          "cat <<'END'\n"
          "ptxas info    : Compiling entry function '"
       << symbol() << "' for 'sm_90a'\n"
       << log << "\nEND\nexit " << exitCode << "\n";
    os.close();
    llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all);
    PtxasOptions options;
    options.path = std::string(path);
    return options;
  }

  std::shared_ptr<const CachedKernel> get(KernelCache &cache) {
    return cache.get(family, problem, strategy, packed, chip);
  }
  std::shared_ptr<const CachedKernel> get(PtxasOptions options) {
    KernelCache cache(std::move(options));
    return get(cache);
  }

  CountingFamily family;
  Problem problem;
  Strategy strategy;
  PackedWeight packed;
  const Chip &chip = *llvm::cantFail(findChip("sm_90a"));
  llvm::SmallString<128> directory;
  std::optional<std::string> ptxasBefore;
};
} // namespace

TEST_F(KernelCacheTest, SymbolsAreStableAndDistinct) {
  const std::string first = symbol();
  EXPECT_TRUE(llvm::Regex("^sd_csr_[0-9a-f]{16}$").match(first)) << first;
  EXPECT_EQ(symbol(), first);
  // The N that knobs were chosen for does not change the kernel.
  problem.tuneN = 16;
  EXPECT_EQ(symbol(), first);

  std::set<std::string> symbols = {first};
  auto expectNew = [&](const char *what) {
    EXPECT_TRUE(symbols.insert(symbol()).second) << what;
  };
  strategy.set("tile_n", 4);
  expectNew("strategy");
  problem.m = 65;
  expectNew("m");
  problem.k = 97;
  expectNew("k");
  problem.type = ElementType::BF16;
  expectNew("type");
  problem.outputType = ElementType::F32;
  expectNew("output type");
  problem.layout = Layout::FeatureMajor;
  expectNew("layout");
  problem.epilogue.bias = true;
  expectNew("bias");
  problem.epilogue.activation = Activation::Silu;
  expectNew("activation");
  problem.epilogue.residual = true;
  expectNew("residual");
  packed.setAttribute("slots", 4096);
  expectNew("packed attribute");
  packed.version = 2;
  expectNew("format version");
  packed.format = "other";
  expectNew("format");
}

TEST_F(KernelCacheTest, ThreadsShareOneBuild) {
  KernelCache cache(fakePtxas("ptxas info    : Used 40 registers"));
  std::vector<std::shared_ptr<const CachedKernel>> kernels(8);
  std::vector<std::thread> threads;
  for (auto &kernel : kernels)
    threads.emplace_back([&] { kernel = get(cache); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(family.builds, 1);
  for (const auto &kernel : kernels)
    EXPECT_EQ(kernel, kernels[0]);
  EXPECT_EQ(cache.kernels().size(), 1u);
  EXPECT_EQ(kernels[0]->status, CandidateStatus::Compiled)
      << kernels[0]->message;
  EXPECT_EQ(kernels[0]->resources.registers, 40u);
  EXPECT_EQ(kernels[0]->manifest.symbol, symbol());
  EXPECT_EQ(kernels[0]->manifest.chip, "sm_90a");
  EXPECT_EQ(kernels[0]->cubin, "cubin\n");
  EXPECT_NE(kernels[0]->mlir.find("gpu.func"), std::string::npos);

  // Another strategy and another chip are other kernels.
  cache.get(family, problem, strategy, packed,
            *llvm::cantFail(findChip("sm_80")));
  strategy.set("tile_n", 2);
  get(cache);
  EXPECT_EQ(family.builds, 3);
  EXPECT_EQ(cache.kernels().size(), 3u);
}

TEST_F(KernelCacheTest, WithoutPtxasThereIsPtx) {
  setenv("SPARSEDITTO_PTXAS", "/nonexistent", 1);
  auto kernel = get(PtxasOptions());
  EXPECT_EQ(kernel->status, CandidateStatus::Compiled) << kernel->message;
  EXPECT_EQ(kernel->message, "ptxas not found: PTX only");
  EXPECT_TRUE(kernel->cubin.empty());
  EXPECT_NE(kernel->ptx.find(".visible .entry " + symbol()), std::string::npos);
}

TEST_F(KernelCacheTest, SpillsAreRefused) {
  auto kernel = get(fakePtxas(
      "ptxas info    : Function properties for " + symbol() +
      "\n"
      "    48 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n"
      "ptxas info    : Used 128 registers"));
  EXPECT_EQ(kernel->status, CandidateStatus::OverResources);
  EXPECT_EQ(kernel->message, "spills 24 bytes at 128 registers");
}

TEST_F(KernelCacheTest, TooMuchSharedMemoryIsRefused) {
  auto kernel = get(fakePtxas("ptxas info    : Used 40 registers, used 1 "
                              "barriers, 240000 bytes smem"));
  EXPECT_EQ(kernel->status, CandidateStatus::OverResources);
  EXPECT_TRUE(llvm::Regex("^needs 24[0-9]{4} bytes of shared memory, sm_90a "
                          "has 232448$")
                  .match(kernel->message))
      << kernel->message;
}

TEST_F(KernelCacheTest, PtxasErrorsAreReported) {
  auto kernel = get(fakePtxas(
      "ptxas kernel.ptx, line 12; error   : Arguments mismatch", 255));
  EXPECT_EQ(kernel->status, CandidateStatus::PtxasFailed);
  EXPECT_NE(kernel->message.find("Arguments mismatch"), std::string::npos)
      << kernel->message;
}

TEST_F(KernelCacheTest, IllegalStrategiesNameTheKnob) {
  strategy.set("tile_n", 3);
  auto kernel = get(PtxasOptions());
  EXPECT_EQ(kernel->status, CandidateStatus::Illegal);
  EXPECT_NE(kernel->message.find("tile_n"), std::string::npos)
      << kernel->message;
  EXPECT_TRUE(kernel->ptx.empty());
}
