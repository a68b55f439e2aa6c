//===- RunModule.h - Modules as the subject of run --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TOOLS_SDTUNE_RUNMODULE_H
#define SPARSEDITTO_TOOLS_SDTUNE_RUNMODULE_H

#include "CommandLine.h"
#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/WorkerProcess.h"
#include "sparseditto/Transforms/PrepareModule.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace sparseditto::tool {

/// True for "-" and names that end in .mlir or .mlirbc.
bool isModulePath(llvm::StringRef path);

/// How to run a lowered module.
struct LoweredOptions {
  std::string entry;
  std::vector<std::string> inputs; ///< "FILE[#NAME]"; none: random.
  std::string output;              ///< .npy or .safetensors; empty: none.
  int64_t n = 1;                   ///< Of random inputs.
  uint64_t seed = 0;
  JobOptions job;
  bool json = false;

  bool isGiven() const {
    return !entry.empty() || !inputs.empty() || !output.empty();
  }
  /// What is wrong with them; empty if nothing.
  std::string check() const;
};

/// A module and what was made of it.
struct ModuleSubject {
  JobDirectory directory;
  std::string name; ///< As in locations: the path or "<stdin>".
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  PreparedModule prepared;
  std::string package; ///< Directory; empty for a lowered module.
};

/// Reads and prepares the module; what was left out goes to stderr.
llvm::Expected<ModuleSubject> openModule(llvm::StringRef path,
                                         const PrepareModuleOptions &options);

/// Runs a lowered module in a worker, reports on stdout and writes the results.
/// Returns the exit code.
int runLowered(const CommandLine &commandLine, const ModuleSubject &subject,
               const LoweredOptions &options);

} // namespace sparseditto::tool

#endif // SPARSEDITTO_TOOLS_SDTUNE_RUNMODULE_H
