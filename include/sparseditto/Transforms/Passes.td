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

def ConvertSparsePatternToGPUPass
    : Pass<"convert-sparsepattern-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Build the kernels of packed products and launch them";
  let description = [{
    For every `sparsepattern.spmm` on memrefs with packed buffers and a plan, builds
    the kernel of each strategy as a `gpu.module` and replaces the op by launches: a
    chain of comparisons on N where the plan has several entries, and nothing at all
    for N = 0. Products that share strategy, shapes and packed format share a kernel.

    Activations, outs and residual must have an inner stride of 1; N and the strides
    must fit in 32 bits. Where there is a launch, everything that the module allocates
    (`memref.alloc`) moves into memory that host and device share (`gpu.alloc
    host_shared`), so that launches and the operations left to the host can work on it;
    what functions are given must be accessible to the device. Packed buffers and biases
    that are constants
    (`memref.get_global`) are uploaded once, by the function `sparsepattern_init`, which
    the host calls before the first product. Others must be accessible to the device,
    packed buffers at an address aligned to 256 bytes.

    Products that are not packed stay, with a remark.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"",
           "Chip whose kernels to build, such as sm_90a">
  ];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Kernels built">,
    Statistic<"numLaunches", "num-launches", "Launches emitted">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def ConvertSparsePatternToLinalgPass
    : Pass<"convert-sparsepattern-to-linalg"> {
  let summary = "Lower products that no kernel serves to linalg";
  let description = [{
    Replaces `sparsepattern.spmm` on an unpacked tensor weight by a linalg product in
    f32 and one elementwise operation for bias, activation, residual and conversion.
    Products whose plan names a kernel stay, unless `all` is set: then every unpacked
    product is lowered, which is the reference that kernels are compared with.
  }];
  let options = [
    Option<"all", "all", "bool", /*default=*/"false",
           "Lower products with a plan as well">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def SparseAgentLowerPass : Pass<"sparse-agent-lower", "::mlir::ModuleOp"> {
  let summary = "Choose and build a kernel for every pruned weight";
  let description = [{
    The whole job: converts linalg products (`convert-linalg-to-sparsepattern`), asks
    the agent for a plan of every product that has none, and lowers the result: packed
    weights, kernels as `gpu.binary`, launches in place of the products, and linalg for
    those left to the host. With `decide-only` it stops after the plans.

    Each proposal is compiled for the target before it is believed; one that does not
    compile is passed over. Products with a static N are planned for that N, others for
    those in `n`: each serves the range up to itself, the largest everything above.
    A product that the dense library is predicted to serve as well at every N goes
    back to linalg, with the reason in a remark.

    Prints a table of weights, patterns, choices, predicted times and what ptxas said
    to standard error, and below it why other products were left to the host.
    `transcript` writes every candidate, request, reply and decision as a line of
    JSON. With `agent=replay` it is read instead: the module of the recorded run is
    made again, byte for byte, without a network. A transcript of another version,
    weight, number of tokens or chip is an error.

    Products are decided in parallel; the result does not depend on it.
  }];
  let options = [
    Option<"agent", "agent", "std::string", /*default=*/"\"heuristic\"",
           "Who proposes, the next one where one fails: heuristic, exhaustive, random[:seed], llm, local; or replay">,
    Option<"target", "target", "std::string", /*default=*/"\"sm_80\"",
           "Chip to choose and build for, such as sm_90a">,
    ListOption<"n", "n", "int64_t",
               "Numbers of tokens to plan for where N is dynamic (default 1, 16, 512)">,
    Option<"iterations", "iterations", "int64_t", /*default=*/"64",
           "Candidates compiled a product at most">,
    ListOption<"family", "family", "std::string",
               "Take only kernels of these families, even where the dense library is predicted faster">,
    Option<"transcript", "transcript", "std::string", /*default=*/"\"\"",
           "File to write what happened to as JSON lines; read by agent=replay">,
    Option<"budgetSeconds", "budget-seconds", "int64_t", /*default=*/"0",
           "Propose nothing new after this many seconds (default 0: no limit)">,
    Option<"llmConfig", "llm-config", "std::string", /*default=*/"\"\"",
           "File that says where the language models llm and local are, and their budgets">,
    Option<"requireAgent", "require-agent", "bool", /*default=*/"false",
           "Fail if the agent does, instead of taking the heuristic's plan">,
    Option<"database", "database", "std::string", /*default=*/"\"\"",
           "File of tuning records whose verified results are applied">,
    Option<"decideOnly", "decide-only", "bool", /*default=*/"false",
           "Stop after the plans">,
    Option<"format", "format", "std::string", /*default=*/"\"ptx\"",
           "What a binary holds: ptx or cubin; module keeps gpu.module, as MLIR">,
    Option<"baseDir", "base-dir", "std::string", /*default=*/"\"\"",
           "Directory that relative paths in sparsepattern.source start at">
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

def SparsePackPass : Pass<"sparse-pack"> {
  let summary = "Store constant weights as their plan's kernels need them";
  let description = [{
    Replaces the constant weight of every `sparsepattern.spmm` with a plan by packed
    buffers (`dense_resource` constants) and `packing`. Packing is checked: unpacking
    must give back the weight bit for bit, except that -0.0 may become +0.0.

    One product can read one packed form. If the strategies of a plan need several,
    or if some N are left to the dense library, the product is split first: by N if it
    is static, else by an `scf.if` on it. The part left to the library keeps its dense
    weight.

    `sparsepattern.pack` of a constant is evaluated as well.
  }];
  let statistics = [
    Statistic<"numPacked", "num-packed", "Weights packed">,
    Statistic<"numBytes", "num-bytes", "Bytes of all packed buffers">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::sparsepattern::SparsePatternDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // SPARSEDITTO_TRANSFORMS_PASSES_TD
