//===- Passes.td - Passes on models -*- tablegen -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TRANSFORMS_PASSES_TD
#define SPARSEDITTO_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertLinalgToSparsePatternPass
    : Pass<"convert-linalg-to-sparsepattern"> {
  let summary = "Turn linalg products with a pruned weight into sparsepattern";
  let description = [{
    Finds products of a constant weight with activations and replaces them by
    `sparsepattern.spmm`, together with what follows them and fits the epilogue of
    a kernel. Runs on any operation; works inside every function-like operation.

    A weight is an `arith.constant`, a load of an immutable `ml_program.global` or
    a function argument with `sparsepattern.source`, seen through `linalg.transpose`,
    `linalg.broadcast`, their `linalg.generic` forms, `tensor.cast` and reshapes that
    only add or drop dimensions of size 1. The product may be any linalg operation
    that multiplies and adds: `matmul`, `matvec`, `vecmat`, `batch_matmul` with a
    weight that the batch shares, `contract`, `generic`, each with the weight on
    either side and with any permutation of its operands, and convolutions with a
    1x1 kernel and stride 1. A weight that is not stored as M x K is transposed at
    compile time. Tokens are all dimensions that activations and output share; if
    they are not adjacent (NCHW with more than one image) a loop runs over the outer
    ones. If activations and output disagree on the layout, the activations are
    transposed.

    What is fused, in this order and each at most once: a bias along the output
    features; relu, gelu (with erf) or silu; a residual; a conversion to f16, bf16 or
    f32. It may be spread over several elementwise operations. Sums are in f32, so
    roundings between the fused operations disappear. An initial value of the
    product other than zero becomes a bias or a residual.

    The pattern of every weight is analysed and written on the op. Weights without
    enough zeros are left to the host, as are products that do not fit: each with a
    remark that says why.
  }];
  let options = [
    Option<"convertDense", "convert-dense", "bool", /*default=*/"false",
           "Convert products of dense weights as well">,
    Option<"baseDir", "base-dir", "std::string", /*default=*/"\"\"",
           "Directory that relative paths in sparsepattern.source start at">
  ];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Products converted">,
    Statistic<"numFused", "num-fused", "Elementwise operations fused">,
    Statistic<"numLeft", "num-left", "Products of weights left as they are">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::sparsepattern::SparsePatternDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def SparseAnalyzePass : Pass<"sparse-analyze"> {
  let summary = "Annotate weights with their proved sparsity pattern";
  let description = [{
    Reads every weight once and puts `sparsepattern.encoding` on it: constants
    (inline and `dense_resource`), `ml_program.global`s with a value and function
    arguments with `sparsepattern.source = "file#tensor"`. A weight has rank 2 or
    more and is no splat; one of higher rank is analysed as dim0 x the rest. The
    encoding is that of the value as it is stored; a product that uses it transposed
    sees the transposed pattern.

    With `report=`, writes the full reports as a JSON array in the order of the
    weights in the module. Runs on any operation; a report needs the whole module.

    A resource without data, or with more or fewer bytes than its type needs, is an
    error.
  }];
  let options = [
    Option<"report", "report", "std::string", /*default=*/"\"\"",
           "File to write the reports to, - for standard output">,
    Option<"target", "target", "std::string", /*default=*/"\"\"",
           "Chip named in the reports, such as sm_90a">,
    Option<"baseDir", "base-dir", "std::string", /*default=*/"\"\"",
           "Directory that relative paths in sparsepattern.source start at">
  ];
  let statistics = [
    Statistic<"numAnalyzed", "num-analyzed", "Weights analysed">
  ];
  let dependentDialects = ["::mlir::sparsepattern::SparsePatternDialect"];
}

#endif // SPARSEDITTO_TRANSFORMS_PASSES_TD
