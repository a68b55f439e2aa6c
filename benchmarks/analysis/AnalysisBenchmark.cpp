//===- AnalysisBenchmark.cpp - Speed of analyze() -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes of weights analysed a second, for several patterns and element types:
//
//   analysis-benchmark [THREADS [ROWS COLS]]
//
// The rate a core divides by the processor time of all threads, which a busy
// machine does not stretch as it does the wall time.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Analysis/Analyze.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <random>
#include <string>

using namespace sparseditto;

static Matrix make(ElementType type, int64_t rows, int64_t cols,
                   const std::function<bool(int64_t, int64_t)> &kept) {
  Matrix matrix = llvm::cantFail(Matrix::allocate("w", type, rows, cols));
  const unsigned size = byteSize(type);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      if (kept(i, j))
        storeFromDouble(type, 1 + double((i * 7 + j) % 5),
                        matrix.mutableData() + size_t(i * cols + j) * size);
  return matrix;
}

int main(int argc, char **argv) {
  const unsigned threads = argc > 1 ? unsigned(std::stoul(argv[1])) : 1;
  const int64_t rows = argc > 3 ? std::stoll(argv[2]) : 4096;
  const int64_t cols = argc > 3 ? std::stoll(argv[3]) : 4096;
  std::mt19937 engine(7);
  auto random = [&](double p) { return engine() < p * 4294967296.0; };
  struct Case {
    const char *name;
    std::function<bool(int64_t, int64_t)> kept;
  };
  const Case cases[] = {
      {"dense", [](int64_t, int64_t) { return true; }},
      {"random 50 %", [&](int64_t, int64_t) { return random(0.5); }},
      {"random 90 % zero", [&](int64_t, int64_t) { return random(0.1); }},
      {"2:4", [](int64_t i, int64_t j) { return (i + j) % 4 < 2; }},
      {"block 64x64",
       [](int64_t i, int64_t j) { return (i / 64 * 3 + j / 64) % 5 == 0; }},
      {"zero", [](int64_t, int64_t) { return false; }},
  };
  for (ElementType type : {ElementType::F16, ElementType::F32, ElementType::I8})
    for (const Case &one : cases) {
      Matrix matrix = make(type, rows, cols, one.kept);
      std::vector<double> wall, processor;
      std::string pattern;
      for (int repeat = 0; repeat < 7; ++repeat) {
        auto begin = std::chrono::steady_clock::now();
        std::clock_t ticks = std::clock();
        PatternReport report = llvm::cantFail(analyze(matrix, {threads}));
        std::chrono::duration<double> took =
            std::chrono::steady_clock::now() - begin;
        processor.push_back(double(std::clock() - ticks) / CLOCKS_PER_SEC);
        wall.push_back(took.count());
        pattern = name(report.pattern);
      }
      for (std::vector<double> *times : {&wall, &processor})
        std::nth_element(times->begin(), times->begin() + 3, times->end());
      llvm::outs() << llvm::formatv(
          "{0,-4} {1,-17} {2}x{3} {4,2} thread(s): median {5,8:F3} ms wall, "
          "{6,6:F2} GB/s a core, verdict {7}\n",
          name(type), one.name, rows, cols, threads, wall[3] * 1e3,
          double(matrix.numBytes()) / processor[3] / 1e9, pattern);
    }
  return 0;
}
