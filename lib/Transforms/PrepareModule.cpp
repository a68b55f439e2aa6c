//===- PrepareModule.cpp - Modules from outside, to be run ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Transforms/PrepareModule.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/InitAll.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/Process.h"
#include "sparseditto/Target/Compile.h"
#include "sparseditto/Target/Place.h"
#include "sparseditto/Transforms/Products.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace sparseditto;
namespace json = llvm::json;
using sparsepattern::SpmmOp;

namespace {
/// The work of the child.
class Preparer {
public:
  Preparer(llvm::StringRef bytes, llvm::StringRef name,
           const PrepareModuleOptions &options);
  llvm::Expected<PreparedModule> run(llvm::StringRef packageDirectory);

private:
  llvm::Expected<ModuleStage> stageOf(ModuleOp module) const;
  llvm::Error buildKernels(ModuleOp module, llvm::StringRef packageDirectory);
  llvm::Error firstError(const llvm::Twine &otherwise) const;

  llvm::StringRef bytes, name;
  const PrepareModuleOptions &options;
  DialectRegistry registry;
  MLIRContext context;
  std::string error; ///< The first, with its place.
  PreparedModule result;
};
} // namespace

static DialectRegistry moduleDialects() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerKernelDialects(registry);
  registry.insert<bufferization::BufferizationDialect, func::FuncDialect,
                  linalg::LinalgDialect, ml_program::MLProgramDialect,
                  tensor::TensorDialect>();
  return registry;
}

Preparer::Preparer(llvm::StringRef bytes, llvm::StringRef name,
                   const PrepareModuleOptions &options)
    : bytes(bytes), name(name), options(options), registry(moduleDialects()),
      context(registry, MLIRContext::Threading::DISABLED) {
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    std::string line =
        placeOf(diagnostic.getLocation()) + ": " + diagnostic.str();
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
      result.notes.push_back(line);
    else if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
             error.empty())
      error = line;
  });
}

llvm::Error Preparer::firstError(const llvm::Twine &otherwise) const {
  return llvm::createStringError(error.empty() ? otherwise : error);
}

llvm::Expected<ModuleStage> Preparer::stageOf(ModuleOp module) const {
  SpmmOp packed;
  bool hasProducts = false, isLaunched = false, hasTensors = false,
       hasCode = false;
  module.walk([&](Operation *op) {
    if (auto product = dyn_cast<SpmmOp>(op)) {
      if (!product.isPacked() && product.hasPureTensorSemantics())
        hasProducts = true;
      else if (!packed)
        packed = product;
    } else if (isa<gpu::GPUModuleOp, gpu::BinaryOp, gpu::LaunchFuncOp>(op)) {
      isLaunched = true;
    } else if (isa<FunctionOpInterface>(op)) {
      hasCode = true;
    }
    hasTensors |= llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
  });
  if (packed)
    return makeError("{0}: the product is packed already; run the module "
                     "before sparse-pack, or lowered whole "
                     "(--sparse-agent-lower=format=module)",
                     placeOf(packed.getLoc()));
  if (hasProducts)
    return ModuleStage::Products;
  if (isLaunched || (hasCode && !hasTensors))
    return ModuleStage::Lowered;
  return makeError(
      "{0}: neither a module with sparsepattern.spmm "
      "(sd-opt --convert-linalg-to-sparsepattern) nor a lowered one "
      "(sd-opt --sparse-agent-lower=format=module)",
      name);
}

/// A name for the layer of each product, all different.
static std::vector<std::string>
layerNames(llvm::ArrayRef<ConstantProduct> products) {
  std::vector<std::string> names;
  llvm::StringSet<> used;
  for (const ConstantProduct &product : products) {
    std::string base = product.name;
    if (base.empty()) {
      // Without the file: "spmm@15:11".
      auto [rest, column] = llvm::StringRef(product.place).rsplit(':');
      base = ("spmm@" + rest.rsplit(':').second + ":" + column).str();
    }
    base = json::fixUTF8(base);
    std::string unique = base;
    for (int i = 2; !used.insert(unique).second; ++i)
      unique = base + "#" + std::to_string(i);
    names.push_back(unique);
  }
  return names;
}

