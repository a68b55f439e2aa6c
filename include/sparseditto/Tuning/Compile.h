//===- Compile.h - From weight files to a package ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_COMPILE_H
#define SPARSEDITTO_TUNING_COMPILE_H

#include "sparseditto/Analysis/PatternReport.h"
#include "sparseditto/Target/Ptxas.h"
#include "sparseditto/Tuning/CandidateBuilder.h"
#include "sparseditto/Tuning/Choose.h"
#include "sparseditto/Tuning/Database.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sparseditto {

struct CompileOptions {
  std::vector<std::string> files;
  std::string tensorGlob = "*";
  std::vector<const Chip *> chips;
  std::vector<Layout> layouts = {Layout::TokenMajor};
  ChooseOptions choose;
  /// Element type of weights and activations in the package. None: f16 for f32
  /// and f64 files, else as stored.
  std::optional<ElementType> type;
  Epilogue epilogue;
  std::string outputDirectory; ///< Empty: compilePackage() writes nothing.
  /// Mark the package so, which then holds no kernel that nobody approved.
  bool production = false;
  PtxasOptions ptxas;
  unsigned jobs = 0; ///< Worker threads; 0 = one a core.
  /// Who evaluates candidates for one weight; empty: CompiledEvaluator.
  std::function<std::unique_ptr<Evaluator>(
      const Matrix &weight, const Problem &problem, CandidateBuilder &builder)>
      makeEvaluator;
  /// Facts for sources from the machine code as well.
  bool readSass = false;
  TuningEnvironment environment; ///< Of what is measured.
};

/// One choice for one tensor, layout and chip: a row of the table.
struct CompiledRow {
  std::string layer, file;
  int64_t m = 0, k = 0;
  std::string pattern; ///< With its detail: "nm 2:4", "block 64x64".
  double density = 0;
  ElementType type = ElementType::F16;
  Layout layout = Layout::TokenMajor;
  std::string chip;
  Choice choice;
  std::string symbol; ///< Empty for the library.
  KernelResources resources;
};

/// A tensor that got no plan, and why (wrong element type, rank 1, ...).
struct SkippedTensor {
  std::string layer, file, reason;
};

/// What one layer holds on the device. The dense weight is needed only where
/// the dense library serves some N.
struct LayerMemory {
  std::string layer, file;
  Layout layout = Layout::TokenMajor;
  std::vector<std::string> formats; ///< packingKey() of each packed copy.
  int64_t packedBytes = 0;          ///< Of all packed copies.
  int64_t denseBytes = 0;           ///< Of the weight dense.
};

struct CompileResult {
  std::vector<CompiledRow> rows;
  std::vector<LayerMemory> memory; ///< A layer each, in the order of the rows.
  std::vector<SkippedTensor> skipped;
  std::vector<std::string> notes;   ///< Conversions that changed something, ...
  std::vector<std::string> records; ///< JSON lines, as in records.jsonl.
  int64_t kernelsBuilt = 0;         ///< Distinct kernels, counted once a chip.
  int64_t packedBytes = 0;          ///< Resident bytes of all packed copies.
  int64_t denseBytes = 0;           ///< The same weights dense.
};

/// One product of a model, for compileProducts().
struct ModelProduct {
  Matrix weight; ///< M x K, in problem.type; its name is the layer's.
  Problem problem;
  /// Which strategy serves which N, on every chip, ascending and without a gap.
  /// Empty: it is chosen. Times are not read.
  std::vector<Choice> plan;
};

/// Chooses where there is no plan, packs, builds and writes the package, one
/// layer a product. Of the options, files, tensor, layouts, type and epilogue
/// are not read. Fails without writing anything if a strategy of a plan cannot
/// be built.
llvm::Expected<CompileResult>
compileProducts(llvm::ArrayRef<ModelProduct> products,
                const CompileOptions &options);

/// Reads, analyses, chooses, packs, builds and writes the package. Fails
/// without writing anything if a file cannot be read or no tensor matches.
llvm::Expected<CompileResult> compilePackage(const CompileOptions &options);

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_COMPILE_H
