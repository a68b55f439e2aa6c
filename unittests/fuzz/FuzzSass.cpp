//===- FuzzSass.cpp - The reader of disassembly on arbitrary bytes --------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "sparseditto/Target/Sass.h"

using namespace sparseditto;
using namespace sparseditto::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  const size_t lines = text.count('\n') + 1;
  size_t instructions = 0;
  std::vector<SassKernel> kernels = parseSass(text);
  for (const SassKernel &kernel : kernels) {
    instructions += kernel.instructions;
    check(text.contains(kernel.name) && text.contains(kernel.chip),
          "names are of the text");
    check(kernel.globalLoads + kernel.asyncCopies + kernel.bulkCopies +
                  kernel.sharedMatrixLoads + kernel.matrixProducts +
                  kernel.barriers + kernel.localLoads + kernel.localStores <=
              kernel.instructions,
          "an instruction counts once");
    check(kernel.wideGlobalLoads <= kernel.globalLoads &&
              kernel.readOnlyGlobalLoads <= kernel.globalLoads &&
              kernel.globalLoadsAfterBarrier <= kernel.globalLoads &&
              kernel.globalLoadsAfterDependencyWait <= kernel.globalLoads &&
              kernel.sparseMatrixProducts <= kernel.matrixProducts,
          "a part is no more than the whole");
    check(kernel.barriers || !kernel.globalLoadsAfterBarrier,
          "nothing is behind a barrier that is not there");
  }
  check(instructions + kernels.size() <= lines,
        "a kernel and an instruction have lines of their own");
  return 0;
}
