//===- KernelFrame.cpp - Arguments and manifest of a kernel ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Common/KernelFrame.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace sparseditto;

static std::vector<KernelArg> kernelArguments(const Problem &problem,
                                              const PackedWeight &packed) {
  std::vector<KernelArg> args;
  for (const PackedBuffer &buffer : packed.buffers)
    args.push_back({ArgKind::Packed, buffer.name, buffer.type, 256});
  llvm::append_range(args, activationArgs(problem));
  return args;
}

KernelFrame::KernelFrame(mlir::MLIRContext &context, const Problem &problem,
                         const Strategy &strategy, const PackedWeight &packed,
                         llvm::StringRef symbol, unsigned threads,
                         unsigned minBlocks)
    : prob(problem), e(context, symbol, threads, minBlocks,
                       kernelParams(kernelArguments(problem, packed))) {
  manifest.symbol = symbol.str();
  manifest.strategy = strategy;
  manifest.format = packed.format;
  manifest.formatVersion = packed.version;
  manifest.problem = problem;
  manifest.block = {threads, 1, 1};
  manifest.args = kernelArguments(problem, packed);
  manifest.weightBytes = packed.numBytes();
  for (auto [index, buffer] : llvm::enumerate(packed.buffers))
    packedArgs.push_back({buffer.name, e.param(index)});
  args = bindActivations(e, problem, packed.buffers.size());
}

Val KernelFrame::packed(llvm::StringRef name) {
  for (auto &[argName, value] : packedArgs)
    if (argName == name)
      return value;
  llvm_unreachable("the format has no such buffer");
}

Val KernelFrame::outputAddress(Val m, Val n) {
  return elementAddress(e, prob, args.y, args.ldy, m, n);
}
Val KernelFrame::residualAddress(Val m, Val n) {
  return elementAddress(e, prob, args.residual, args.ldr, m, n);
}

Val KernelFrame::activate(Val acc, Val m, Val residual) {
  Val value = applyBiasAndActivation(e, prob, args, acc, m);
  return residual ? value + residual : value;
}

Val KernelFrame::outputAligned(unsigned bytes) {
  int64_t shift = llvm::Log2_32(outputBytes());
  Val bits = e.ptrLowBits(args.y) | (args.ldy << shift);
  if (hasResidual())
    bits = bits | e.ptrLowBits(args.residual) | (args.ldr << shift);
  return (bits & int64_t(bytes - 1)) == 0;
}

BuiltKernel KernelFrame::finish(int64_t blocksPerTileN, int64_t tileN,
                                unsigned dynamicSharedBytes) {
  manifest.grid[0] = {blocksPerTileN, tileN};
  manifest.staticSharedBytes = e.staticSharedBytes();
  manifest.dynamicSharedBytes = dynamicSharedBytes;
  return {e.finish(), std::move(manifest)};
}
