//===- BufferizableOpInterfaceImpl.h - Bufferization of sparsepattern -*- C++
//-*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace sparsepattern {

/// Lets one-shot bufferization turn `sparsepattern.spmm` into its memref form.
/// `pack` and `unpack` are evaluated at compile time and do not bufferize.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace sparsepattern
} // namespace mlir

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
