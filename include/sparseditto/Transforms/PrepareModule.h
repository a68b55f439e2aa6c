//===- PrepareModule.h - Modules from outside, to be run -------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_PREPAREMODULE_H
#define SPARSEDITTO_TRANSFORMS_PREPAREMODULE_H

#include "sparseditto/Tuning/Choose.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace sparseditto {

/// How far a module has come on the way from a model to launches.
enum class ModuleStage : uint8_t {
  Products, ///< It holds unpacked `sparsepattern.spmm` on tensors.
  Lowered,  ///< Host code on memrefs and the kernels it launches, if any.
};

struct PreparedModule {
  ModuleStage stage = ModuleStage::Products;
  /// What was left out, and why: a line each.
  std::vector<std::string> notes;
};

struct PrepareModuleOptions {
  std::string chip = "sm_80";
  ChooseOptions choose; ///< For products without a plan.
  unsigned timeoutSeconds = 600;
  uint64_t memoryBytes = uint64_t(16) << 30; ///< On top of this process.
};

/// Reads a module, as text or bytecode, that nobody has checked, in a forked
/// child that may crash or be killed. The kernels of products are built, by the
/// plan on the op or as chosen, and written to `packageDirectory` as a package.
/// `name` stands for the module in locations.
///
/// Fails with one line if it does not parse (with the place), is of another
/// stage, or a kernel cannot be built.
llvm::Expected<PreparedModule>
prepareModule(llvm::StringRef bytes, llvm::StringRef name,
              llvm::StringRef packageDirectory,
              const PrepareModuleOptions &options);

} // namespace sparseditto

#endif // SPARSEDITTO_TRANSFORMS_PREPAREMODULE_H
