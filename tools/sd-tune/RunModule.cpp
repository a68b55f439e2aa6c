//===- RunModule.cpp - Modules as the subject of run ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunModule.h"
#include "Subcommands.h"
#include "sparseditto/IO/NpyWriter.h"
#include "sparseditto/IO/SafetensorsWriter.h"
#include "sparseditto/IO/TensorFile.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/Table.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;
using namespace sparseditto::tool;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;

bool tool::isModulePath(llvm::StringRef path) {
  return path == "-" || path.ends_with(".mlir") || path.ends_with(".mlirbc");
}

llvm::Expected<ModuleSubject>
tool::openModule(llvm::StringRef path, const PrepareModuleOptions &options) {
  removeAbandonedJobDirectories();
  llvm::Expected<JobDirectory> directory = JobDirectory::create();
  if (!directory)
    return directory.takeError();
  ModuleSubject subject{std::move(*directory),
                        path == "-" ? "<stdin>" : path.str(),
                        nullptr,
                        {},
                        ""};
  auto bytes = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!bytes)
    return llvm::createStringError(subject.name + ": " +
                                   bytes.getError().message());
  subject.bytes = std::move(*bytes);
  if (subject.bytes->getBuffer().trim().empty())
    return llvm::createStringError(subject.name + ": no module, empty input");
  std::string package = subject.directory.file("package");
  llvm::Expected<PreparedModule> prepared =
      prepareModule(subject.bytes->getBuffer(), subject.name, package, options);
  if (!prepared)
    return prepared.takeError();
  subject.prepared = std::move(*prepared);
  if (subject.prepared.stage == ModuleStage::Products)
    subject.package = std::move(package);
  for (const std::string &note : subject.prepared.notes)
    llvm::errs() << "note: " << note << "\n";
  return subject;
}

//===----------------------------------------------------------------------===//
// Lowered modules
//===----------------------------------------------------------------------===//

std::string LoweredOptions::check() const {
  llvm::StringRef path = output;
  if (!path.empty() && !path.ends_with(".npy") &&
      !path.ends_with(".safetensors"))
    return "--output expects a name that ends in .npy or .safetensors, got '" +
           output + "'";
  for (const std::string &input : inputs)
    if (!json::isUTF8(input))
      return "--input: '" + json::fixUTF8(input) + "' is not UTF-8";
  return "";
}

/// The results of a worker as the user's file. `tensors` is read as a file from
/// outside: host code of the module wrote it.
static llvm::Error writeResults(const ModuleJobResult &module,
                                llvm::StringRef output) {
  llvm::StringRef bytes = module.tensors;
  auto file = TensorFile::openBuffer({bytes.bytes_begin(), bytes.bytes_end()},
                                     "results of the worker");
  if (!file)
    return file.takeError();
  std::vector<Matrix> values;
  std::vector<SafetensorsEntry> entries;
  for (size_t i = 0; i < module.results.size(); ++i) {
    llvm::Expected<size_t> index =
        (*file)->select("result" + std::to_string(i));
    if (!index)
      return index.takeError();
    llvm::Expected<Matrix> matrix = (*file)->load(*index);
    if (!matrix)
      return matrix.takeError();
    const TensorInfo &info = (*file)->tensors()[*index];
    entries.push_back({info.name, info.type, info.shape, matrix->bytes()});
    values.push_back(std::move(*matrix));
  }
  if (!output.ends_with(".npy"))
    return writeSafetensors(output, entries);
  if (entries.size() != 1)
    return makeError("{0}: a .npy file holds one array, '{1}' has {2} results; "
                     "a .safetensors file can hold them",
                     output, module.entry, entries.size());
  const SafetensorsEntry &only = entries.front();
  return writeNpy(output, only.type, only.shape, only.bytes);
}

