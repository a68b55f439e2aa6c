//===- ModuleJob.h - A lowered module to run, as files ----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_MODULEJOB_H
#define SPARSEDITTO_RUNTIME_MODULEJOB_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace sparseditto {

/// A module that the emulator runs whole.
struct ModuleJob {
  std::string path;
  std::string name;  ///< What stands for it in locations.
  std::string entry; ///< The function to call; empty: the only public one.
  /// "FILE" or "FILE#TENSOR", one an argument. None: random from the job's
  /// seed, dynamic sizes `n`.
  std::vector<std::string> inputs;
  int64_t n = 1;

  llvm::json::Value toJSON() const;
  static llvm::Expected<ModuleJob> fromJSON(const llvm::json::Value &value);
};

/// What became of one.
struct ModuleJobResult {
  struct Kernel {
    std::string name;
    int64_t launches = 0, blocks = 0, threads = 0, warpOperations = 0;
    std::string grid, block; ///< Of the last launch, "8x1x1".
    double seconds = 0;
  };
  struct Tensor {
    std::string type; ///< "360x10xf16".
    double min = 0, max = 0;
    int64_t notFinite = 0;
  };
  std::string entry;
  std::vector<Kernel> kernels;
  std::vector<Tensor> inputs, results;
  int64_t leakedBytes = 0;
  /// A safetensors file of the results, "result0", ...: beside the JSON.
  std::string tensors;

  llvm::json::Value toJSON() const;
  static llvm::Expected<ModuleJobResult>
  fromJSON(const llvm::json::Value &value);
};

/// The file that a worker leaves the results in, beside its result file.
inline constexpr const char *moduleTensorsFile = "tensors.safetensors";

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_MODULEJOB_H
