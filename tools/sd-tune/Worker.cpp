//===- Worker.cpp - One job in a process of its own -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Runs in a process that may crash or hang: reads a job, leaves a result. What
// it prints goes to people; only the result file counts.
//

#include "CommandLine.h"
#include "ModuleWork.h"
#include "Subcommands.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/Emulator/EmulatorExecutor.h"
#include "sparseditto/Runtime/GpuExecutor.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Runtime/WorkerProcess.h"
#include "sparseditto/Target/CandidatePolicy.h"
#include "sparseditto/Target/Compile.h"
#include "sparseditto/Verify/Checker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace sparseditto;

namespace {
class Work {
public:
  Work(const Job &job, llvm::StringRef directory)
      : job(job), directory(directory) {
    result.nonce = job.nonce;
    result.seed = job.seed;
  }
  JobResult run() {
    if (llvm::Error error = attempt()) {
      // A status set on the way says more than "error".
      result.status = fault;
      result.message = llvm::toString(std::move(error));
    }
    return std::move(result);
  }

private:
  llvm::Error attempt();
  /// checkCandidatePtx on the kernel's PTX, which is read into `ptx`.
  llvm::Error checkPtx();
  /// The kernel that is timed in between, and the copy that it reads.
  llvm::Expected<LoadedKernel> loadRival(const DeviceRef &device,
                                         const PackedWeight *&copy);
  llvm::Error onGpu();
  llvm::Error onEmulator();
  llvm::Error check(Executor &executor);

  const Job &job;
  llvm::StringRef directory; ///< For what is left besides the result.
  JobResult result;
  RunStatus fault = RunStatus::Error;
  Package package;
  const PackageLayer *layer = nullptr;
  const KernelManifest *kernel = nullptr;
  const PackedWeight *packed = nullptr;
  std::string ptx;
};
} // namespace

llvm::Error Work::attempt() {
  if (job.module)
    return tool::runModuleJob(job, directory, result, fault);
  llvm::Expected<Package> read = readPackage(job.package, job.layer);
  if (!read)
    return read.takeError();
  package = std::move(*read);
  layer = &package.layers.front();
  for (const KernelManifest &candidate : layer->kernels)
    if (candidate.symbol == job.symbol && candidate.chip == job.chip)
      kernel = &candidate;
  if (!kernel)
    return llvm::createStringError("layer '" + job.layer + "' has no kernel '" +
                                   job.symbol + "' for " + job.chip);
  llvm::Expected<const PackedWeight *> found = findPacked(*layer, *kernel);
  if (!found)
    return found.takeError();
  packed = *found;
  if (llvm::Error error = checkPtx())
    return error;
  return job.emulate ? onEmulator() : onGpu();
}

llvm::Error Work::checkPtx() {
  llvm::Expected<std::string> text = readPackageFile(package, kernel->ptxFile);
  if (!text)
    return text.takeError();
  ptx = std::move(*text);
  if (!job.policy)
    return llvm::Error::success();
  fault = RunStatus::Illegal;
  if (ptx.empty() && !kernel->cubinFile.empty())
    return llvm::createStringError("kernel '" + kernel->symbol +
                                   "' has a cubin but no PTX, which alone can "
                                   "be looked through");
  if (!ptx.empty())
    if (llvm::Error error = checkCandidatePtx(ptx, *kernel))
      return llvm::createStringError(kernel->ptxFile + ": " +
                                     llvm::toString(std::move(error)));
  fault = RunStatus::Error;
  return llvm::Error::success();
}

llvm::Error Work::check(Executor &executor) {
  result.executor = executor.name().str();
  CheckOptions options;
  options.n = job.checkN;
  options.onlyGivenN = job.onlyGivenN;
  options.hiddenN = job.hiddenN;
  options.hiddenLimit = job.hiddenLimit;
  options.allVariants = job.allVariants;
  options.maxOneHotLaunches = job.maxOneHotLaunches;
  options.seed = job.seed;
  llvm::Expected<CheckResult> checked =
      checkKernel(*kernel, layer->weight, *packed, executor, options);
  if (!checked)
    return checked.takeError();
  result.status = runStatus(checked->status);
  if (checked->failure)
    result.message = checked->failure->message;
  result.launches = checked->launches;
  result.elements = checked->elements;
  result.exactElements = checked->exactElements;
  result.columnsProbed = checked->columnsProbed;
  result.maxErrorOverBound = checked->maxErrorOverBound;
  result.n = checked->n;
  return llvm::Error::success();
}

