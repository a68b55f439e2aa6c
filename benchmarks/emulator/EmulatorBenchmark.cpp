//===- EmulatorBenchmark.cpp - Speed of the emulator ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processor time of one product a family, with its first choice at the sm_80
// level, and all checks on:
//
//   emulator-benchmark [M K N]     (default 1024 1024 64)
//
// The weight suits the family: 2:4, half of the blocks or columns, 5 % for csr.
// "create" builds the kernel and compiles it for the host, "launch" is the
// median of five.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Emulator/EmulatorExecutor.h"
#include "sparseditto/Kernels/Family.h"
#include "sparseditto/Target/Compile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <ctime>
#include <random>
#include <string>

using namespace sparseditto;

static Matrix makeWeight(llvm::StringRef family, int64_t rows, int64_t cols) {
  const ElementType type = ElementType::F16;
  Matrix weight = llvm::cantFail(Matrix::allocate("w", type, rows, cols));
  std::mt19937 random(5);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) {
      bool kept = family == "nm"        ? (r + c) % 4 < 2
                  : family == "csr"     ? random() % 20 == 0
                  : family == "block"   ? (r / 32 + c / 32) % 2 == 0
                  : family == "channel" ? c / 16 % 2 == 0
                                        : true;
      if (kept)
        storeFromDouble(type, double(random() % 64 + 1) / 32,
                        weight.mutableData() + size_t(r * cols + c) * 2);
    }
  return weight;
}

static double processorSeconds() {
  return double(std::clock()) / CLOCKS_PER_SEC;
}

static llvm::Error measure(const KernelFamily &family, Problem problem) {
  Matrix weight = makeWeight(family.name(), problem.m, problem.k);
  llvm::Expected<PatternReport> report = analyze(weight);
  if (!report)
    return report.takeError();
  std::vector<Strategy> strategies = family.candidates(*report, problem, 80);
  if (strategies.empty())
    return llvm::createStringError("no strategy for this shape");
  auto packed = packChecked(family, weight, strategies.front());
  if (!packed)
    return packed.takeError();

  const double start = processorSeconds();
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto built =
      family.build(context, problem, strategies.front(), *packed, 80, "kernel");
  if (!built)
    return built.takeError();
  auto executor = EmulatorExecutor::create(*built->module, built->manifest);
  if (!executor)
    return executor.takeError();
  const double created = processorSeconds() - start;

  auto imageOf = [](size_t bytes) {
    BufferImage image;
    image.bytes.assign(bytes, 0);
    image.size = bytes;
    return image;
  };
  std::vector<BufferImage> images;
  for (const PackedBuffer &buffer : packed->buffers) {
    images.push_back(imageOf(buffer.bytes.size()));
    std::copy(buffer.bytes.begin(), buffer.bytes.end(),
              images.back().payload());
  }
  if (llvm::Error error = (*executor)->upload(images))
    return error;
  BufferImage x = imageOf(size_t(problem.k * problem.tuneN) * 2),
              y = imageOf(size_t(problem.m * problem.tuneN) * 2);
  LaunchRequest request;
  request.n = problem.tuneN;
  request.ldx = problem.k;
  request.ldy = problem.m;
  request.x = &x;
  request.y = &y;
  std::vector<double> launches;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double before = processorSeconds();
    if (llvm::Error error = (*executor)->launch(request))
      return error;
    launches.push_back(processorSeconds() - before);
  }
  std::nth_element(launches.begin(), launches.begin() + 2, launches.end());
  llvm::outs() << llvm::formatv(
      "{0,-8} {1}x{2}x{3} f16: create {4:F3} s, launch {5:F3} s; {6} threads, "
      "{7} warp operations, {8}\n",
      family.name(), problem.m, problem.k, problem.tuneN, created, launches[2],
      (*executor)->report().threads, (*executor)->report().warpOperations,
      strategies.front().str());
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  Problem problem{.m = 1024, .k = 1024};
  problem.tuneN = 64;
  if (argc > 3) {
    problem.m = std::stoll(argv[1]);
    problem.k = std::stoll(argv[2]);
    problem.tuneN = std::stoll(argv[3]);
  }
  int failed = 0;
  for (const KernelFamily *family : allFamilies())
    if (llvm::Error error = measure(*family, problem)) {
      llvm::errs() << family->name() << ": " << llvm::toString(std::move(error))
                   << '\n';
      failed = 1;
    }
  return failed;
}
