//===- Sass.cpp - Facts about the machine code of a kernel ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Sass.h"
#include "SassText.h"
#include "Toolkit.h"
#include "sparseditto/Support/Process.h"
#include "sparseditto/Target/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

using namespace sparseditto;

std::optional<SassInstruction>
sparseditto::parseSassInstruction(llvm::StringRef line) {
  SassInstruction instruction;
  line = line.trim();
  if (!line.consume_front("/*"))
    return std::nullopt;
  llvm::StringRef address = line.take_while(llvm::isHexDigit);
  line = line.drop_front(address.size());
  // The encoding's second half stands alone in such a comment: "0x000f...".
  if (address.size() < 4 || !line.consume_front("*/") ||
      address.getAsInteger(16, instruction.address))
    return std::nullopt;
  line = line.ltrim();
  if (line.consume_front("@")) {
    instruction.predicate = line.take_until(llvm::isSpace);
    line = line.drop_front(instruction.predicate.size()).ltrim();
  }
  instruction.opcode = line.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '.' || c == '_'; });
  if (instruction.opcode.empty())
    return std::nullopt;
  instruction.operands =
      line.drop_front(instruction.opcode.size()).split(';').first.trim();
  return instruction;
}

SassHeading sparseditto::parseSassHeading(llvm::StringRef line) {
  SassHeading heading;
  line = line.trim();
  if (line.consume_front("code for ") || line.consume_front(".target"))
    heading.chip = line.trim();
  else if (line.consume_front("Function : "))
    heading.function = line.trim();
  else if (line.consume_back(":")) {
    if (line.consume_front(".text."))
      heading.function = line;
    else
      heading.label = line;
  }
  return heading;
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
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (auto instruction = parseSassInstruction(line)) {
      if (!kernels.empty())
        count(kernels.back(), instruction->opcode);
      continue;
    }
    SassHeading heading = parseSassHeading(line);
    if (heading.chip)
      chip = heading.chip->str();
    if (heading.function) {
      kernels.emplace_back();
      kernels.back().name = heading.function->str();
      kernels.back().chip = chip;
    }
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
  llvm::Expected<std::optional<std::string>> text =
      disassembleText(cubin, timeoutSeconds);
  if (!text)
    return text.takeError();
  if (!*text)
    return std::nullopt;
  return parseSass(**text);
}

llvm::Expected<std::optional<std::string>>
sparseditto::disassembleText(llvm::StringRef cubin, unsigned timeoutSeconds) {
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
  return std::move(result->output);
}
