//===- SparseAgentLower.cpp - Choose and build kernels --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "sparseditto/Agent/Transcript.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include "sparseditto/Kernels/Family.h"
#include "sparseditto/Support/Table.h"
#include "sparseditto/Target/Chips.h"
#include "sparseditto/Target/Place.h"
#include "sparseditto/Transforms/Passes.h"
#include "sparseditto/Transforms/Pipelines.h"
#include "sparseditto/Transforms/Products.h"
#include "sparseditto/Transforms/Strategies.h"
#include "sparseditto/Tuning/Agents.h"
#include "sparseditto/Tuning/Choose.h"
#include "sparseditto/Tuning/Database.h"
#include "sparseditto/Tuning/Evaluators.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

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

/// One choice and the kernel built for it.
struct Decision {
  Choice choice;
  /// Null if the library serves the range.
  std::shared_ptr<const CachedKernel> kernel;
};

/// A product without a plan, and what was decided on it.
struct Product : ConstantProduct {
  PatternReport report;
  std::vector<Decision> decisions;
  EventBuffer events;
  int64_t packedBytes = 0; ///< Of the copies that the decisions read.
};

class SparseAgentLower
    : public sparseditto::impl::SparseAgentLowerPassBase<SparseAgentLower> {
public:
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm("builtin.module");
    pm.addPass(createConvertLinalgToSparsePatternPass());
    buildLowerPlannedPipeline(pm, target.getValue(), format);
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override;

private:
  /// Fails with what is wrong with the options; opens what they name.
  llvm::Error prepareOptions();
  bool isReplay() const { return agent == "replay"; }
  /// Converts linalg products; keeps in `left` why others are not converted.
  LogicalResult convertLinalg();
  LogicalResult collect(std::vector<Product> &products);
  LogicalResult decide(Product &product, const Chip &chip, KernelCache &cache,
                       unsigned threads);
  void printSummary(ArrayRef<Product> products);
  void printTimes(llvm::raw_ostream &os, ArrayRef<Product> products) const;
  LogicalResult writeTranscript(MutableArrayRef<Product> products);

  std::vector<std::string> left;
  // Shared by all products of a run; a clone of the pass makes its own.
  std::shared_ptr<SourceChain> sources;
  std::shared_ptr<const Transcript> recorded;
  std::shared_ptr<const TuningDatabase> records;
  std::shared_ptr<TranscriptWriter> writer;
  std::function<double()> clock;
};

} // namespace

/// A plan of the decisions, which ascend in N and leave no gap.
static PlanAttr toPlan(MLIRContext *context, ArrayRef<Decision> decisions) {
  SmallVector<int64_t> bounds;
  SmallVector<StrategyAttr> strategies;
  for (const Decision &decision : decisions) {
    Strategy strategy = decision.choice.strategy;
    if (decision.choice.useLibrary) {
      strategy = {};
      strategy.family = libraryStrategy.str();
    }
    strategies.push_back(toStrategyAttr(context, strategy));
    if (&decision != &decisions.back())
      bounds.push_back(decision.choice.nMax);
  }
  return PlanAttr::get(context, bounds, strategies);
}

static bool isLeftToLibrary(const Product &product) {
  return llvm::all_of(product.decisions,
                      [](const Decision &d) { return d.choice.useLibrary; });
}

llvm::Error SparseAgentLower::prepareOptions() {
  clock = secondsFromNow();
  sources.reset();
  recorded.reset();
  records.reset();
  writer.reset();
  if (!isReplay()) {
    AgentOptions agents;
    agents.configFile = llmConfig;
    auto chain = SourceChain::create(agent, agentFactory(std::move(agents)));
    if (!chain)
      return chain.takeError();
    sources = std::move(*chain);
  } else if (transcript.empty()) {
    return llvm::createStringError("agent=replay needs transcript=FILE");
  }
  for (int64_t tokens : n)
    if (tokens < 1 || tokens > INT32_MAX)
      return llvm::createStringError(
          "numbers of tokens must be from 1 to 2147483647, got " +
          std::to_string(tokens));
  if (iterations < 1)
    return llvm::createStringError("expected iterations of at least 1, got " +
                                   std::to_string(iterations));
  if (format != "ptx" && format != "cubin" && format != moduleFormat)
    return llvm::createStringError(
        "expected a format of ptx, cubin or module, got '" + format + "'");
  if (llvm::Error error = checkFamilies(family))
    return error;
  if (budgetSeconds < 0)
    return llvm::createStringError(
        "expected budget-seconds of at least 0, got " +
        std::to_string(budgetSeconds));
  if (!database.empty()) {
    auto opened = TuningDatabase::open(database, environmentHere());
    if (!opened)
      return opened.takeError();
    records = std::move(*opened);
  }
  if (isReplay()) {
    auto read = Transcript::read(transcript);
    if (!read)
      return read.takeError();
    recorded = std::make_shared<Transcript>(std::move(*read));
  } else if (!transcript.empty()) {
    // Said before any work is done.
    auto opened = TranscriptWriter::create(
        transcript, "sparse-agent-lower",
        llvm::json::Object{{"agent", agent},
                           {"chips", llvm::json::Array{target}},
                           {"times", name(TimeSource::Predicted)}});
    if (!opened)
      return opened.takeError();
    writer = std::move(*opened);
  }
  return llvm::Error::success();
}

