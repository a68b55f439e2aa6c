//===- Layer.cpp - Compiling one tensor in one layout ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layer.h"
#include "Record.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Tuning/Evaluators.h"

using namespace sparseditto;

namespace {
/// Gathers one layer of the package from its plans.
class LayerCompiler {
public:
  LayerCompiler(const ModelProduct &product, const PatternReport &report,
                const CompileOptions &options, KernelCache &cache)
      : product(product), report(report), options(options),
        builder(product.weight, cache) {}

  /// `result.layer` has its problem already.
  llvm::Error run(CompiledLayer &result, EventSink *events);

private:
  /// A plan a chip.
  llvm::Expected<std::vector<std::vector<Choice>>> plans(CompiledLayer &result,
                                                         EventSink *events);
  CompiledRow rowFor(const Chip &chip, const PackageLayer &layer) const;
  llvm::Error addKernel(const Chip &chip, const Choice &choice,
                        CompiledLayer &result, PlanEntry &entry,
                        CompiledRow &row);

  const ModelProduct &product;
  const PatternReport &report;
  const CompileOptions &options;
  /// One packed copy a format, shared by every N and chip.
  CandidateBuilder builder;
  /// Copies that a plan uses, in the order they are shipped.
  std::vector<std::string> shipped;
};
} // namespace

CompiledRow LayerCompiler::rowFor(const Chip &chip,
                                  const PackageLayer &layer) const {
  CompiledRow row;
  row.layer = layer.name;
  row.file = layer.sourceFile;
  row.m = layer.problem.m;
  row.k = layer.problem.k;
  row.pattern = report.patternText();
  row.density = report.density();
  row.type = layer.problem.type;
  row.layout = layer.problem.layout;
  row.chip = chip.name.str();
  return row;
}

/// The kernel of a choice: from the cache, where choosing left it. That of a
/// given plan may not stand.
llvm::Error LayerCompiler::addKernel(const Chip &chip, const Choice &choice,
                                     CompiledLayer &result, PlanEntry &entry,
                                     CompiledRow &row) {
  PackageLayer &layer = result.layer;
  const Proposal proposal = choice.proposal();
  CandidateBuilder::Built built =
      builder.build(proposal, layer.problem, choice.tuneN, chip);
  if (built.candidate.status != CandidateStatus::Compiled)
    return makeError("{0}: {1} on {2}: {3}, {4}", layer.name, choice.text(),
                     row.chip, name(built.candidate.status),
                     built.candidate.message);
  auto copy = builder.packed(choice.strategy);
  if (!copy)
    return copy.takeError();
  const std::string key = packingKey(choice.strategy);
  size_t index = size_t(llvm::find(shipped, key) - shipped.begin());
  if (index == shipped.size())
    shipped.push_back(key);

  KernelManifest manifest = built.kernel->manifest;
  entry.strategy = choice.strategy;
  entry.symbol = row.symbol = manifest.symbol;
  row.resources = built.kernel->resources;
  manifest.problem = layer.problem;
  manifest.problem.tuneN = choice.tuneN;
  manifest.weightBytes = (*copy)->numBytes();
  manifest.packedIndex = int(index);
  manifest.recordId =
      recordId(report, layer.problem, chip, proposal, choice.tuneN);
  std::string stem = "kernels/" + manifest.symbol + "." + row.chip;
  manifest.ptxFile = stem + ".ptx";
  manifest.cubinFile = built.kernel->cubin.empty() ? "" : stem + ".cubin";
  manifest.mlirFile = "kernels/" + manifest.symbol + ".mlir";
  if (manifest.custom) {
    manifest.custom->reason = choice.reason;
    manifest.custom->diffFile = "kernels/" + manifest.symbol + ".diff";
  }
  bool isKnown = llvm::any_of(layer.kernels, [&](const auto &known) {
    return known.symbol == manifest.symbol && known.chip == manifest.chip;
  });
  if (!isKnown) {
    layer.kernels.push_back(std::move(manifest));
    result.kernels.push_back(built.kernel);
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::vector<Choice>>>
LayerCompiler::plans(CompiledLayer &result, EventSink *events) {
  if (!product.plan.empty())
    return std::vector<std::vector<Choice>>(options.chips.size(), product.plan);
  std::unique_ptr<Evaluator> evaluator =
      options.makeEvaluator
          ? options.makeEvaluator(product.weight, product.problem, builder)
          : std::make_unique<CompiledEvaluator>(product.problem, builder);
  std::vector<Candidate> history;
  ChooseOptions choose = options.choose;
  choose.label = product.weight.name;
  choose.events = events;
  auto chosen = choosePlans(report, product.problem, options.chips, choose,
                            *evaluator, &history);
  for (const Candidate &candidate : history) {
    if (candidate.proposal.rewrite && candidate.sameAs.empty() &&
        candidate.microseconds == 0 &&
        candidate.status == CandidateStatus::Verified && !choose.replay)
      result.notes.push_back(result.layer.name + ": " +
                             unmeasuredRewrite(candidate));
    result.records.push_back(makeRecord(
        report, product.problem, *llvm::cantFail(findChip(candidate.chip)),
        candidate, options.environment));
  }
  return chosen;
}

llvm::Error LayerCompiler::run(CompiledLayer &result, EventSink *events) {
  PackageLayer &layer = result.layer;
  auto chosen = plans(result, events);
  if (!chosen)
    return chosen.takeError();
  for (auto [chip, plan] : llvm::zip_equal(options.chips, *chosen))
    for (Choice &choice : plan) {
      CompiledRow row = rowFor(*chip, layer);
      PlanEntry entry;
      entry.chip = row.chip;
      entry.nMin = choice.nMin;
      entry.nMax = choice.nMax;
      entry.tuneN = choice.tuneN;
      entry.useLibrary = choice.useLibrary;
      entry.reason = choice.reason;
      entry.predictedMicroseconds = choice.predictedMicroseconds;
      entry.floorMicroseconds = choice.floorMicroseconds;
      if (!choice.useLibrary)
        if (llvm::Error error = addKernel(*chip, choice, result, entry, row))
          return error;
      layer.plan.push_back(std::move(entry));
      row.choice = std::move(choice);
      result.rows.push_back(std::move(row));
    }
  // Copies packed for candidates that did not win are left behind.
  for (const std::string &key : shipped)
    layer.packed.push_back(builder.take(key));
  LayerMemory &memory = result.memory;
  memory.layer = layer.name;
  memory.file = layer.sourceFile;
  memory.layout = layer.problem.layout;
  memory.formats = shipped;
  for (const PackedWeight &packed : layer.packed)
    memory.packedBytes += packed.numBytes();
  memory.denseBytes = int64_t(layer.weight.numBytes());
  return llvm::Error::success();
}

llvm::Expected<CompiledLayer> sparseditto::compileLayer(
    const ModelProduct &product, const PatternReport &report,
    const CompileOptions &options, KernelCache &cache, EventSink *events) {
  CompiledLayer result;
  PackageLayer &layer = result.layer;
  layer.name = product.weight.name;
  layer.sourceFile = product.weight.sourceFile;
  layer.weight = product.weight;
  layer.problem = product.problem;
  layer.report = report.toJSON();
  if (llvm::Error error =
          LayerCompiler(product, report, options, cache).run(result, events))
    return error;
  return result;
}
