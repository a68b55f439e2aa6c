//===- Layer.cpp - Compiling one tensor in one layout ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layer.h"
#include "Record.h"
#include "sparseditto/Tuning/CandidateBuilder.h"

using namespace sparseditto;

llvm::Expected<CompiledLayer>
sparseditto::compileLayer(const Matrix &weight, const PatternReport &report,
                          Layout layout, const CompileOptions &options,
                          KernelCache &cache) {
  CompiledLayer result;
  PackageLayer &layer = result.layer;
  layer.name = weight.name;
  layer.sourceFile = weight.sourceFile;
  layer.weight = weight;
  layer.report = report.toJSON();
  Problem &problem = layer.problem;
  problem.m = weight.rows;
  problem.k = weight.cols;
  problem.type = problem.outputType = weight.type;
  problem.layout = layout;
  problem.epilogue = options.epilogue;

  // One packed copy a format, shared by every N and chip.
  CandidateBuilder builder(weight, cache);
  // Copies that a plan uses, in the order they are shipped.
  std::vector<std::string> shipped;
  for (const Chip *chip : options.chips) {
    auto evaluate = [&](const Proposal &proposal, int64_t n) {
      CandidateBuilder::Built built =
          builder.build(proposal, problem, n, *chip);
      result.records.push_back(makeRecord(
          report, problem, *chip, built.candidate,
          built.kernel ? built.kernel->resources : KernelResources()));
      return built.candidate;
    };
    auto plan = choosePlan(report, problem, *chip, options.choose, evaluate);
    if (!plan)
      return plan.takeError();

    for (Choice &choice : *plan) {
      CompiledRow row;
      row.layer = layer.name;
      row.file = layer.sourceFile;
      row.m = problem.m;
      row.k = problem.k;
      row.pattern = report.patternText();
      row.density = report.density();
      row.type = problem.type;
      row.layout = layout;
      row.chip = chip->name.str();
      PlanEntry entry;
      entry.chip = row.chip;
      entry.nMin = choice.nMin;
      entry.nMax = choice.nMax;
      entry.tuneN = choice.tuneN;
      entry.useLibrary = choice.useLibrary;
      entry.reason = choice.reason;
      entry.predictedMicroseconds = choice.predictedMicroseconds;
      entry.floorMicroseconds = choice.floorMicroseconds;
      if (!choice.useLibrary) {
        auto copy = builder.packed(choice.strategy);
        if (!copy)
          return copy.takeError();
        const std::string key = packingKey(choice.strategy);
        size_t index = size_t(llvm::find(shipped, key) - shipped.begin());
        if (index == shipped.size())
          shipped.push_back(key);
        Problem tuned = problem;
        tuned.tuneN = choice.tuneN;
        auto kernel = cache.get(*findFamily(choice.strategy.family), tuned,
                                choice.strategy, **copy, *chip);
        entry.strategy = choice.strategy;
        entry.symbol = row.symbol = kernel->manifest.symbol;
        row.resources = kernel->resources;
        KernelManifest manifest = kernel->manifest;
        manifest.problem = tuned;
        manifest.weightBytes = (*copy)->numBytes();
        manifest.packedIndex = int(index);
        std::string stem = "kernels/" + manifest.symbol + "." + row.chip;
        manifest.ptxFile = stem + ".ptx";
        manifest.cubinFile = kernel->cubin.empty() ? "" : stem + ".cubin";
        manifest.mlirFile = "kernels/" + manifest.symbol + ".mlir";
        bool isKnown = llvm::any_of(layer.kernels, [&](const auto &known) {
          return known.symbol == manifest.symbol && known.chip == manifest.chip;
        });
        if (!isKnown) {
          layer.kernels.push_back(std::move(manifest));
          result.kernels.push_back(kernel);
        }
      }
      layer.plan.push_back(std::move(entry));
      row.choice = std::move(choice);
      result.rows.push_back(std::move(row));
    }
  }
  // Copies packed for candidates that did not win are left behind.
  for (const std::string &key : shipped)
    layer.packed.push_back(builder.take(key));
  return result;
}
