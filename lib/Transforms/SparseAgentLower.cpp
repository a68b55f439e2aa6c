//===- SparseAgentLower.cpp - Choose and build kernels --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Pass/PassManager.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Kernels/Family.h"
#include "sparseditto/Target/Chips.h"
#include "sparseditto/Target/Ptxas.h"
#include "sparseditto/Transforms/Passes.h"
#include "sparseditto/Transforms/Pipelines.h"
#include "sparseditto/Transforms/Problems.h"
#include "sparseditto/Transforms/Strategies.h"
#include "sparseditto/Transforms/Weights.h"
#include "sparseditto/Tuning/Choose.h"
#include "sparseditto/Tuning/KernelCache.h"
#include <map>

namespace sparseditto {
#define GEN_PASS_DEF_SPARSEAGENTLOWERPASS
#include "sparseditto/Transforms/Passes.h.inc"
} // namespace sparseditto

using namespace mlir;
using namespace sparseditto;
using sparsepattern::PlanAttr;
using sparsepattern::SpmmOp;
using sparsepattern::StrategyAttr;

namespace {

/// A line of the table.
struct Row {
  std::string weight, pattern, tokens, choice, reason;
};

class SparseAgentLower
    : public sparseditto::impl::SparseAgentLowerPassBase<SparseAgentLower> {
public:
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm("builtin.module");
    pm.addPass(createConvertLinalgToSparsePatternPass());
    buildSparseToPtxPipeline(pm, SparseToPtxOptions());
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override;

private:
  LogicalResult decide(SpmmOp op, const Chip &chip, KernelCache &cache,
                       std::vector<Row> &rows);
};

} // namespace

/// A plan of the choices, which ascend in N and leave no gap.
static PlanAttr toPlan(MLIRContext *context, ArrayRef<Choice> choices) {
  SmallVector<int64_t> bounds;
  SmallVector<StrategyAttr> strategies;
  for (const Choice &choice : choices) {
    Strategy strategy = choice.strategy;
    if (choice.useLibrary) {
      strategy = {};
      strategy.family = libraryStrategy.str();
    }
    strategies.push_back(toStrategyAttr(context, strategy));
    if (&choice != &choices.back())
      bounds.push_back(choice.nMax);
  }
  return PlanAttr::get(context, bounds, strategies);
}

static void addRows(const Matrix &weight, SpmmOp op, ArrayRef<Choice> choices,
                    std::vector<Row> &rows) {
  std::string pattern;
  llvm::raw_string_ostream stream(pattern);
  // "#sparsepattern.encoding<nm = 2:4 along rows, ...>" without its name.
  if (Attribute known = op.getKnownPattern())
    known.print(stream);
  for (const Choice &choice : choices) {
    Row row;
    row.weight =
        llvm::formatv("{0} {1}x{2}", weight.name, weight.rows, weight.cols);
    row.pattern = StringRef(pattern).split('<').second.rtrim('>').str();
    row.tokens = choice.nMax == 0
                     ? llvm::formatv("{0}..", choice.nMin).str()
                     : llvm::formatv("{0}..{1}", choice.nMin, choice.nMax);
    row.choice = choice.useLibrary ? "dense library" : choice.strategy.str();
    row.reason = choice.reason;
    rows.push_back(std::move(row));
  }
}

