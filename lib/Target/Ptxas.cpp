//===- Ptxas.cpp - Finding and running ptxas ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Ptxas.h"
#include "sparseditto/Target/Process.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace sparseditto;

static bool isProgram(llvm::StringRef path) {
  return llvm::sys::fs::can_execute(path) && !llvm::sys::fs::is_directory(path);
}

std::string sparseditto::findPtxas() {
  if (const char *path = std::getenv("SPARSEDITTO_PTXAS"); path && *path)
    return isProgram(path) ? path : "";
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"}) {
    const char *root = std::getenv(variable);
    if (!root || !*root)
      continue;
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (isProgram(path))
      return std::string(path);
  }
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  llvm::StringRef usual = "/usr/local/cuda/bin/ptxas";
  return isProgram(usual) ? usual.str() : "";
}

llvm::Expected<PtxasVersion> sparseditto::ptxasVersion(llvm::StringRef path) {
  auto result = runProcess({path.str(), "--version"}, /*timeoutSeconds=*/20);
  if (!result)
    return result.takeError();
  // "Cuda compilation tools, release 13.0, V13.0.88"
  llvm::StringRef text =
      llvm::StringRef(result->output).split("release ").second;
  PtxasVersion version;
  if (result->exitCode != 0 || result->timedOut ||
      text.consumeInteger(10, version.major) || !text.consume_front(".") ||
      text.consumeInteger(10, version.minor))
    return llvm::createStringError(
        "cannot read the version of '" + path.str() + "': expected \"release " +
        "MAJOR.MINOR\", got exit code " + std::to_string(result->exitCode) +
        " and \"" +
        llvm::StringRef(result->output).trim().take_front(200).str() + "\"");
  // CUDA 11.n reads PTX 7.n, 12.n reads 8.n, and so on.
  if (version.major >= 11)
    version.maxPtx = (version.major - 4) * 10 + std::min(version.minor, 9u);
  return version;
}

llvm::Expected<PtxasReport> sparseditto::runPtxas(llvm::StringRef ptx,
                                                  llvm::StringRef chip,
                                                  const PtxasOptions &options,
                                                  std::string *cubin) {
  std::string program = options.path.empty() ? findPtxas() : options.path;
  if (program.empty()) {
    PtxasReport report;
    report.available = false;
    return report;
  }
  llvm::SmallString<128> directory;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("sparseditto-ptxas", directory))
    return llvm::createStringError(
        error, "cannot make a temporary directory for ptxas");
  llvm::scope_exit cleanUp(
      [&] { llvm::sys::fs::remove_directories(directory); });
  llvm::SmallString<128> input(directory), output(directory);
  llvm::sys::path::append(input, "kernel.ptx");
  llvm::sys::path::append(output, "kernel.cubin");
  {
    std::error_code error;
    llvm::raw_fd_ostream os(input, error);
    os << ptx;
    os.close();
    if (error || os.has_error()) {
      if (!error)
        error = os.error();
      os.clear_error();
      return llvm::createStringError(error, "cannot write '%s'", input.c_str());
    }
  }
  std::vector<std::string> args = {program,
                                   "-v",
                                   "-arch=" + chip.str(),
                                   "-O" + std::to_string(options.optLevel),
                                   std::string(input),
                                   "-o",
                                   std::string(output)};
  args.insert(args.end(), options.extraArgs.begin(), options.extraArgs.end());
  auto result = runProcess(args, options.timeoutSeconds);
  if (!result)
    return result.takeError();

  PtxasReport report = parsePtxasLog(result->output);
  report.exitCode = result->exitCode;
  report.timedOut = result->timedOut;
  report.seconds = result->seconds;
  auto fatal = [&](std::string text) {
    report.messages.push_back({PtxasSeverity::Fatal, "", 0, "", text});
  };
  if (report.timedOut)
    fatal("ptxas did not finish in " + std::to_string(options.timeoutSeconds) +
          " s and was killed");
  else if (result->signal != 0)
    fatal("ptxas died of signal " + std::to_string(result->signal));
  if (!report.ok())
    return report;

  auto buffer = llvm::MemoryBuffer::getFile(output);
  if (!buffer || (*buffer)->getBufferSize() == 0) {
    report.exitCode = 1;
    fatal("ptxas reported success but wrote no cubin");
    return report;
  }
  if (cubin)
    *cubin = (*buffer)->getBuffer().str();
  return report;
}
