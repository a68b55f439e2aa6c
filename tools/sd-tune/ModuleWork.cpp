//===- ModuleWork.cpp - A worker that runs a whole module -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleWork.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/Emulator/ModuleRunner.h"
#include "sparseditto/IO/SafetensorsWriter.h"
#include "sparseditto/IO/TensorFile.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Target/HostToLLVM.h"
#include "sparseditto/Target/Place.h"
#include "sparseditto/Verify/Inputs.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cmath>

using namespace sparseditto;

/// "FILE" or "FILE#TENSOR".
static llvm::Expected<HostTensor> readInput(llvm::StringRef source) {
  auto [path, name] = source.split('#');
  auto file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  llvm::Expected<size_t> index = (*file)->select(name);
  if (!index)
    return index.takeError();
  llvm::Expected<Matrix> matrix = (*file)->load(*index);
  if (!matrix)
    return matrix.takeError();
  HostTensor tensor;
  tensor.type = matrix->type;
  tensor.shape = (*file)->tensors()[*index].shape;
  tensor.bytes = matrix->bytes().vec();
  return tensor;
}

/// Normal floats and small integers.
static llvm::Expected<HostTensor> makeInput(const HostTensorType &type,
                                            int64_t n, Random &random) {
  HostTensor tensor;
  tensor.type = type.type;
  uint64_t elements = 1;
  for (int64_t side : type.shape) {
    tensor.shape.push_back(side < 0 ? n : side);
    if (__builtin_mul_overflow(elements, uint64_t(tensor.shape.back()),
                               &elements) ||
        elements > (uint64_t(1) << 32))
      return makeError("an argument of {0} with N = {1} is too large to make "
                       "up",
                       type.str(), n);
  }
  size_t size = byteSize(type.type);
  tensor.bytes.resize(elements * size);
  for (uint64_t i = 0; i < elements; ++i)
    storeFromDouble(type.type,
                    isFloat(type.type) ? random.normal()
                                       : double(random.below(8)),
                    tensor.bytes.data() + i * size);
  return tensor;
}

static ModuleJobResult::Tensor summarize(const HostTensor &tensor) {
  ModuleJobResult::Tensor summary;
  summary.type = HostTensorType{tensor.type, tensor.shape}.str();
  size_t size = byteSize(tensor.type);
  bool isFirst = true;
  for (size_t at = 0; at + size <= tensor.bytes.size(); at += size) {
    double value = loadAsDouble(tensor.type, tensor.bytes.data() + at);
    if (!std::isfinite(value)) {
      ++summary.notFinite;
      continue;
    }
    summary.min = isFirst ? value : std::min(summary.min, value);
    summary.max = isFirst ? value : std::max(summary.max, value);
    isFirst = false;
  }
  return summary;
}

static llvm::Error writeTensors(llvm::ArrayRef<HostTensor> tensors,
                                const std::string &path) {
  std::vector<SafetensorsEntry> entries;
  for (auto [i, tensor] : llvm::enumerate(tensors))
    entries.push_back({"result" + std::to_string(i), tensor.type, tensor.shape,
                       tensor.bytes});
  return writeSafetensors(path, entries);
}

static std::string text(std::array<unsigned, 3> dims) {
  return llvm::formatv("{0}x{1}x{2}", dims[0], dims[1], dims[2]);
}

static llvm::Expected<std::unique_ptr<ModuleRunner>>
createRunner(const ModuleJob &job, mlir::MLIRContext &context) {
  auto bytes = llvm::MemoryBuffer::getFile(job.path);
  if (!bytes)
    return makeError("{0}: {1}", job.path, bytes.getError().message());
  std::string first;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (first.empty() &&
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          first = placeOf(diagnostic.getLocation()) + ": " + diagnostic.str();
      });
  auto module = mlir::parseSourceString<mlir::ModuleOp>((*bytes)->getBuffer(),
                                                        &context, job.name);
  if (!module)
    return makeError("{0}",
                     first.empty() ? job.name + ": not a valid module" : first);
  ModuleRunnerOptions options;
  options.entry = job.entry;
  return ModuleRunner::create(*module, options);
}

llvm::Error tool::runModuleJob(const Job &job, llvm::StringRef directory,
                               JobResult &result, RunStatus &fault) {
  result.executor = "emulator sm_80";
  mlir::DialectRegistry registry;
  registerHostDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  fault = RunStatus::LoadFailed;
  auto runner = createRunner(*job.module, context);
  if (!runner)
    return runner.takeError();

  fault = RunStatus::Error;
  std::vector<HostTensor> inputs;
  for (const std::string &source : job.module->inputs) {
    llvm::Expected<HostTensor> input = readInput(source);
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  Random random(job.seed);
  if (inputs.empty())
    for (const HostTensorType &type : (*runner)->arguments()) {
      llvm::Expected<HostTensor> input = makeInput(type, job.module->n, random);
      if (!input)
        return input.takeError();
      inputs.push_back(std::move(*input));
    }
  if (llvm::Error error = (*runner)->checkInputs(inputs))
    return error;
  fault = RunStatus::LaunchFailed;
  llvm::Expected<std::vector<HostTensor>> results = (*runner)->run(inputs);
  if (!results)
    return results.takeError();

  fault = RunStatus::Error;
  if (llvm::Error error =
          writeTensors(*results, (directory + "/" + moduleTensorsFile).str()))
    return error;
  ModuleJobResult &done = result.module.emplace();
  done.entry = (*runner)->entry().str();
  done.leakedBytes = int64_t((*runner)->leakedBytes());
  for (const KernelUse &use : (*runner)->kernels()) {
    ModuleJobResult::Kernel kernel;
    kernel.name = use.kernel;
    kernel.launches = int64_t(use.launches);
    kernel.blocks = int64_t(use.sum.blocks);
    kernel.threads = int64_t(use.sum.threads);
    kernel.warpOperations = int64_t(use.sum.warpOperations);
    kernel.grid = text(use.grid);
    kernel.block = text(use.block);
    kernel.seconds = use.sum.seconds;
    result.launches += kernel.launches;
    done.kernels.push_back(std::move(kernel));
  }
  for (const HostTensor &tensor : inputs)
    done.inputs.push_back(summarize(tensor));
  for (const HostTensor &tensor : *results)
    done.results.push_back(summarize(tensor));
  result.status = RunStatus::Executed;
  return llvm::Error::success();
}
