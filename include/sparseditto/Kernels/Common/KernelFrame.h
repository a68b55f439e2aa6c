//===- KernelFrame.h - Arguments, manifest and epilogue ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every kernel has in common: the argument list of Manifest.h, and the
// epilogue y = act(acc + bias[m]) + residual on single elements.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_COMMON_KERNELFRAME_H
#define SPARSEDITTO_KERNELS_COMMON_KERNELFRAME_H

#include "sparseditto/Kernels/Common/Emitter.h"
#include "sparseditto/Kernels/Common/Epilogue.h"
#include "sparseditto/Kernels/Family.h"

namespace sparseditto {

class KernelFrame {
public:
  /// Starts the kernel: packed buffers, X, Y, bias, residual, N and strides.
  KernelFrame(mlir::MLIRContext &context, const Problem &problem,
              const Strategy &strategy, const PackedWeight &packed,
              llvm::StringRef symbol, unsigned threads, unsigned minBlocks);

  KernelEmitter &emitter() { return e; }
  const Problem &problem() const { return prob; }
  unsigned elementBytes() const { return byteSize(prob.type); }
  unsigned outputBytes() const { return byteSize(prob.outputType); }

  /// The pointer of packed buffer `name`, which the format must have.
  Val packed(llvm::StringRef name);
  const ActivationPointers &pointers() const { return args; }
  Val x() const { return args.x; }
  Val n() const { return args.n; }     ///< Columns of X, i32.
  Val ldx() const { return args.ldx; } ///< i32.

  bool hasResidual() const { return prob.epilogue.residual; }
  /// Address of Y (the residual) at (m, n).
  Val outputAddress(Val m, Val n);
  Val residualAddress(Val m, Val n);
  /// act(acc + bias[m]) + residual in f32; a null residual is left out.
  Val activate(Val acc, Val m, Val residual);
  /// The whole epilogue for one element inside M x N.
  void storeElement(Val acc, Val m, Val n) {
    storeOutput(e, prob, args, acc, m, n);
  }
  /// i1, the same in all threads: Y and the residual start at and step by
  /// multiples of `bytes`.
  Val outputAligned(unsigned bytes);

  /// Ends the kernel. `blocksPerTileN` blocks serve each `tileN` columns.
  BuiltKernel finish(int64_t blocksPerTileN, int64_t tileN,
                     unsigned dynamicSharedBytes);

private:
  Problem prob;
  KernelManifest manifest;
  KernelEmitter e;
  llvm::SmallVector<std::pair<std::string, Val>, 4> packedArgs;
  ActivationPointers args;
};

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_COMMON_KERNELFRAME_H