llvm::Error Work::onGpu() {
  llvm::Expected<DeviceRef> device = Device::open(job.device);
  if (!device)
    return device.takeError();
  llvm::Expected<std::string> cubin =
      readPackageFile(package, kernel->cubinFile);
  if (!cubin)
    return cubin.takeError();
  {
    fault = RunStatus::LoadFailed;
    llvm::Expected<LoadedKernel> loaded = LoadedKernel::load(
        *device, *kernel, *cubin, ptx, LoadedKernel::Unreviewed::Allow);
    if (!loaded)
      return loaded.takeError();
    result.registers = loaded->uses().registers;
    result.localBytes = loaded->uses().localBytes;
    result.staticSharedBytes = loaded->uses().staticSharedBytes;
    result.compiledByDriver = loaded->uses().compiledByDriver;
    fault = RunStatus::LaunchFailed;
    llvm::Expected<std::unique_ptr<Executor>> executor =
        createGpuExecutor(*device, *loaded, job.seed);
    if (!executor)
      return executor.takeError();
    if (llvm::Error error = check(**executor))
      return error;
  }
  if (result.status != RunStatus::Verified || job.timeN.empty())
    return llvm::Error::success();
  // Loaded anew, so that nothing a kernel left in its module's memory during
  // the check helps it while it is timed.
  llvm::Expected<LoadedKernel> loaded = LoadedKernel::load(
      *device, *kernel, *cubin, ptx, LoadedKernel::Unreviewed::Allow);
  if (!loaded)
    return loaded.takeError();
  std::optional<LoadedKernel> rival;
  const PackedWeight *rivalPacked = nullptr;
  if (!job.rival.empty()) {
    llvm::Expected<LoadedKernel> other = loadRival(*device, rivalPacked);
    if (!other)
      return other.takeError();
    rival.emplace(std::move(*other));
  }
  MeasureOptions options;
  options.seed = job.seed;
  auto measure = [&](const LoadedKernel &kernel, const PackedWeight &copy,
                     int64_t n) {
    llvm::Expected<Measurement> measured =
        measureKernel(*device, kernel, layer->weight, copy, n, options);
    if (measured && !measured->fault.empty()) {
      result.status = measured->fasterThanFloor
                          ? RunStatus::FasterThanFloor
                          : runStatus(measured->faultStatus);
      result.message = "N = " + std::to_string(n) + ": " + measured->fault;
    }
    return measured;
  };
  for (int64_t n : job.timeN) {
    llvm::Expected<Measurement> measured = measure(*loaded, *packed, n);
    if (!measured)
      return measured.takeError();
    if (rival) {
      llvm::Expected<Measurement> between = measure(*rival, *rivalPacked, n);
      if (!between)
        return between.takeError();
      // A drift of the clocks meets both sides of the rival.
      llvm::Expected<Measurement> after = measure(*loaded, *packed, n);
      if (!after)
        return after.takeError();
      measured->kernel.median =
          (measured->kernel.median + after->kernel.median) / 2;
      measured->denseAfter = after->denseAfter;
      result.rivals.push_back(std::move(*between));
    }
    result.measurements.push_back(std::move(*measured));
  }
  return llvm::Error::success();
}

llvm::Expected<LoadedKernel> Work::loadRival(const DeviceRef &device,
                                             const PackedWeight *&copy) {
  auto other = llvm::find_if(layer->kernels, [&](const KernelManifest &one) {
    return one.symbol == job.rival && one.chip == job.chip;
  });
  if (other == layer->kernels.end())
    return llvm::createStringError("layer '" + job.layer + "' has no kernel '" +
                                   job.rival + "' for " + job.chip);
  llvm::Expected<const PackedWeight *> found = findPacked(*layer, *other);
  if (!found)
    return found.takeError();
  copy = *found;
  llvm::Expected<std::string> text = readPackageFile(package, other->ptxFile);
  if (!text)
    return text.takeError();
  if (job.policy)
    if (llvm::Error error = checkCandidatePtx(*text, *other))
      return error;
  llvm::Expected<std::string> cubin =
      readPackageFile(package, other->cubinFile);
  if (!cubin)
    return cubin.takeError();
  return LoadedKernel::load(device, *other, *cubin, *text,
                            LoadedKernel::Unreviewed::Allow);
}

