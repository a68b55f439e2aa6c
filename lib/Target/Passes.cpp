//===- Passes.cpp - Passes from kernel MLIR to PTX ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Passes.h"
#include "LowerToNVVM.h"
#include "sparseditto/Target/Compile.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"

namespace sparseditto {
#define GEN_PASS_DEF_CONVERTSPARSEPATTERNKERNELTONVVM
#define GEN_PASS_DEF_SPARSEPATTERNKERNELTOBINARY
#include "sparseditto/Target/Passes.h.inc"
} // namespace sparseditto

using namespace mlir;
using namespace sparseditto;

namespace {
struct ConvertToNVVM
    : sparseditto::impl::ConvertSparsePatternKernelToNVVMBase<ConvertToNVVM> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
  }
  void runOnOperation() override {
    if (failed(lowerGpuModule(getOperation())))
      signalPassFailure();
  }
};

struct ToBinary : sparseditto::impl::SparsePatternKernelToBinaryBase<ToBinary> {
  using SparsePatternKernelToBinaryBase::SparsePatternKernelToBinaryBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
  }
  void runOnOperation() override {
    if (chips.empty() || (format != "ptx" && format != "cubin")) {
      emitError(getOperation().getLoc(),
                "expected chips and a format of ptx or cubin, "
                "got ")
          << chips.size() << " chips and the format '" << format << "'";
      return signalPassFailure();
    }
    auto modules = llvm::to_vector(getOperation().getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp module : modules)
      if (failed(replaceByBinary(module)))
        return signalPassFailure();
  }

private:
  LogicalResult replaceByBinary(gpu::GPUModuleOp module);
  FailureOr<Attribute> compile(gpu::GPUModuleOp module, StringRef chipName);
};
} // namespace

FailureOr<Attribute> ToBinary::compile(gpu::GPUModuleOp module,
                                       StringRef chipName) {
  auto fail = [&](llvm::Error error) {
    emitError(module.getLoc(), chipName)
        << ": " << llvm::toString(std::move(error));
    return failure();
  };
  auto chip = findChip(chipName);
  if (!chip)
    return fail(chip.takeError());
  OwningOpRef<ModuleOp> wrapper = ModuleOp::create(module.getLoc());
  wrapper->push_back(module->clone());
  PtxasOptions options;
  options.path = ptxas;
  auto kernel = compileKernel(*wrapper, **chip, options);
  if (!kernel)
    return fail(kernel.takeError());
  const PtxasReport &report = kernel->report;
  bool wantsCubin = format == "cubin";
  if (!report.available && wantsCubin)
    return fail(llvm::createStringError("ptxas was not found"));
  if (report.available && !report.ok())
    return fail(llvm::createStringError("ptxas: " + report.firstError()));
  for (const KernelResources &resources : report.kernels)
    emitRemark(module.getLoc(), chipName)
        << ": " << resources.kernel << ": " << resources.registers
        << " registers, "
        << resources.spillStoreBytes + resources.spillLoadBytes
        << " bytes spilled, " << resources.sharedBytes
        << " bytes shared memory";

  Builder builder(&getContext());
  Attribute target = parseAttribute(("#nvvm.target<chip = \"" + chipName +
                                     "\", features = \"+ptx" +
                                     llvm::Twine(kernel->ptxVersion) + "\">")
                                        .str(),
                                    &getContext());
  return Attribute(gpu::ObjectAttr::get(
      &getContext(), target,
      wantsCubin ? gpu::CompilationTarget::Binary
                 : gpu::CompilationTarget::Assembly,
      builder.getStringAttr(wantsCubin ? kernel->cubin : kernel->ptx),
      DictionaryAttr(), gpu::KernelTableAttr()));
}

LogicalResult ToBinary::replaceByBinary(gpu::GPUModuleOp module) {
  SmallVector<Attribute> objects;
  for (const std::string &chip : chips) {
    FailureOr<Attribute> object = compile(module, chip);
    if (failed(object))
      return failure();
    objects.push_back(*object);
  }
  OpBuilder builder(module);
  gpu::BinaryOp::create(builder, module.getLoc(), module.getName(),
                        /*offloadingHandler=*/nullptr,
                        builder.getArrayAttr(objects));
  module.erase();
  return success();
}
