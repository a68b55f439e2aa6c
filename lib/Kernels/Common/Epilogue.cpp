//===- Epilogue.cpp - Kernel arguments and the store of Y -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Common/Epilogue.h"

using namespace sparseditto;

std::vector<KernelParam>
sparseditto::kernelParams(llvm::ArrayRef<KernelArg> args) {
  std::vector<KernelParam> params;
  for (const KernelArg &arg : args) {
    KernelParam param;
    param.name = arg.name;
    param.pointer = !isScalar(arg.kind);
    param.align = arg.alignment;
    param.readOnly = arg.kind == ArgKind::X || arg.kind == ArgKind::Bias ||
                     arg.kind == ArgKind::Residual;
    param.noalias = param.readOnly || arg.kind == ArgKind::Y;
    params.push_back(std::move(param));
  }
  return params;
}

ActivationPointers sparseditto::bindActivations(KernelEmitter &e,
                                                const Problem &problem,
                                                unsigned first) {
  ActivationPointers pointers;
  pointers.x = e.param(first++);
  pointers.y = e.param(first++);
  if (problem.epilogue.bias)
    pointers.bias = e.param(first++);
  if (problem.epilogue.residual)
    pointers.residual = e.param(first++);
  pointers.n = e.param(first++);
  pointers.ldx = e.param(first++);
  pointers.ldy = e.param(first++);
  if (problem.epilogue.residual)
    pointers.ldr = e.param(first++);
  return pointers;
}

Val sparseditto::applyBiasAndActivation(KernelEmitter &e,
                                        const Problem &problem,
                                        const ActivationPointers &pointers,
                                        Val sum, Val row) {
  if (problem.epilogue.bias)
    sum = sum + e.load(e.f32Type(), e.ptrAdd(pointers.bias, e.sextI64(row) * 4),
                       0, 4);
  switch (problem.epilogue.activation) {
  case Activation::None:
    break;
  case Activation::Relu:
    return e.relu(sum);
  case Activation::Gelu:
    return e.gelu(sum);
  case Activation::Silu:
    return e.silu(sum);
  }
  return sum;
}

Val sparseditto::elementAddress(KernelEmitter &e, const Problem &problem,
                                Val base, Val stride, Val row, Val token) {
  // 64-bit: an output may pass 2^31 elements.
  Val r = e.sextI64(row), t = e.sextI64(token), ld = e.sextI64(stride);
  Val element = problem.layout == Layout::TokenMajor ? t * ld + r : r * ld + t;
  return e.ptrAdd(base, element * int64_t(byteSize(problem.outputType)));
}

void sparseditto::storeOutput(KernelEmitter &e, const Problem &problem,
                              const ActivationPointers &pointers, Val sum,
                              Val row, Val token) {
  const unsigned bytes = byteSize(problem.outputType);
  auto at = [&](Val base, Val stride) {
    return elementAddress(e, problem, base, stride, row, token);
  };
  Val value = applyBiasAndActivation(e, problem, pointers, sum, row);
  if (problem.epilogue.residual)
    value =
        value + e.toF32(e.load(e.typeOf(problem.outputType),
                               at(pointers.residual, pointers.ldr), 0, bytes));
  e.store(e.fromF32(value, problem.outputType), at(pointers.y, pointers.ldy), 0,
          bytes);
}