LogicalResult SparseAgentLower::convertLinalg() {
  OpPassManager convert("builtin.module");
  ConvertLinalgToSparsePatternPassOptions options;
  options.baseDir = baseDir;
  convert.addPass(createConvertLinalgToSparsePatternPass(options));
  // The summary repeats what the conversion says about products it leaves.
  ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
      left.push_back(placeOf(diagnostic.getLocation()) + ": " +
                     diagnostic.str());
    return failure();
  });
  return runPipeline(convert, getOperation());
}

LogicalResult SparseAgentLower::collect(std::vector<Product> &products) {
  FailureOr<std::vector<ConstantProduct>> found = collectProducts(
      getOperation(), [](SpmmOp op) { return !op.getPlanAttr(); });
  if (failed(found))
    return failure();
  for (ConstantProduct &product : *found)
    static_cast<ConstantProduct &>(products.emplace_back()) =
        std::move(product);
  return success();
}

LogicalResult SparseAgentLower::decide(Product &product, const Chip &chip,
                                       KernelCache &cache, unsigned threads) {
  SpmmOp op = product.op;
  Matrix weight = product.weight.asMatrix();
  AnalyzeOptions analyzeOptions;
  analyzeOptions.threads = threads;
  llvm::Expected<PatternReport> report = analyze(weight, analyzeOptions);
  if (!report)
    return op->emitError() << llvm::toString(report.takeError());
  product.report = std::move(*report);

  ChooseOptions options;
  options.sources = sources;
  options.families.assign(family.begin(), family.end());
  options.budget = iterations;
  options.label = product.name.empty() ? product.place : product.name;
  options.events = writer ? &product.events : nullptr;
  options.database = records.get();
  options.replay = recorded.get();
  options.loop.clock = clock;
  options.loop.requireAgent = requireAgent;
  if (budgetSeconds > 0)
    options.loop.seconds = double(budgetSeconds);
  int64_t tokens = cast<ShapedType>(op.getActivations().getType())
                       .getDimSize(op.getTokenDim());
  if (!ShapedType::isDynamic(tokens))
    options.ns = {std::max<int64_t>(tokens, 1)};
  else if (!n.empty())
    options.ns.assign(n.begin(), n.end());

  CandidateBuilder builder(weight, cache);
  CompiledEvaluator evaluator(product.problem, builder);
  llvm::Expected<std::vector<std::vector<Choice>>> plans =
      choosePlans(product.report, product.problem, &chip, options, evaluator);
  if (!plans)
    return op->emitError() << llvm::toString(plans.takeError());

  std::set<std::string> copies;
  for (Choice &choice : plans->front()) {
    Decision decision;
    if (!choice.useLibrary) {
      llvm::Expected<const PackedWeight *> copy =
          builder.packed(choice.strategy);
      if (!copy)
        return op->emitError() << llvm::toString(copy.takeError());
      if (copies.insert(packingKey(choice.strategy)).second)
        product.packedBytes += (*copy)->numBytes();
      decision.kernel =
          builder.build(choice.proposal(), product.problem, choice.tuneN, chip)
              .kernel;
    }
    decision.choice = std::move(choice);
    product.decisions.push_back(std::move(decision));
  }
  return success();
}

/// "46 regs, 2080 B shared, no spills".
static std::string resourceText(const CachedKernel &kernel) {
  const KernelResources &used = kernel.resources;
  if (used.registers == 0)
    return kernel.message;
  unsigned spills = used.spillLoadBytes + used.spillStoreBytes;
  return llvm::formatv("{0} regs, {1} B shared, {2}", used.registers,
                       used.sharedBytes + kernel.manifest.dynamicSharedBytes,
                       spills ? std::to_string(spills) + " B spilled"
                              : "no spills");
}

/// Where the times of the table come from, and what they cost.
void SparseAgentLower::printTimes(llvm::raw_ostream &os,
                                  ArrayRef<Product> products) const {
  size_t measured = 0, all = 0;
  for (const Product &product : products)
    for (const Decision &decision : product.decisions) {
      ++all;
      measured += decision.choice.microseconds > 0;
    }
  if (measured)
    os << llvm::formatv("{0} of {1} times were measured in an earlier run, the "
                        "others are predicted",
                        measured, all);
  else
    os << "times are predicted, not measured";
  std::string spent = sources ? sources->spentText() : "";
  if (isReplay())
    os << "; replayed from '" << transcript << "'";
  else if (spent.empty())
    os << "; no language model was asked";
  else
    os << "; spent: " << spent;
  os << "\n";
  if (sources)
    for (const std::string &end : sources->ended())
      os << "agent " << end << "\n";
  if (records)
    for (const std::string &message : records->messages())
      os << message << "\n";
}

