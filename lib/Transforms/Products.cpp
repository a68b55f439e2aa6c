//===- Products.cpp - The products of a module ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Transforms/Products.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "sparseditto/Target/Place.h"
#include "sparseditto/Transforms/Problems.h"
#include "sparseditto/Transforms/Strategies.h"

using namespace mlir;
using namespace sparseditto;
using sparsepattern::PlanAttr;
using sparsepattern::SpmmOp;

FailureOr<std::vector<ConstantProduct>>
sparseditto::collectProducts(ModuleOp module,
                             llvm::function_ref<bool(SpmmOp)> wanted) {
  std::vector<ConstantProduct> products;
  WalkResult walked = module.walk([&](SpmmOp op) {
    if (op.isPacked() || !op.hasPureTensorSemantics() || !wanted(op))
      return WalkResult::advance();
    auto constant = op.getWeight().front().getDefiningOp<arith::ConstantOp>();
    auto value =
        constant ? dyn_cast<ElementsAttr>(constant.getValue()) : ElementsAttr();
    std::optional<Problem> problem = problemOf(op);
    if (!value || !problem) {
      emitRemark(op.getLoc()) << "no plan: "
                              << (value ? "an element type has no kernels"
                                        : "the weight is not a constant");
      return WalkResult::advance();
    }
    ConstantProduct product;
    product.op = op;
    product.place = placeOf(op.getLoc());
    product.problem = *problem;
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
      product.name = resource.getRawHandle().getKey().str();
    llvm::Expected<ConstantTensor> tensor = readConstant(value, product.name);
    if (!tensor) {
      op->emitError() << llvm::toString(tensor.takeError());
      return WalkResult::interrupt();
    }
    product.weight = std::move(*tensor);
    products.push_back(std::move(product));
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  return products;
}

llvm::Expected<ModelProduct>
sparseditto::toModelProduct(const ConstantProduct &product,
                            llvm::StringRef layer) {
  ModelProduct result;
  result.weight = product.weight.asMatrix();
  result.weight.name = layer.str();
  result.weight.sourceFile = product.place;
  result.problem = product.problem;
  SpmmOp op = product.op;
  PlanAttr plan = op.getPlanAttr();
  if (!plan)
    return result;
  int64_t next = 1;
  for (auto [i, attr] : llvm::enumerate(plan.getStrategies())) {
    Choice choice;
    choice.nMin = choice.tuneN = next;
    if (i < plan.getBounds().size()) {
      choice.nMax = choice.tuneN = plan.getBounds()[i];
      next = choice.nMax + 1;
    }
    choice.reason = "planned in the module";
    llvm::Expected<Strategy> strategy = toStrategy(attr);
    if (!strategy)
      return strategy.takeError();
    choice.useLibrary = strategy->family == libraryStrategy;
    if (!choice.useLibrary)
      choice.strategy = std::move(*strategy);
    result.plan.push_back(std::move(choice));
  }
  return result;
}
