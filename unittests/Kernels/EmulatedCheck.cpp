//===- EmulatedCheck.cpp - One kernel through the checker -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedCheck.h"
#include "mlir/IR/MLIRContext.h"
#include "sparseditto/Emulator/EmulatorExecutor.h"
#include "sparseditto/Target/Compile.h"
#include <chrono>

using namespace sparseditto;

llvm::Expected<CheckResult>
test::checkOnEmulator(const KernelFamily &family, const Matrix &weight,
                      const Problem &problem, const Strategy &strategy,
                      const CheckOptions &options, unsigned computeCapability,
                      GuardedBufferOptions::Side side, double *buildSeconds) {
  const auto start = std::chrono::steady_clock::now();
  llvm::Expected<PackedWeight> packed = packChecked(family, weight, strategy);
  if (!packed)
    return packed.takeError();
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<BuiltKernel> built = family.build(
      context, problem, strategy, *packed, computeCapability, "kernel");
  if (!built)
    return built.takeError();
  auto executor =
      EmulatorExecutor::create(*built->module, built->manifest, {}, side);
  if (!executor)
    return executor.takeError();
  if (buildSeconds)
    *buildSeconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  return checkKernel(built->manifest, weight, *packed, **executor, options);
}