void SparseAgentLower::printSummary(ArrayRef<Product> products) {
  llvm::raw_ostream &os = llvm::errs();
  os << "agent " << agent << ", " << target << ": "
     << (products.empty() ? "no product to choose for" : "choices") << "\n";
  Table table({"weight", "at", "shape", "pattern", "density", "N", "choice",
               "us", "dense us", "ptxas", "why"});
  for (size_t column : {4, 7, 8})
    table.alignRight(column);
  int64_t packedBytes = 0, denseBytes = 0;
  bool keepsDense = false;
  for (const Product &product : products) {
    packedBytes += product.packedBytes;
    denseBytes += int64_t(product.weight.asMatrix().numBytes());
    for (const Decision &decision : product.decisions) {
      const Choice &choice = decision.choice;
      keepsDense |= choice.useLibrary;
      table.row({product.name.empty() ? "-" : product.name, product.place,
                 llvm::formatv("{0}x{1}", product.problem.m, product.problem.k),
                 product.report.patternText(),
                 llvm::formatv("{0:F3}", product.report.density()),
                 choice.rangeText(), choice.text(),
                 llvm::formatv("{0:F1}", choice.microseconds > 0
                                             ? choice.microseconds
                                             : choice.predictedMicroseconds),
                 llvm::formatv("{0:F1}", choice.denseMicroseconds > 0
                                             ? choice.denseMicroseconds
                                             : choice.libraryMicroseconds),
                 decision.kernel ? resourceText(*decision.kernel) : "-",
                 choice.reason});
    }
  }
  if (!products.empty()) {
    table.print(os);
    os << llvm::formatv(
        "packed weights {0:F2} MB, the same dense {1:F2} MB{2}\n",
        packedBytes / 1e6, denseBytes / 1e6,
        keepsDense ? "; those that the dense library serves at "
                     "some N stay dense as well"
                   : "");
    printTimes(os, products);
  }
  for (const std::string &reason : left)
    os << "left to the host: " << reason << "\n";
}

LogicalResult
SparseAgentLower::writeTranscript(MutableArrayRef<Product> products) {
  for (Product &product : products) {
    TaggedSink placed(*writer, llvm::json::Object{{"at", product.place}});
    product.events.flushTo(placed);
    for (const Decision &decision : product.decisions) {
      if (!decision.kernel)
        continue;
      const KernelResources &used = decision.kernel->resources;
      placed.event(
          "kernel",
          llvm::json::Object{
              {"name", product.name},
              {"n_min", decision.choice.nMin},
              {"symbol", decision.kernel->manifest.symbol},
              {"registers", used.registers},
              {"spill_bytes", used.spillLoadBytes + used.spillStoreBytes},
              {"shared_bytes", decision.kernel->facts.sharedBytes}});
    }
  }
  if (llvm::Error error = writer->finish())
    return emitError(getOperation().getLoc())
           << llvm::toString(std::move(error));
  return success();
}

void SparseAgentLower::runOnOperation() {
  ModuleOp module = getOperation();
  left.clear();
  llvm::Expected<const Chip *> chip = findChip(target);
  if (!chip) {
    emitError(module.getLoc()) << llvm::toString(chip.takeError());
    return signalPassFailure();
  }
  if (llvm::Error error = prepareOptions()) {
    emitError(module.getLoc()) << llvm::toString(std::move(error));
    return signalPassFailure();
  }
  std::vector<Product> products;
  if (failed(convertLinalg()) || failed(collect(products)))
    return signalPassFailure();

  // Products are independent: most of the time goes to ptxas.
  KernelCache cache(PtxasOptions{});
  bool inParallel =
      products.size() > 1 && getContext().isMultithreadingEnabled();
  unsigned threads =
      inParallel || !getContext().isMultithreadingEnabled() ? 1 : 0;
  auto decideOne = [&](Product &product) {
    return decide(product, **chip, cache, threads);
  };
  if (failed(failableParallelForEach(&getContext(), products, decideOne)))
    return signalPassFailure();
  for (Product &product : products) {
    product.op.setPlanAttr(toPlan(&getContext(), product.decisions));
    if (isLeftToLibrary(product))
      emitRemark(product.op.getLoc())
          << "left to the host: " << product.decisions.back().choice.reason;
  }
  if (writer && failed(writeTranscript(products)))
    return signalPassFailure();
  printSummary(products);
  if (decideOnly)
    return;
  OpPassManager lower("builtin.module");
  buildLowerPlannedPipeline(lower, target.getValue(), format);
  if (failed(runPipeline(lower, module)))
    signalPassFailure();
}
