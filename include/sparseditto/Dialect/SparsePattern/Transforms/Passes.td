//===- Passes.td - Passes of the sparsepattern dialect -*- tablegen -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_PASSES_TD
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SparsePatternConvertEncodingPass
    : Pass<"sparsepattern-convert-encoding"> {
  let summary = "Rewrite tensor encodings to or from sparse_tensor";
  let description = [{
    Rewrites the encoding of every tensor type in the operation it runs on:
    values, block arguments, function signatures and constants.

    | sparsepattern | sparse_tensor |
    |---|---|
    | `unstructured` | CSR: `(i : dense, j : compressed)` |
    | `block = r x c` | BSR: `(i floordiv r : dense, j floordiv c : compressed, i mod r : dense, j mod c : dense)` |
    | `nm = n:m along rows` | `(i : dense, j floordiv m : dense, j mod m : structured[n, m])` |
    | `nm = n:m along cols` | `(j : dense, i floordiv m : dense, i mod m : structured[n, m])` |
    | `channel = rows` | `(i : compressed, j : dense)` |
    | `channel = cols` | `(j : compressed, i : dense)` |
    | `dense` | `(i : dense, j : dense)` |

    An encoding with no counterpart (`banded`, `hybrid`; another level map) and a
    type that an operation of the sparse_tensor dialect uses stay as they are,
    with a remark. `density`, `kept` and `fill` have no place in sparse_tensor and
    are lost on the way there; position and coordinate widths are lost on the way
    back.
  }];
  let options = [
    Option<"to", "to", "std::string", /*default=*/"\"sparse_tensor\"",
           "Dialect to convert to: sparse_tensor or sparsepattern">
  ];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Distinct types rewritten">
  ];
  let dependentDialects = [
    "::mlir::sparse_tensor::SparseTensorDialect",
    "::mlir::sparsepattern::SparsePatternDialect"
  ];
}

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_TRANSFORMS_PASSES_TD
