//===- Epilogue.h - Kernel arguments and the store of Y ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_COMMON_EPILOGUE_H
#define SPARSEDITTO_KERNELS_COMMON_EPILOGUE_H

#include "sparseditto/Kernels/Common/Emitter.h"
#include "sparseditto/Kernels/Manifest.h"
#include <vector>

namespace sparseditto {

/// The arguments after the packed buffers. bias and residual are null where
/// the epilogue has none.
struct ActivationPointers {
  Val x, y, bias, residual;
  Val n, ldx, ldy, ldr; ///< i32.
};

/// Emitter parameters for manifest arguments: X, bias and residual are
/// read-only, Y aliases nothing, packed buffers stay plain so that their loads
/// are issued where they are written.
std::vector<KernelParam> kernelParams(llvm::ArrayRef<KernelArg> args);

/// Names the parameters from `first` on, in the order of activationArgs().
ActivationPointers bindActivations(KernelEmitter &e, const Problem &problem,
                                   unsigned first);

/// act(sum + bias[row]), all f32.
Val applyBiasAndActivation(KernelEmitter &e, const Problem &problem,
                           const ActivationPointers &pointers, Val sum,
                           Val row);

/// Address of element (row, token) of Y or the residual, which start at `base`
/// and have row stride `stride` (i32).
Val elementAddress(KernelEmitter &e, const Problem &problem, Val base,
                   Val stride, Val row, Val token);

/// Y[row, token] = act(sum + bias[row]) + residual[row, token], one element.
/// row and token must be inside.
void storeOutput(KernelEmitter &e, const Problem &problem,
                 const ActivationPointers &pointers, Val sum, Val row,
                 Val token);

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_COMMON_EPILOGUE_H
