//===- Compile.cpp - sd-tune compile --------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Compile.h"
#include "CommandLine.h"
#include "Subcommands.h"
#include "sparseditto/Support/Table.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace sparseditto;
using namespace sparseditto::tool;

namespace {
/// The command line as it is spelt.
struct Spelling {
  std::string ns = "1,16,512", targets = "sm_90a", output, tensor = "*";
  std::string layout = "token-major", type, agent = "heuristic", families;
  std::string activation = "none";
  unsigned copies = 1, budget = 64, jobs = 0, ptxasTimeout = 60;
  bool json = false, bias = false, residual = false;
};
} // namespace

static llvm::Error invalid(llvm::StringRef option, llvm::StringRef got,
                           llvm::StringRef expected) {
  return llvm::createStringError(option + ": got '" + got + "', expected " +
                                 expected);
}

static llvm::Error parseNs(llvm::StringRef text, std::vector<int64_t> &ns) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  ns.clear();
  for (llvm::StringRef part : parts) {
    int64_t n;
    if (!llvm::to_integer(part.trim(), n, 10) || n < 1 || n > INT32_MAX)
      return invalid("--n", part, "numbers from 1 to 2147483647");
    ns.push_back(n);
  }
  return llvm::Error::success();
}

static llvm::Expected<CompileOptions> interpret(const Spelling &spelling,
                                                const CommandLine &command) {
  CompileOptions options;
  options.files = command.positional;
  options.tensorGlob = spelling.tensor;
  options.outputDirectory = spelling.output;
  options.jobs = spelling.jobs;
  options.choose.agent = spelling.agent;
  options.choose.maxCopies = spelling.copies;
  options.choose.budget = spelling.budget;
  options.ptxas.timeoutSeconds = spelling.ptxasTimeout;
  if (llvm::Error error = parseNs(spelling.ns, options.choose.ns))
    return error;

  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(spelling.targets).split(names, ',');
  for (llvm::StringRef name : names) {
    auto chip = findChip(name.trim());
    if (!chip)
      return chip.takeError();
    if (!llvm::is_contained(options.chips, *chip))
      options.chips.push_back(*chip);
  }

  if (spelling.layout == "both")
    options.layouts = {Layout::TokenMajor, Layout::FeatureMajor};
  else if (std::optional<Layout> layout = parseLayout(spelling.layout))
    options.layouts = {*layout};
  else
    return invalid("--layout", spelling.layout,
                   "token-major, feature-major or both");

  if (!spelling.type.empty()) {
    options.type = parseElementType(spelling.type);
    if (options.type != ElementType::F16 && options.type != ElementType::BF16 &&
        options.type != ElementType::F32)
      return invalid("--type", spelling.type, "f16, bf16 or f32");
  }
  std::optional<Activation> activation = parseActivation(spelling.activation);
  if (!activation)
    return invalid("--activation", spelling.activation,
                   "none, relu, gelu or silu");
  options.epilogue = {spelling.bias, *activation, spelling.residual};

  names.clear();
  llvm::StringRef(spelling.families).split(names, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names)
    options.choose.families.push_back(name.trim().str());
  if (llvm::Error error = checkFamilies(options.choose.families))
    return llvm::createStringError("--family: " +
                                   llvm::toString(std::move(error)));
  // Said before any work is done.
  if (auto source = createProposalSource(spelling.agent); !source)
    return source.takeError();
  if (spelling.copies == 0)
    return invalid("--copies", "0", "at least 1");
  return options;
}

static llvm::json::Value toJSON(const CompiledRow &row) {
  llvm::json::Object object = toJSON(row.choice);
  object["tensor"] = row.layer;
  object["file"] = row.file;
  object["shape"] = llvm::json::Array{row.m, row.k};
  object["pattern"] = row.pattern;
  object["density"] = row.density;
  object["dtype"] = name(row.type);
  object["layout"] = name(row.layout);
  object["chip"] = row.chip;
  if (!row.choice.useLibrary) {
    object["symbol"] = row.symbol;
    object["registers"] = row.resources.registers;
    object["spill_bytes"] =
        row.resources.spillLoadBytes + row.resources.spillStoreBytes;
  }
  return object;
}

