//===- Sass.cpp - Facts about the machine code of a kernel ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Sass.h"
#include "Toolkit.h"
#include "sparseditto/Support/Process.h"
#include "sparseditto/Target/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

using namespace sparseditto;

/// "LDG.E.128" out of "        /*0390*/   @!P0 LDG.E.128 R24, [R12] ; /* ...
/// */". Empty for a line that is not an instruction.
static llvm::StringRef opcode(llvm::StringRef line) {
  line = line.trim();
  if (!line.consume_front("/*"))
    return "";
  llvm::StringRef address = line.take_while(llvm::isHexDigit);
  line = line.drop_front(address.size());
  // The encoding's second half stands alone in such a comment: "0x000f...".
  if (address.size() < 4 || !line.consume_front("*/"))
    return "";
  line = line.ltrim();
  if (line.consume_front("@"))
    line = line.drop_until(llvm::isSpace).ltrim();
  return line.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '.' || c == '_'; });
}

static void count(SassKernel &kernel, llvm::StringRef op) {
  auto [base, modifiers] = op.split('.');
  if (base == "NOP")
    return;
  ++kernel.instructions;
  auto has = [&](llvm::StringRef modifier) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(modifiers).split(parts, '.');
    return llvm::is_contained(parts, modifier);
  };
  if (base == "LDG") {
    ++kernel.globalLoads;
    kernel.wideGlobalLoads += has("128");
    kernel.readOnlyGlobalLoads += has("CONSTANT");
    kernel.globalLoadsAfterBarrier += kernel.barriers != 0;
    kernel.globalLoadsAfterDependencyWait += kernel.waitsForDependency;
  } else if (base == "BAR") {
    ++kernel.barriers;
  } else if (base == "ACQBULK") {
    kernel.waitsForDependency = true;
  } else if (base == "LDGSTS") {
    ++kernel.asyncCopies;
  } else if (base == "UBLKCP" || base == "UTMALDG") {
    ++kernel.bulkCopies;
  } else if (base == "LDSM") {
    ++kernel.sharedMatrixLoads;
  } else if (base.ends_with("MMA")) {
    ++kernel.matrixProducts;
    kernel.sparseMatrixProducts += has("SP");
  } else if (base == "LDL") {
    ++kernel.localLoads;
  } else if (base == "STL") {
    ++kernel.localStores;
  }
}

std::vector<SassKernel> sparseditto::parseSass(llvm::StringRef text) {
  std::vector<SassKernel> kernels;
  std::string chip;
  auto begin = [&](llvm::StringRef name) {
    kernels.emplace_back();
    kernels.back().name = name.str();
    kernels.back().chip = chip;
  };
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::StringRef op = opcode(line);
    if (!op.empty()) {
      if (!kernels.empty())
        count(kernels.back(), op);
      continue;
    }
    line = line.trim();
    if (line.consume_front("code for ") || line.consume_front(".target"))
      chip = line.trim().str();
    else if (line.consume_front("Function : "))
      begin(line.trim());
    else if (line.consume_front(".text.") && line.consume_back(":"))
      begin(line);
  }
  return kernels;
}

std::string sparseditto::findDisassembler() {
  if (const char *path = std::getenv("SPARSEDITTO_CUOBJDUMP"); path && *path)
    return isProgram(path) ? path : "";
  std::string besidePtxas =
      llvm::sys::path::parent_path(findPtxas()).str() + "/";
  for (const char *name : {"cuobjdump", "nvdisasm"}) {
    std::string path = findToolkitProgram(name);
    if (path.empty() && isProgram(besidePtxas + name))
      path = besidePtxas + name;
    if (!path.empty())
      return path;
  }
  return "";
}

llvm::Expected<std::optional<std::vector<SassKernel>>>
sparseditto::disassemble(llvm::StringRef cubin, unsigned timeoutSeconds) {
  std::string program = findDisassembler();
  if (program.empty())
    return std::nullopt;
  auto directory = TemporaryDirectory::create();
  if (!directory)
    return directory.takeError();
  std::string input = directory->file("kernel.cubin");
  if (llvm::Error error = writeFile(input, cubin))
    return error;
  bool isNvdisasm = llvm::sys::path::filename(program).contains("nvdisasm");
  auto result = runProcess({program, isNvdisasm ? "-c" : "-sass", input},
                           timeoutSeconds, size_t(64) << 20);
  if (!result)
    return result.takeError();
  if (result->timedOut || result->exitCode != 0 || result->truncated)
    return llvm::createStringError(
        "'" + program + "' " +
        (result->timedOut
             ? "did not finish in " + std::to_string(timeoutSeconds) + " s"
         : result->truncated ? std::string("wrote more than 64 MiB")
                             : "failed with exit code " +
                                   std::to_string(result->exitCode) + ": " +
                                   llvm::StringRef(result->output)
                                       .trim()
                                       .take_front(500)
                                       .str()));
  return parseSass(result->output);
}
