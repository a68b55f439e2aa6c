//===- Compile.cpp - Kernel MLIR to PTX to cubin --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Compile.h"
#include "Backend.h"
#include "Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/Support/Process.h"
#include "sparseditto/Support/Sandbox.h"
#include "sparseditto/Target/CandidatePolicy.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
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

/// What compileKernel does around the making of the PTX, which is `translate`:
/// choose the version before and run ptxas after.
static llvm::Expected<CompiledKernel>
compile(const Chip &chip, PtxasOptions options,
        llvm::function_ref<llvm::Expected<std::string>(unsigned ptxVersion)>
            translate) {
  if (options.path.empty())
    options.path = findPtxas();
  unsigned ptxasPtx = 0;
  if (!options.path.empty()) {
    auto version = cachedVersion(options.path);
    if (!version)
      return version.takeError();
    ptxasPtx = version->maxPtx;
  }
  CompiledKernel kernel;
  auto ptxVersion = choosePtxVersion(chip, ptxasPtx, /*driverPtx=*/0);
  if (!ptxVersion)
    return ptxVersion.takeError();
  kernel.ptxVersion = *ptxVersion;
  auto ptx = translate(*ptxVersion);
  if (!ptx)
    return ptx.takeError();
  kernel.ptx = std::move(*ptx);
  auto report = runPtxas(kernel.ptx, chip.name, options, &kernel.cubin);
  if (!report)
    return report.takeError();
  kernel.report = std::move(*report);
  return kernel;
}

llvm::Expected<CompiledKernel>
sparseditto::compileKernel(mlir::ModuleOp module, const Chip &chip,
                           const PtxasOptions &options) {
  return compile(chip, options, [&](unsigned ptxVersion) {
    return translateToPtx(module, chip, ptxVersion);
  });
}

/// Exit codes of the child: what its file holds.
enum ChildCode { wrotePtx, wroteDiagnostic, wroteRefusal };

/// In the child: text to PTX.
static int translateText(llvm::StringRef text, const Chip &chip,
                         unsigned ptxVersion, const KernelManifest *policy,
                         int file) {
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  ChildCode code = wroteDiagnostic;
  auto translate = [&]() -> llvm::Expected<std::string> {
    ErrorCollector errors(&context);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context,
                                                          isolatedSourceName);
    if (!module)
      return errors.error("parsing the kernel");
    if (!policy)
      return translateToPtx(*module, chip, ptxVersion);
    KernelManifest manifest = *policy;
    manifest.chip = chip.name.str();
    manifest.ptxVersion = ptxVersion;
    if (llvm::Error error = checkCandidateModule(*module, manifest)) {
      code = wroteRefusal;
      return error;
    }
    auto ptx = translateToPtx(*module, chip, ptxVersion);
    if (!ptx)
      return ptx;
    if (llvm::Error error = checkCandidatePtx(*ptx, manifest)) {
      code = wroteRefusal;
      return error;
    }
    return ptx;
  };
  auto ptx = translate();
  if (ptx)
    code = wrotePtx;
  llvm::raw_fd_ostream os(file, /*shouldClose=*/false);
  os << (ptx ? *ptx : llvm::toString(ptx.takeError()));
  os.flush();
  return os.has_error() ? wroteDiagnostic : code;
}

llvm::Expected<IsolatedCompile> sparseditto::compileKernelIsolated(
    llvm::StringRef mlirText, const Chip &chip, const PtxasOptions &options,
    const IsolationLimits &limits, const KernelManifest *policy) {
  initializeBackend();
  llvm::Expected<SandboxLayers> off = sandboxLayersTurnedOff();
  if (!off)
    return off.takeError();
  // The result goes to a file in memory that is open already.
  SandboxOptions sandbox;
  sandbox.namespaces = false;
  sandbox.off = *off;
  IsolatedCompile isolated;
  auto stop = [&](CompileOutcome outcome, const llvm::Twine &diagnostic) {
    isolated.outcome = outcome;
    isolated.diagnostic = diagnostic.str();
    return llvm::createStringError("not compiled");
  };
  auto kernel = compile(
      chip, options, [&](unsigned version) -> llvm::Expected<std::string> {
        std::string payload;
        auto result = runForked(
            [&](int file) {
              enterSandbox(sandbox);
              return translateText(mlirText, chip, version, policy, file);
            },
            limits.timeoutSeconds, limits.memoryBytes, payload);
        if (!result)
          return result.takeError();
        if (result->timedOut)
          return stop(CompileOutcome::TimedOut,
                      "compilation did not finish in " +
                          llvm::Twine(limits.timeoutSeconds) + " s");
        if (result->signal != 0 || result->exitCode > wroteRefusal)
          return stop(
              CompileOutcome::Crashed,
              "the compiler died of " +
                  (result->signal != 0
                       ? "signal " + std::to_string(result->signal)
                       : "exit code " + std::to_string(result->exitCode)) +
                  ": " +
                  llvm::StringRef(result->output).trim().take_front(2000));
        if (result->exitCode == wroteDiagnostic)
          return stop(CompileOutcome::Rejected, payload);
        if (result->exitCode == wroteRefusal)
          return stop(CompileOutcome::Refused, payload);
        return payload;
      });
  if (kernel) {
    isolated.kernel = std::move(*kernel);
    return isolated;
  }
  if (isolated.outcome == CompileOutcome::Compiled)
    return kernel.takeError();
  llvm::consumeError(kernel.takeError());
  return isolated;
}
