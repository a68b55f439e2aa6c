//===- MathLowering.h - math functions without libdevice --------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_MATHLOWERING_H
#define SPARSEDITTO_LIB_TARGET_MATHLOWERING_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace sparseditto {

/// Rewrites of math functions that NVPTX has no instruction for. f16 and bf16
/// are computed in f32.
void populateMathWithoutLibdevicePatterns(mlir::RewritePatternSet &patterns);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_MATHLOWERING_H
