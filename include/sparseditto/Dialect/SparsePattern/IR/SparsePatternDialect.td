//===- SparsePatternDialect.td - The sparsepattern dialect -*- tablegen -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNDIALECT_TD
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNDIALECT_TD

include "mlir/IR/OpBase.td"

def SparsePattern_Dialect : Dialect {
  let name = "sparsepattern";
  let summary = "Products with pruned weights whose sparsity pattern is known";
  let description = [{
    The dialect says what is known about the zeros of a weight
    (`#sparsepattern.encoding`), which kernel serves a product at which number
    of tokens (`#sparsepattern.strategy`, `#sparsepattern.plan`), how a weight is
    stored for a kernel (`#sparsepattern.packing`), and the product itself
    (`sparsepattern.spmm`).

    The numbered constraints (C1, C2, ...) are listed in Spec.md; each diagnostic
    of a verifier ends with the number of the constraint that failed.

    Three discardable attributes belong to the dialect. `sparsepattern.encoding`
    on a constant, a global or a function argument holds the proved pattern of
    its value. `sparsepattern.source = "file.safetensors#name"` on a function
    argument binds it to a tensor in a file: the caller promises to pass exactly
    that value. `sparsepattern.plans` on a module is a dictionary of the plans of
    a package.
  }];
  let cppNamespace = "::mlir::sparsepattern";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Name of the discardable attribute with the proved pattern of a value.
    static constexpr ::llvm::StringLiteral kEncodingAttrName =
        "sparsepattern.encoding";
    /// Name of the discardable argument attribute "file#tensor".
    static constexpr ::llvm::StringLiteral kSourceAttrName =
        "sparsepattern.source";

    void registerAttributes();
  }];
}

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNDIALECT_TD
