//===- ModuleRunner.h - Whole modules on the CPU ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a lowered module: its host code compiled for this machine, each
// gpu.launch_func in the emulator. Host code is not contained: a module from
// outside belongs in a process that may die.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_EMULATOR_MODULERUNNER_H
#define SPARSEDITTO_EMULATOR_MODULERUNNER_H

#include "sparseditto/Emulator/Emulator.h"
#include "sparseditto/Support/ElementType.h"
#include <string>
#include <vector>

namespace sparseditto {

/// Type of an argument or a result of the entry function.
struct HostTensorType {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape; ///< -1 where it is dynamic.

  std::string str() const; ///< "?x64xf16".
};

/// A value of one, row-major.
struct HostTensor {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

struct ModuleRunnerOptions {
  EmulatorOptions emulator;
  /// The function to call; empty: the only public one.
  std::string entry;
  uint64_t memoryBytes = uint64_t(8) << 30; ///< That host code may hold.
};

/// A kernel and what its launches did.
struct KernelUse {
  std::string kernel;
  uint64_t launches = 0;
  std::array<unsigned, 3> grid = {0, 0, 0}, block = {0, 0, 0}; ///< The last.
  LaunchReport sum;
};

class ModuleRunner {
public:
  ~ModuleRunner();

  /// `module` holds func.func on memrefs and the gpu.modules that they launch,
  /// as `sparse-agent-lower=format=module` leaves them. It is not changed and
  /// not needed afterwards; its context has registerHostDialects. Errors have
  /// the place of what cannot be run.
  static llvm::Expected<std::unique_ptr<ModuleRunner>>
  create(mlir::ModuleOp module, const ModuleRunnerOptions &options = {});

  llvm::StringRef entry() const;
  llvm::ArrayRef<HostTensorType> arguments() const;
  llvm::ArrayRef<HostTensorType> results() const;

  /// Fails if inputs do not match arguments().
  llvm::Error checkInputs(llvm::ArrayRef<HostTensor> inputs) const;

  /// Calls the entry function, after `sparsepattern_init` the first time.
  /// Inputs, which are checked, are copied to device memory. A fault
  /// of a kernel is an error that also says where it was launched; so are
  /// failed checks of host code (bounds, shapes) with their place.
  llvm::Expected<std::vector<HostTensor>>
  run(llvm::ArrayRef<HostTensor> inputs);

  /// Every kernel of the module, launched or not.
  llvm::ArrayRef<KernelUse> kernels() const;
  /// Bytes that the last run() left behind besides its results.
  uint64_t leakedBytes() const;

private:
  struct Impl;
  explicit ModuleRunner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> Pimpl;
};

} // namespace sparseditto

#endif // SPARSEDITTO_EMULATOR_MODULERUNNER_H