static void printJSON(const CompileResult &result, llvm::StringRef package) {
  llvm::json::Array choices, skipped, notes, layers;
  for (const LayerMemory &memory : result.memory)
    layers.push_back(
        llvm::json::Object{{"tensor", memory.layer},
                           {"file", memory.file},
                           {"layout", name(memory.layout)},
                           {"formats", llvm::json::Array(memory.formats)},
                           {"packed_bytes", memory.packedBytes},
                           {"dense_bytes", memory.denseBytes}});
  for (const CompiledRow &row : result.rows)
    choices.push_back(toJSON(row));
  for (const SkippedTensor &tensor : result.skipped)
    skipped.push_back(llvm::json::Object{{"tensor", tensor.layer},
                                         {"file", tensor.file},
                                         {"reason", tensor.reason}});
  for (const std::string &note : result.notes)
    notes.push_back(note);
  llvm::outs() << llvm::formatv(
      "{0:2}\n", llvm::json::Value(
                     llvm::json::Object{{"package", package},
                                        {"choices", std::move(choices)},
                                        {"layers", std::move(layers)},
                                        {"skipped", std::move(skipped)},
                                        {"notes", std::move(notes)},
                                        {"kernels", result.kernelsBuilt},
                                        {"packed_bytes", result.packedBytes},
                                        {"dense_bytes", result.denseBytes}}));
}

/// Chips that were given the same choice share a line.
static void printTable(const CompileResult &result, const Spelling &spelling) {
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
             other.choice.useLibrary == row.choice.useLibrary &&
             (row.choice.useLibrary ||
              other.choice.strategy == row.choice.strategy);
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
  for (const SkippedTensor &tensor : result.skipped)
    os << "skipped " << tensor.layer << " (" << tensor.file
       << "): " << tensor.reason << "\n";
  for (const std::string &note : result.notes)
    os << "note: " << note << "\n";
  os << llvm::formatv("agent {0}; times are predicted for the first chip of a "
                      "line\n",
                      spelling.agent);
  os << llvm::formatv("{0}: {1} kernels, packed {2:F2} MB beside {3:F2} MB "
                      "dense\n",
                      spelling.output, result.kernelsBuilt,
                      result.packedBytes / 1e6, result.denseBytes / 1e6);
}

int tool::compileMain(llvm::ArrayRef<const char *> args) {
  Spelling spelling;
  CommandLine command(
      "compile", "FILE...",
      "Chooses a kernel for every matrix of weight files and every N, builds "
      "it for\nthe chips and writes a package: kernels, packed weights, "
      "manifest, plan, report.");
  command.value("--n", "LIST", spelling.ns,
                "token counts to choose for; each choice serves N up to its "
                "own, the last all above (default 1,16,512)");
  command.value("--target", "CHIPS", spelling.targets,
                "chips to build for, such as sm_80,sm_90a (default sm_90a)");
  command.value("-o", "PACKAGE", spelling.output, "directory to write");
  command.value("--tensor", "GLOB", spelling.tensor,
                "only the tensors whose name matches");
  command.value("--layout", "LAYOUT", spelling.layout,
                "token-major (X is N x K), feature-major (X is K x N) or both");
  command.value("--type", "TYPE", spelling.type,
                "f16, bf16 or f32; default f16 for f32 and f64 files, else as "
                "stored");
  command.flag("--bias", spelling.bias, "kernels add a bias");
  command.value("--activation", "NAME", spelling.activation,
                "kernels apply none, relu, gelu or silu");
  command.flag("--residual", spelling.residual, "kernels add a residual");
  command.value("--agent", "NAME", spelling.agent,
                "who proposes: heuristic (default), exhaustive, random[:SEED]");
  command.value(
      "--family", "LIST", spelling.families,
      "kernels of these families only, even where the dense library is "
      "predicted to be faster");
  command.value("--copies", "COUNT", spelling.copies,
                "packed copies a weight may have besides the dense one "
                "(default 1)");
  command.value("--budget", "COUNT", spelling.budget,
                "candidates to build at most for a tensor, layout and chip "
                "(default 64)");
  command.value("--jobs", "COUNT", spelling.jobs,
                "worker threads (default: one a core)");
  command.value("--ptxas-timeout", "SECONDS", spelling.ptxasTimeout,
                "time one run of ptxas may take (default 60)");
  command.flag("--json", spelling.json, "print one JSON object");
  if (std::optional<int> code = command.parse(args))
    return *code;
  if (command.positional.empty())
    return command.usageError("expected at least one weight file");
  if (spelling.output.empty())
    return command.usageError("expected -o PACKAGE");
  auto options = interpret(spelling, command);
  if (!options)
    return command.usageError(llvm::toString(options.takeError()));
  auto result = compilePackage(*options);
  if (!result)
    return command.fail(result.takeError());
  if (spelling.json)
    printJSON(*result, spelling.output);
  else
    printTable(*result, spelling);
  return 0;
}
