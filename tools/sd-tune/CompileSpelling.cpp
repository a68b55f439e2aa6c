//===- CompileSpelling.cpp - What compile and tune are asked for ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileSpelling.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;
using namespace sparseditto::tool;

llvm::Error tool::invalidOption(llvm::StringRef option, llvm::StringRef got,
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
      return invalidOption("--n", part, "numbers from 1 to 2147483647");
    ns.push_back(n);
  }
  return llvm::Error::success();
}

void CompileSpelling::declare(CommandLine &command, llvm::StringRef budgetName,
                              llvm::StringRef agents) {
  command.value("--n", "LIST", ns,
                "token counts to choose for; each choice serves N up to its "
                "own, the last all above (default 1,16,512)");
  command.value("--target", "CHIPS", targets,
                "chips to build for, such as sm_80,sm_90a (default sm_90a)");
  command.value("-o", "PACKAGE", output, "directory to write");
  command.value("--tensor", "GLOB", tensor,
                "only the tensors whose name matches");
  command.value("--layout", "LAYOUT", layout,
                "token-major (X is N x K), feature-major (X is K x N) or both");
  command.value("--type", "TYPE", type,
                "f16, bf16 or f32; default f16 for f32 and f64 files, else as "
                "stored");
  command.flag("--bias", bias, "kernels add a bias");
  command.value("--activation", "NAME", activation,
                "kernels apply none, relu, gelu or silu");
  command.flag("--residual", residual, "kernels add a residual");
  command.value("--agent", "NAME", agent, "who proposes: " + agents.str());
  command.value(
      "--family", "LIST", families,
      "kernels of these families only, even where the dense library is "
      "predicted to be faster");
  command.value("--copies", "COUNT", copies,
                "packed copies a weight may have besides the dense one "
                "(default 1)");
  command.value(budgetName, "COUNT", budget,
                "candidates to build at most for a tensor, layout and chip "
                "(default 64)");
  command.value("--jobs", "COUNT", jobs,
                "worker threads (default: one a core)");
  command.value("--ptxas-timeout", "SECONDS", ptxasTimeout,
                "time one run of ptxas may take (default 60)");
  command.flag("--production", production,
               "mark the package: readers then refuse kernels that nobody "
               "approved");
  command.flag("--json", json, "print one JSON object");
}

llvm::Expected<CompileOptions>
CompileSpelling::interpret(const CommandLine &command,
                           AgentOptions agents) const {
  CompileOptions options;
  options.files = command.positional;
  options.tensorGlob = tensor;
  options.outputDirectory = output;
  options.production = production;
  options.jobs = jobs;
  options.choose.agent = agent;
  options.choose.maxCopies = copies;
  options.choose.budget = budget;
  options.ptxas.timeoutSeconds = ptxasTimeout;
  if (llvm::Error error = parseNs(ns, options.choose.ns))
    return error;

  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(targets).split(names, ',');
  for (llvm::StringRef name : names) {
    auto chip = findChip(name.trim());
    if (!chip)
      return chip.takeError();
    if (!llvm::is_contained(options.chips, *chip))
      options.chips.push_back(*chip);
  }

  if (layout == "both")
    options.layouts = {Layout::TokenMajor, Layout::FeatureMajor};
  else if (std::optional<Layout> parsed = parseLayout(layout))
    options.layouts = {*parsed};
  else
    return invalidOption("--layout", layout,
                         "token-major, feature-major or both");

  if (!type.empty()) {
    options.type = parseElementType(type);
    if (options.type != ElementType::F16 && options.type != ElementType::BF16 &&
        options.type != ElementType::F32)
      return invalidOption("--type", type, "f16, bf16 or f32");
  }
  std::optional<Activation> fused = parseActivation(activation);
  if (!fused)
    return invalidOption("--activation", activation,
                         "none, relu, gelu or silu");
  options.epilogue = {bias, *fused, residual};

  names.clear();
  llvm::StringRef(families).split(names, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names)
    options.choose.families.push_back(name.trim().str());
  if (llvm::Error error = checkFamilies(options.choose.families))
    return llvm::createStringError("--family: " +
                                   llvm::toString(std::move(error)));
  if (copies == 0)
    return invalidOption("--copies", "0", "at least 1");
  if (llvm::StringRef(agent).starts_with("replay:"))
    return options;
  // Said before any work is done.
  auto sources = SourceChain::create(agent, agentFactory(std::move(agents)));
  if (!sources)
    return sources.takeError();
  options.choose.sources = std::move(*sources);
  return options;
}

static llvm::json::Value rowToJSON(const CompiledRow &row) {
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

void tool::printCompileJSON(const CompileResult &result,
                            llvm::StringRef package, llvm::json::Object more) {
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
    choices.push_back(rowToJSON(row));
  for (const SkippedTensor &tensor : result.skipped)
    skipped.push_back(llvm::json::Object{{"tensor", tensor.layer},
                                         {"file", tensor.file},
                                         {"reason", tensor.reason}});
  for (const std::string &note : result.notes)
    notes.push_back(note);
  more["package"] = package;
  more["choices"] = std::move(choices);
  more["layers"] = std::move(layers);
  more["skipped"] = std::move(skipped);
  more["notes"] = std::move(notes);
  more["kernels"] = result.kernelsBuilt;
  more["packed_bytes"] = result.packedBytes;
  more["dense_bytes"] = result.denseBytes;
  llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(more)));
}

void tool::printSkipped(llvm::raw_ostream &os, const CompileResult &result) {
  for (const SkippedTensor &tensor : result.skipped)
    os << "skipped " << tensor.layer << " (" << tensor.file
       << "): " << tensor.reason << "\n";
  for (const std::string &note : result.notes)
    os << "note: " << note << "\n";
}