LogicalResult SparseAgentLower::decide(SpmmOp op, const Chip &chip,
                                       KernelCache &cache,
                                       std::vector<Row> &rows) {
  auto constant = op.getWeight().front().getDefiningOp<arith::ConstantOp>();
  auto value =
      constant ? dyn_cast<ElementsAttr>(constant.getValue()) : ElementsAttr();
  std::optional<Problem> problem = problemOf(op);
  if (!value || !problem) {
    emitRemark(op.getLoc()) << "no plan: "
                            << (value ? "an element type has no kernels"
                                      : "the weight is not a constant");
    return success();
  }
  std::string name = "weight";
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    name = resource.getRawHandle().getKey().str();
  llvm::Expected<ConstantTensor> tensor = readConstant(value, name);
  if (!tensor)
    return op->emitError() << llvm::toString(tensor.takeError());
  Matrix weight = tensor->asMatrix();
  llvm::Expected<PatternReport> report = analyze(weight);
  if (!report)
    return op->emitError() << llvm::toString(report.takeError());

  // Strategies that differ in other knobs share a packed copy.
  std::map<std::string, PackedWeight> copies;
  auto evaluate = [&](const Proposal &proposal, int64_t tokens) {
    Candidate candidate;
    candidate.proposal = proposal;
    candidate.n = tokens;
    const KernelFamily &family = *findFamily(proposal.strategy.family);
    std::string key = packingKey(proposal.strategy);
    auto copy = copies.find(key);
    if (copy == copies.end()) {
      auto packed = packChecked(family, weight, proposal.strategy);
      if (!packed) {
        candidate.status = CandidateStatus::Illegal;
        candidate.message = llvm::toString(packed.takeError());
        return candidate;
      }
      copy = copies.try_emplace(key, std::move(*packed)).first;
    }
    Problem tuned = *problem;
    tuned.tuneN = tokens;
    auto kernel =
        cache.get(family, tuned, proposal.strategy, copy->second, chip);
    candidate.status = kernel->status;
    candidate.message = kernel->message;
    return candidate;
  };

  ChooseOptions options;
  options.agent = agent;
  options.family = family;
  options.budget = iterations;
  int64_t tokens = cast<ShapedType>(op.getActivations().getType())
                       .getDimSize(op.getTokenDim());
  if (!ShapedType::isDynamic(tokens))
    options.ns = {std::max<int64_t>(tokens, 1)};
  else if (!n.empty())
    options.ns.assign(n.begin(), n.end());
  llvm::Expected<std::vector<Choice>> choices =
      choosePlan(*report, *problem, chip, options, evaluate);
  if (!choices)
    return op->emitError() << llvm::toString(choices.takeError());
  op.setPlanAttr(toPlan(&getContext(), *choices));
  addRows(weight, op, *choices, rows);
  return success();
}

static void printTable(ArrayRef<Row> rows, StringRef chip, StringRef agent) {
  llvm::raw_ostream &os = llvm::errs();
  os << "agent " << agent << ", " << chip << ": "
     << (rows.empty() ? "no product with a pruned weight" : "choices") << "\n";
  std::string Row::*columns[] = {&Row::weight, &Row::pattern, &Row::tokens,
                                 &Row::choice};
  size_t widths[4] = {6, 7, 1, 6};
  for (const Row &row : rows)
    for (auto [column, width] : llvm::zip_equal(columns, widths))
      width = std::max(width, (row.*column).size());
  auto print = [&](const Row &row) {
    for (auto [column, width] : llvm::zip_equal(columns, widths))
      os << llvm::left_justify(row.*column, width) << "  ";
    os << row.reason << "\n";
  };
  if (!rows.empty())
    print({"weight", "pattern", "N", "choice", "reason"});
  for (const Row &row : rows)
    print(row);
}

void SparseAgentLower::runOnOperation() {
  ModuleOp module = getOperation();
  llvm::Expected<const Chip *> chip = findChip(target);
  if (!chip) {
    emitError(module.getLoc()) << llvm::toString(chip.takeError());
    return signalPassFailure();
  }
  for (int64_t tokens : n)
    if (tokens < 1) {
      emitError(module.getLoc())
          << "numbers of tokens must be positive, got " << tokens;
      return signalPassFailure();
    }
  OpPassManager convert("builtin.module");
  ConvertLinalgToSparsePatternPassOptions convertOptions;
  convertOptions.baseDir = baseDir;
  convert.addPass(createConvertLinalgToSparsePatternPass(convertOptions));
  if (failed(runPipeline(convert, module)))
    return signalPassFailure();

  KernelCache cache(PtxasOptions{});
  std::vector<Row> rows;
  WalkResult walked = module.walk([&](SpmmOp op) {
    if (op.isPacked() || op.getPlanAttr() || !op.hasPureTensorSemantics())
      return WalkResult::advance();
    return succeeded(decide(op, **chip, cache, rows)) ? WalkResult::advance()
                                                      : WalkResult::interrupt();
  });
  if (walked.wasInterrupted())
    return signalPassFailure();
  printTable(rows, target, agent);
  if (decideOnly)
    return;
  OpPassManager lower("builtin.module");
  SparseToPtxOptions options;
  options.chip = target;
  options.format = format;
  buildSparseToPtxPipeline(lower, options);
  if (failed(runPipeline(lower, module)))
    signalPassFailure();
}
