//===- Compile.cpp - sd-tune compile --------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Compile.h"
#include "CompileSpelling.h"
#include "Subcommands.h"
#include "sparseditto/Support/Table.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace sparseditto;
using namespace sparseditto::tool;

/// Chips that were given the same choice share a line.
static void printTable(const CompileResult &result,
                       const CompileSpelling &spelling) {
  Table table({"tensor", "shape", "pattern", "density", "packed/dense KB", "N",
               "choice", "chips", "predicted us", "regs", "why"});
  for (size_t column : {3, 4, 8, 9})
    table.alignRight(column);
  std::map<llvm::StringRef, const LayerMemory *> memory;
  for (const LayerMemory &layer : result.memory)
    memory[layer.layer] = &layer;
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const CompiledRow &row = result.rows[i];
    auto sameChoice = [&](const CompiledRow &other) {
      return other.layer == row.layer && other.file == row.file &&
             other.choice.nMin == row.choice.nMin &&
             other.choice.nMax == row.choice.nMax &&
             other.choice.text() == row.choice.text();
    };
    if (llvm::any_of(llvm::ArrayRef(result.rows).take_front(i), sameChoice))
      continue;
    std::string chips;
    for (const CompiledRow &other : llvm::ArrayRef(result.rows).drop_front(i))
      if (sameChoice(other))
        chips += (chips.empty() ? "" : ",") + other.chip;
    table.row(
        {row.layer, std::to_string(row.m) + "x" + std::to_string(row.k),
         row.pattern, llvm::formatv("{0:F3}", row.density).str(),
         llvm::formatv("{0:F1}/{1:F1}", memory[row.layer]->packedBytes / 1e3,
                       memory[row.layer]->denseBytes / 1e3)
             .str(),
         row.choice.rangeText(),
         row.choice.useLibrary ? "dense library" : row.choice.strategy.family,
         chips, llvm::formatv("{0:F1}", row.choice.predictedMicroseconds).str(),
         row.choice.useLibrary ? "-" : std::to_string(row.resources.registers),
         row.choice.reason});
  }
  llvm::raw_ostream &os = llvm::outs();
  table.print(os);
  printSkipped(os, result);
  os << llvm::formatv("agent {0}; times are predicted for the first chip of a "
                      "line\n",
                      spelling.agent);
  os << llvm::formatv("{0}: {1} kernels, packed {2:F2} MB beside {3:F2} MB "
                      "dense\n",
                      spelling.output, result.kernelsBuilt,
                      result.packedBytes / 1e6, result.denseBytes / 1e6);
}

int tool::compileMain(llvm::ArrayRef<const char *> args) {
  CompileSpelling spelling;
  CommandLine command(
      "compile", "FILE...",
      "Chooses a kernel for every matrix of weight files and every N, builds "
      "it for\nthe chips and writes a package: kernels, packed weights, "
      "manifest, plan, report.");
  spelling.declare(command, "--budget",
                   "heuristic (default), exhaustive, random[:SEED], several "
                   "with commas");
  if (std::optional<int> code = command.parse(args))
    return *code;
  if (command.positional.empty())
    return command.usageError("expected at least one weight file");
  if (spelling.output.empty())
    return command.usageError("expected -o PACKAGE");
  auto options = spelling.interpret(command);
  if (!options)
    return command.usageError(llvm::toString(options.takeError()));
  auto result = compilePackage(*options);
  if (!result)
    return command.fail(result.takeError());
  if (spelling.json)
    printCompileJSON(*result, spelling.output);
  else
    printTable(*result, spelling);
  return 0;
}
