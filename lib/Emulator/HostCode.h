//===- HostCode.h - Host MLIR to LLVM IR ------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_HOSTCODE_H
#define SPARSEDITTO_LIB_EMULATOR_HOSTCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "sparseditto/Emulator/ModuleRunner.h"
#include "llvm/IR/Module.h"

namespace sparseditto::emulator {

/// What the generated host code calls and is called by.
inline constexpr llvm::StringLiteral hostEntry = "sd_emu_host_entry";
inline constexpr llvm::StringLiteral hostInit = "sd_emu_host_init";
inline constexpr llvm::StringLiteral hostLaunch = "sd_emu_host_launch";

/// A kernel to launch, by the names of its gpu.module and function.
struct HostKernel {
  std::string module, function;
};

/// A gpu.launch_func.
struct LaunchSite {
  size_t kernel = 0;    ///< In HostCode::kernels.
  std::string location; ///< "model.mlir:15:11".
};

struct HostCode {
  std::string entry;
  std::vector<HostTensorType> arguments, results;
  std::vector<HostKernel> kernels;
  std::vector<LaunchSite> sites;
  bool hasInit = false;
  /// hostEntry(void **): the results' memory (if there are results), then the
  /// descriptor of each argument. hostInit() if hasInit. Each launch calls
  /// hostLaunch(i32 site, i64 grid x, y, z, i64 block x, y, z, i32 shared,
  /// void *words, i32 count).
  std::unique_ptr<llvm::Module> module;
};

/// Lowers the host code of `module`, which is taken apart on the way: its
/// kernels are gone afterwards. The data layout is this machine's.
llvm::Expected<HostCode> lowerHostCode(mlir::ModuleOp module,
                                       llvm::StringRef entry,
                                       llvm::LLVMContext &context);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_HOSTCODE_H
