//===- FuzzReader.cpp - libFuzzer entry of the readers --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built once for each format, with SPARSEDITTO_FUZZ_EXTENSION naming it. Beside
// what the sanitizers see, a matrix must be as large as it says, and an error
// must be one printable line.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/IO/TensorFile.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>

using namespace sparseditto;

static void check(bool condition) {
  if (!condition)
    std::abort();
}

static void checkError(llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  check(llvm::StringRef(message).starts_with("fuzz."));
  check(llvm::all_of(message, [](char c) { return llvm::isPrint(c); }));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ReadOptions options;
  options.maxDenseBytes = 1 << 20;
  auto file = TensorFile::openBuffer(
      {data, data + size}, "fuzz." SPARSEDITTO_FUZZ_EXTENSION, options);
  if (!file) {
    checkError(file.takeError());
    return 0;
  }
  unsigned sum = 0;
  for (size_t i = 0; i < (*file)->tensors().size(); ++i) {
    const TensorInfo &info = (*file)->tensors()[i];
    llvm::Expected<Matrix> matrix = (*file)->load(i);
    if (!matrix) {
      checkError(matrix.takeError());
      continue;
    }
    check(matrix->rows == info.rows && matrix->cols == info.cols);
    check(matrix->type == info.type && matrix->originalShape == info.shape);
    check(matrix->numBytes() == info.numBytes());
    check(uintptr_t(matrix->data) % byteSize(matrix->type) == 0);
    for (uint8_t byte : matrix->bytes())
      sum += byte;
    (*file)->release(i);
  }
  // The sum is what keeps the reads above.
  volatile unsigned sink = sum;
  (void)sink;
  return 0;
}
