//===- BufferizableOpInterfaceImpl.cpp - Bufferization of sparsepattern ---===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Dialect/SparsePattern/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::sparsepattern;

namespace {

struct SpmmOpInterface
    : public DstBufferizableOpInterfaceExternalModel<SpmmOpInterface, SpmmOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    // outs is overwritten, its old contents never matter.
    return !cast<SpmmOp>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto spmm = cast<SpmmOp>(op);
    if (!spmm.hasPureTensorSemantics())
      return success();
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    Value init = buffers.back();
    rewriter.setInsertionPoint(op);
    OperationState newState(op->getLoc(), op->getName(), buffers, TypeRange(),
                            llvm::to_vector(op->getDiscardableAttrs()));
    newState.propertiesAttr = op->getPropertiesAsAttribute();
    rewriter.create(newState);
    replaceOpWithBufferizedValues(rewriter, op, init);
    return success();
  }
};

} // namespace

void sparsepattern::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SparsePatternDialect *) {
    SpmmOp::attachInterface<SpmmOpInterface>(*context);
  });
}
