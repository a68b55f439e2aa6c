//===- Compile.cpp - Kernel MLIR to PTX to cubin --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Compile.h"
#include "llvm/ADT/StringMap.h"
#include <mutex>

using namespace sparseditto;

/// Asking costs a process; one program does not change under a run of ours.
static llvm::Expected<PtxasVersion> cachedVersion(llvm::StringRef path) {
  static std::mutex mutex;
  static llvm::StringMap<PtxasVersion> versions;
  std::lock_guard<std::mutex> lock(mutex);
  auto it = versions.find(path);
  if (it != versions.end())
    return it->second;
  auto version = ptxasVersion(path);
  if (version)
    versions[path] = *version;
  return version;
}

llvm::Expected<CompiledKernel>
sparseditto::compileKernel(mlir::ModuleOp module, const Chip &chip,
                           const PtxasOptions &options) {
  PtxasOptions resolved = options;
  if (resolved.path.empty())
    resolved.path = findPtxas();
  unsigned ptxasPtx = 0;
  if (!resolved.path.empty()) {
    auto version = cachedVersion(resolved.path);
    if (!version)
      return version.takeError();
    ptxasPtx = version->maxPtx;
  }
  CompiledKernel kernel;
  auto ptxVersion = choosePtxVersion(chip, ptxasPtx, /*driverPtx=*/0);
  if (!ptxVersion)
    return ptxVersion.takeError();
  kernel.ptxVersion = *ptxVersion;
  auto ptx = translateToPtx(module, chip, *ptxVersion);
  if (!ptx)
    return ptx.takeError();
  kernel.ptx = std::move(*ptx);
  auto report = runPtxas(kernel.ptx, chip.name, resolved, &kernel.cubin);
  if (!report)
    return report.takeError();
  kernel.report = std::move(*report);
  return kernel;
}
