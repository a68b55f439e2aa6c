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

#include "Fuzz.h"
#include "sparseditto/IO/TensorFile.h"

using namespace sparseditto;
using namespace sparseditto::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ReadOptions options;
  options.maxDenseBytes = 1 << 20;
  auto file = TensorFile::openBuffer(
      {data, data + size}, "fuzz." SPARSEDITTO_FUZZ_EXTENSION, options);
  if (!file) {
    checkError(file.takeError(), "fuzz.");
    return 0;
  }
  unsigned sum = 0;
  for (size_t i = 0; i < (*file)->tensors().size(); ++i) {
    const TensorInfo &info = (*file)->tensors()[i];
    llvm::Expected<Matrix> matrix = (*file)->load(i);
    if (!matrix) {
      checkError(matrix.takeError(), "fuzz.");
      continue;
    }
    check(matrix->rows == info.rows && matrix->cols == info.cols &&
              matrix->type == info.type && matrix->originalShape == info.shape,
          "a matrix is what was announced");
    check(matrix->numBytes() == info.numBytes(), "a matrix has its size");
    check(uintptr_t(matrix->data) % byteSize(matrix->type) == 0,
          "a matrix is aligned");
    for (uint8_t byte : matrix->bytes())
      sum += byte;
    (*file)->release(i);
  }
  // The sum is what keeps the reads above.
  volatile unsigned sink = sum;
  (void)sink;
  return 0;
}
