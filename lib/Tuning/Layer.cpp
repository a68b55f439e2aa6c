//===- Layer.cpp - Compiling one tensor in one layout ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layer.h"
#include "Record.h"
#include <map>

using namespace sparseditto;

std::string sparseditto::describePattern(const PatternReport &report) {
  std::string text = name(report.pattern).str();
  if (report.pattern == Pattern::NM)
    text += " " + std::to_string(report.nmN) + ":" +
            std::to_string(report.nmM) +
            (report.nmAxis == Axis::Cols ? " (columns)" : "");
  if (report.pattern == Pattern::Block)
    text += " " + std::to_string(report.blockR) + "x" +
            std::to_string(report.blockC);
  return text;
}

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
  std::map<std::string, PackedWeight> packed;
  std::string packError;
  auto packFor = [&](const Strategy &strategy) -> const PackedWeight * {
    std::string key = packingKey(strategy);
    auto it = packed.find(key);
    if (it == packed.end()) {
      auto made = packChecked(*findFamily(strategy.family), weight, strategy);
      if (!made) {
        packError = llvm::toString(made.takeError());
        return nullptr;
      }
      it = packed.try_emplace(key, std::move(*made)).first;
    }
    return &it->second;
  };

  // Copies that a plan uses, in the order they are shipped.
  std::vector<std::string> shipped;
  for (const Chip *chip : options.chips) {
    auto evaluate = [&](const Proposal &proposal, int64_t n) {
      Candidate candidate;
      candidate.proposal = proposal;
      candidate.n = n;
      KernelResources resources;
      if (const PackedWeight *copy = packFor(proposal.strategy)) {
        Problem tuned = problem;
        tuned.tuneN = n;
        auto kernel = cache.get(*findFamily(proposal.strategy.family), tuned,
                                proposal.strategy, *copy, *chip);
        candidate.status = kernel->status;
        candidate.message = kernel->message;
        resources = kernel->resources;
      } else {
        candidate.status = CandidateStatus::Illegal;
        candidate.message = packError;
      }
      result.records.push_back(
          makeRecord(report, problem, *chip, candidate, resources));
      return candidate;
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
      row.pattern = describePattern(report);
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
        const PackedWeight &copy = *packFor(choice.strategy);
        const std::string key = packingKey(choice.strategy);
        size_t index = size_t(llvm::find(shipped, key) - shipped.begin());
        if (index == shipped.size())
          shipped.push_back(key);
        Problem tuned = problem;
        tuned.tuneN = choice.tuneN;
        auto kernel = cache.get(*findFamily(choice.strategy.family), tuned,
                                choice.strategy, copy, *chip);
        entry.strategy = choice.strategy;
        entry.symbol = row.symbol = kernel->manifest.symbol;
        row.resources = kernel->resources;
        KernelManifest manifest = kernel->manifest;
        manifest.problem = tuned;
        manifest.weightBytes = copy.numBytes();
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
    layer.packed.push_back(std::move(packed.find(key)->second));
  return result;
}