llvm::Error Preparer::buildKernels(ModuleOp module,
                                   llvm::StringRef packageDirectory) {
  FailureOr<std::vector<ConstantProduct>> found =
      collectProducts(module, [](SpmmOp) { return true; });
  if (failed(found))
    return firstError(name + ": a weight cannot be read");
  std::vector<ModelProduct> products;
  for (auto [product, layer] : llvm::zip_equal(*found, layerNames(*found))) {
    llvm::Expected<ModelProduct> model = toModelProduct(product, layer);
    if (!model)
      return makeError("{0}: {1}", product.place,
                       llvm::toString(model.takeError()));
    products.push_back(std::move(*model));
  }
  llvm::Expected<const Chip *> chip = findChip(options.chip);
  if (!chip)
    return chip.takeError();
  CompileOptions compile;
  compile.chips = {*chip};
  compile.choose = options.choose;
  compile.outputDirectory = packageDirectory.str();
  llvm::Expected<CompileResult> compiled = compileProducts(products, compile);
  if (!compiled)
    return compiled.takeError();
  for (const CompiledRow &row : compiled->rows)
    if (row.choice.useLibrary)
      result.notes.push_back(row.layer + ": the dense library serves N " +
                             row.choice.rangeText() + ": " + row.choice.reason);
  return llvm::Error::success();
}

llvm::Expected<PreparedModule> Preparer::run(llvm::StringRef packageDirectory) {
  auto module = parseSourceString<ModuleOp>(bytes, &context, name);
  if (!module)
    return firstError(name + ": not a valid MLIR module");
  llvm::Expected<ModuleStage> stage = stageOf(*module);
  if (!stage)
    return stage.takeError();
  result.stage = *stage;
  if (result.stage == ModuleStage::Products)
    if (llvm::Error error = buildKernels(*module, packageDirectory))
      return error;
  return std::move(result);
}

static json::Value asJSON(const PreparedModule &module) {
  json::Array notes;
  for (const std::string &note : module.notes)
    notes.push_back(json::fixUTF8(note));
  return json::Object{{"lowered", module.stage == ModuleStage::Lowered},
                      {"notes", std::move(notes)}};
}

llvm::Expected<PreparedModule>
sparseditto::prepareModule(llvm::StringRef bytes, llvm::StringRef name,
                           llvm::StringRef packageDirectory,
                           const PrepareModuleOptions &options) {
  auto work = [&](int file) {
    llvm::Expected<PreparedModule> prepared =
        Preparer(bytes, name, options).run(packageDirectory);
    bool good = bool(prepared);
    llvm::raw_fd_ostream os(file, /*shouldClose=*/false);
    if (good)
      os << asJSON(*prepared);
    else
      os << llvm::toString(prepared.takeError());
    os.flush();
    return good && !os.has_error() ? 0 : 1;
  };
  std::string payload;
  llvm::Expected<ProcessResult> process =
      runForked(work, options.timeoutSeconds, options.memoryBytes, payload);
  if (!process)
    return process.takeError();
  if (process->timedOut)
    return makeError("{0}: reading the module and building its kernels did not "
                     "finish in {1} s",
                     name, options.timeoutSeconds);
  if (process->signal != 0 || process->exitCode > 1)
    return makeError("{0}: reading the module crashed ({1}): {2}", name,
                     process->signal != 0
                         ? "signal " + std::to_string(process->signal)
                         : "exit code " + std::to_string(process->exitCode),
                     llvm::StringRef(process->output)
                         .trim()
                         .take_until([](char c) { return c == '\n'; })
                         .take_front(400));
  if (process->exitCode == 1)
    return llvm::createStringError(llvm::StringRef(payload).split('\n').first);
  llvm::Expected<json::Value> value = json::parse(payload);
  const json::Object *object = value ? value->getAsObject() : nullptr;
  std::optional<bool> isLowered =
      object ? object->getBoolean("lowered") : std::nullopt;
  const json::Array *notes = object ? object->getArray("notes") : nullptr;
  if (!value)
    llvm::consumeError(value.takeError());
  if (!isLowered || !notes)
    return makeError("{0}: the process that read the module left no result",
                     name);
  PreparedModule prepared;
  prepared.stage = *isLowered ? ModuleStage::Lowered : ModuleStage::Products;
  for (const json::Value &note : *notes)
    prepared.notes.push_back(note.getAsString().value_or("").str());
  return prepared;
}
