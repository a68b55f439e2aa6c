//===- Ptxas.cpp - Finding and running ptxas ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Ptxas.h"
#include "Toolkit.h"
#include "sparseditto/Support/Process.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>

using namespace sparseditto;

std::string sparseditto::findPtxas() {
  if (const char *path = std::getenv("SPARSEDITTO_PTXAS"); path && *path)
    return isProgram(path) ? path : "";
  return findToolkitProgram("ptxas");
}

llvm::Expected<PtxasVersion> sparseditto::ptxasVersion(llvm::StringRef path) {
  auto result = runProcess({path.str(), "--version"}, /*timeoutSeconds=*/20);
  if (!result)
    return result.takeError();
  // "Cuda compilation tools, release 13.0, V13.0.88"
  llvm::StringRef text =
      llvm::StringRef(result->output).split("release ").second;
  PtxasVersion version;
  version.build =
      ("release " + text.take_until([](char c) { return c == '\n'; }).rtrim())
          .str();
  if (result->exitCode != 0 || result->timedOut ||
      text.consumeInteger(10, version.major) || !text.consume_front(".") ||
      text.consumeInteger(10, version.minor))
    return llvm::createStringError(
        "cannot read the version of '" + path.str() + "': expected \"release " +
        "MAJOR.MINOR\", got exit code " + std::to_string(result->exitCode) +
        " and \"" +
        llvm::StringRef(result->output).trim().take_front(200).str() + "\"");
  // CUDA 11.n reads PTX 7.n, 12.n reads 8.n, and so on; but 12.6 brought no new
  // PTX and the rest of 12 is one behind.
  if (version.major >= 11) {
    unsigned minor = std::min(version.minor, 9u);
    if (version.major == 12 && minor >= 6)
      --minor;
    version.maxPtx = (version.major - 4) * 10 + minor;
  }
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
  auto directory = TemporaryDirectory::create();
  if (!directory)
    return directory.takeError();
  std::string input = directory->file("kernel.ptx"),
              output = directory->file("kernel.cubin");
  if (llvm::Error error = writeFile(input, ptx))
    return error;
  std::vector<std::string> args = {program,
                                   "-v",
                                   "-arch=" + chip.str(),
                                   "-O" + std::to_string(options.optLevel),
                                   input,
                                   "-o",
                                   output};
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