llvm::Error Work::onEmulator() {
  if (kernel->mlirFile.empty())
    return llvm::createStringError("kernel '" + kernel->symbol +
                                   "' has no MLIR in the package, which the "
                                   "emulator needs");
  llvm::Expected<std::string> text = readPackageFile(package, kernel->mlirFile);
  if (!text)
    return text.takeError();
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry);
  fault = RunStatus::LoadFailed;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(*text, &context,
                                              kernel->mlirFile);
  if (!module)
    return llvm::createStringError("'" + kernel->mlirFile +
                                   "' is not a valid MLIR module");
  if (job.policy) {
    fault = RunStatus::Illegal;
    if (llvm::Error error = checkCandidateModule(*module, *kernel))
      return error;
    fault = RunStatus::LoadFailed;
  }
  llvm::Expected<std::unique_ptr<EmulatorExecutor>> executor =
      EmulatorExecutor::create(*module, *kernel);
  if (!executor)
    return executor.takeError();
  fault = RunStatus::LaunchFailed;
  return check(**executor);
}

/// compute-sanitizer works inside the process and speaks with its parent by
/// sockets and files of its own choice. What it is given has been verified in
/// the whole sandbox before.
static constexpr SandboxLayers notUnderSanitizer =
    layerBit(SandboxLayer::SystemCalls) | layerBit(SandboxLayer::LocalSockets) |
    layerBit(SandboxLayer::Landlock) | layerBit(SandboxLayer::MountNamespace) |
    layerBit(SandboxLayer::NetworkNamespace);

int tool::workerMain(llvm::ArrayRef<const char *> args) {
  bool requireSandbox = false, sanitized = false;
  unsigned cpuSeconds = 0;
  CommandLine commandLine("worker", "JOB RESULT",
                          "check and time the kernel that the file JOB "
                          "describes, leave what came out in the file RESULT; "
                          "only the directory of RESULT is writable");
  commandLine.flag("--require-sandbox", requireSandbox,
                   "refuse to work without every layer of the sandbox");
  commandLine.value(
      "--cpu-seconds", "SECONDS", cpuSeconds,
      "limit of CPU time, of all threads together (default none)");
  commandLine.flag("--sanitized", sanitized,
                   "leave out the layers that compute-sanitizer cannot bear");
  if (std::optional<int> code = commandLine.parse(args))
    return *code;
  if (commandLine.positional.size() != 2)
    return commandLine.usageError("expected JOB and RESULT");
  llvm::Expected<llvm::json::Value> value =
      readJSONFile(commandLine.positional[0], uint64_t(1) << 20);
  if (!value)
    return commandLine.fail(value.takeError());
  llvm::Expected<Job> job = Job::fromJSON(*value);
  if (!job)
    return commandLine.fail(job.takeError());
  llvm::SmallString<128> resultFile(commandLine.positional[1]);
  llvm::sys::fs::make_absolute(resultFile);
  llvm::Expected<SandboxOptions> options = workerSandbox(
      llvm::sys::path::parent_path(resultFile), !job->emulate, cpuSeconds);
  if (!options)
    return commandLine.fail(options.takeError());
  if (sanitized)
    options->off |= notUnderSanitizer;
  SandboxReport sandbox = enterSandbox(*options);
  std::string missing = sanitized ? "" : sandbox.missingText();
  if (requireSandbox && !missing.empty())
    return commandLine.fail("the sandbox is not complete, without " + missing);
  JobResult result = Work(*job, llvm::sys::path::parent_path(resultFile)).run();
  result.sandboxMissing = missing;
  if (llvm::Error error = writeJSONFile(resultFile, result.toJSON()))
    return commandLine.fail(std::move(error));
  // No destructors: a library that a kernel upset would turn a result into a
  // crash, and leak checkers start processes, which the sandbox refuses.
  llvm::outs().flush();
  _exit(0);
}