static void printReport(llvm::raw_ostream &os, const ModuleJobResult &module,
                        const JobResult &result) {
  Table table(
      {"kernel", "launches", "grid", "block", "warp operations", "seconds"});
  for (size_t column : {1, 4, 5})
    table.alignRight(column);
  for (const ModuleJobResult::Kernel &kernel : module.kernels)
    table.row({kernel.name, std::to_string(kernel.launches),
               kernel.launches ? kernel.grid : "-",
               kernel.launches ? kernel.block : "-",
               std::to_string(kernel.warpOperations),
               llvm::formatv("{0:F2}", kernel.seconds)});
  if (!module.kernels.empty())
    table.print(os);
  auto describe = [&](const char *what, size_t i,
                      const ModuleJobResult::Tensor &tensor) {
    os << what << " " << i << ": " << tensor.type;
    os << llvm::format(", %.6g to %.6g", tensor.min, tensor.max);
    if (tensor.notFinite)
      os << ", " << tensor.notFinite << " not finite";
    os << "\n";
  };
  for (auto [i, tensor] : llvm::enumerate(module.inputs))
    describe("input", i, tensor);
  for (auto [i, tensor] : llvm::enumerate(module.results))
    describe("result", i, tensor);
  if (module.leakedBytes)
    os << "not freed: " << module.leakedBytes << " bytes\n";
  os << llvm::formatv("'{0}' ran to its end: {1} launches of {2} kernels, "
                      "{3:F1} s\n",
                      module.entry, result.launches, module.kernels.size(),
                      result.seconds);
}

int tool::runLowered(const CommandLine &commandLine,
                     const ModuleSubject &subject,
                     const LoweredOptions &options) {
  Job job;
  job.emulate = true;
  job.seed = options.seed;
  ModuleJob &module = job.module.emplace();
  module.path = subject.directory.file("module");
  module.name = subject.name;
  module.entry = options.entry;
  module.n = options.n;
  for (const std::string &input : options.inputs) {
    // The worker has a directory of its own.
    auto [file, tensor] = llvm::StringRef(input).split('#');
    llvm::SmallString<128> path(file);
    if (std::error_code code = fs::make_absolute(path))
      return commandLine.fail(input + ": " + code.message());
    module.inputs.push_back((path + (input == file ? "" : "#") + tensor).str());
  }
  std::error_code code;
  llvm::raw_fd_ostream os(module.path, code);
  if (!code) {
    os << subject.bytes->getBuffer();
    os.close();
    code = os.error();
    os.clear_error();
  }
  if (code)
    return commandLine.fail(module.path + ": " + code.message());

  JobResult result = runJob(programPath(), job, options.job);
  bool good = result.status == RunStatus::Executed && result.module;
  if (good && !options.output.empty())
    if (llvm::Error error = writeResults(*result.module, options.output))
      return commandLine.fail(std::move(error));
  if (options.json) {
    json::Object object{
        {"schema", 1},
        {"module", json::fixUTF8(subject.name)},
        {"device", "emulator"},
        {"seed", int64_t(result.seed)},
        {"status", name(result.status)},
        {"message", json::fixUTF8(result.message)},
        {"sandbox_missing", json::fixUTF8(result.sandboxMissing)},
        {"seconds", result.seconds}};
    if (result.module)
      object["run"] = result.module->toJSON();
    llvm::outs() << llvm::formatv("{0:2}", json::Value(std::move(object)))
                 << "\n";
    return good ? 0 : 1;
  }
  if (!good) {
    std::string text = result.message;
    if (result.status != RunStatus::Error)
      text = name(result.status).str() + ": " + text;
    if (options.inputs.empty() && result.status != RunStatus::LoadFailed)
      text += " (seed " + std::to_string(result.seed) + ")";
    return commandLine.fail(text);
  }
  printReport(llvm::outs(), *result.module, result);
  if (!result.sandboxMissing.empty())
    llvm::outs() << "sandbox: without " << result.sandboxMissing << "\n";
  return 0;
}
