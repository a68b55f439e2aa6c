//===- SparseAnalyze.cpp - Annotate weights with their pattern ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.h"
#include "sparseditto/Transforms/Passes.h"
#include "sparseditto/Transforms/Weights.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

namespace sparseditto {
#define GEN_PASS_DEF_SPARSEANALYZEPASS
#include "sparseditto/Transforms/Passes.h.inc"
} // namespace sparseditto

using namespace mlir;
using namespace sparseditto;
using sparsepattern::EncodingAttr;
using sparsepattern::SparsePatternDialect;

namespace {

class SparseAnalyze
    : public sparseditto::impl::SparseAnalyzePassBase<SparseAnalyze> {
public:
  using Base::Base;

  void runOnOperation() override;

private:
  /// Analyses a value of an operation and annotates the operation.
  LogicalResult annotate(Operation *op, Attribute value, StringRef name);
  LogicalResult annotateArguments(FunctionOpInterface function,
                                  SourceReader &sources);
  /// The encoding of a tensor, its report kept; null after an error.
  EncodingAttr analyzeTensor(Operation *op, const ConstantTensor &tensor);
  LogicalResult writeReport();

  llvm::json::Array reports;
};

} // namespace

/// A name for the report: the key of a resource, the name of the location, or
/// "constant" and a number.
static std::string nameOf(Operation *op, Attribute value, size_t index) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return resource.getRawHandle().getKey().str();
  if (auto location = dyn_cast<NameLoc>(op->getLoc()))
    return location.getName().str();
  return "constant" + std::to_string(index);
}

EncodingAttr SparseAnalyze::analyzeTensor(Operation *op,
                                          const ConstantTensor &tensor) {
  llvm::Expected<PatternReport> report = analyze(tensor.asMatrix());
  if (!report) {
    op->emitError() << llvm::toString(report.takeError());
    return {};
  }
  ++numAnalyzed;
  if (!this->report.empty())
    reports.push_back(report->toJSON(target));
  return toEncoding(&getContext(), *report);
}

LogicalResult SparseAnalyze::annotate(Operation *op, Attribute value,
                                      StringRef name) {
  auto elements = dyn_cast_or_null<ElementsAttr>(value);
  if (!elements || elements.getShapedType().getRank() < 2 ||
      elements.getShapedType().getNumElements() == 0 ||
      !toElementType(elements.getElementType()))
    return success();
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    if (dense.isSplat())
      return success();
  llvm::Expected<ConstantTensor> tensor = readConstant(elements, name);
  if (!tensor)
    return op->emitError() << llvm::toString(tensor.takeError());
  EncodingAttr encoding = analyzeTensor(op, *tensor);
  if (!encoding)
    return failure();
  op->setAttr(SparsePatternDialect::kEncodingAttrName, encoding);
  return success();
}

LogicalResult SparseAnalyze::annotateArguments(FunctionOpInterface function,
                                               SourceReader &sources) {
  for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i) {
    auto source = function.getArgAttrOfType<StringAttr>(
        i, SparsePatternDialect::kSourceAttrName);
    if (!source)
      continue;
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (!type || type.getRank() < 2)
      return function->emitError()
             << "argument " << i
             << " with a source must be a tensor of rank 2 or more, got "
             << function.getArgumentTypes()[i];
    llvm::Expected<ConstantTensor> tensor =
        sources.read(source.getValue(), type);
    if (!tensor)
      return function->emitError()
             << "argument " << i << ": " << llvm::toString(tensor.takeError());
    EncodingAttr encoding = analyzeTensor(function, *tensor);
    if (!encoding)
      return failure();
    function.setArgAttr(i, SparsePatternDialect::kEncodingAttrName, encoding);
  }
  return success();
}

LogicalResult SparseAnalyze::writeReport() {
  std::error_code error;
  llvm::ToolOutputFile file(report, error, llvm::sys::fs::OF_Text);
  if (error)
    return emitError(getOperation()->getLoc())
           << report << ": " << error.message();
  file.os() << llvm::formatv("{0:2}", llvm::json::Value(std::move(reports)))
            << "\n";
  file.keep();
  return success();
}

void SparseAnalyze::runOnOperation() {
  Operation *root = getOperation();
  reports = {};
  if (!report.empty() && root->getParentOp()) {
    emitError(root->getLoc())
        << "a report needs the pass to run on the outermost operation";
    return signalPassFailure();
  }
  SourceReader sources(baseDir);
  size_t constants = 0;
  WalkResult result = root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    LogicalResult done = success();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      done = annotate(op, constant.getValue(),
                      nameOf(op, constant.getValue(), constants++));
    else if (auto global = dyn_cast<ml_program::GlobalOp>(op))
      done = annotate(op, global.getValueAttr(), global.getSymName());
    else if (auto function = dyn_cast<FunctionOpInterface>(op))
      done = annotateArguments(function, sources);
    return succeeded(done) ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted() || (!report.empty() && failed(writeReport())))
    signalPassFailure();
}
