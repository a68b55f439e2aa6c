//===- SparsePatternAttributes.td - Attributes of sparsepattern -*- tablegen -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNATTRIBUTES_TD
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"
include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.td"

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class SparsePattern_Enum<string name, string summary,
                         list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::sparsepattern";
  let genSpecializedAttr = 0;
}

def SparsePattern_PatternKind : SparsePattern_Enum<"PatternKind",
    "sparsity pattern", [
  I32EnumAttrCase<"Dense", 0, "dense">,
  I32EnumAttrCase<"Unstructured", 1, "unstructured">,
  I32EnumAttrCase<"NM", 2, "nm">,
  I32EnumAttrCase<"Block", 3, "block">,
  I32EnumAttrCase<"Channel", 4, "channel">,
  I32EnumAttrCase<"Banded", 5, "banded">,
  I32EnumAttrCase<"Hybrid", 6, "hybrid">
]>;

def SparsePattern_Axis : SparsePattern_Enum<"PatternAxis",
    "axis along which a pattern runs", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Cols", 1, "cols">,
  I32EnumAttrCase<"Both", 2, "both">
]>;

def SparsePattern_Layout : SparsePattern_Enum<"TokenLayout",
    "how activations and outputs lie in memory", [
  I32EnumAttrCase<"TokenMajor", 0, "token_major">,
  I32EnumAttrCase<"FeatureMajor", 1, "feature_major">
]>;

def SparsePattern_Activation : SparsePattern_Enum<"ActivationKind",
    "activation function fused into a product", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Relu", 1, "relu">,
  I32EnumAttrCase<"Gelu", 2, "gelu">,
  I32EnumAttrCase<"Silu", 3, "silu">
]>;

def SparsePattern_LayoutAttr
    : EnumAttr<SparsePattern_Dialect, SparsePattern_Layout, "layout"> {
  let assemblyFormat = "$value";
}

def SparsePattern_ActivationAttr
    : EnumAttr<SparsePattern_Dialect, SparsePattern_Activation, "activation"> {
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class SparsePattern_Attr<string name, string attrMnemonic,
                         list<Trait> traits = []>
    : AttrDef<SparsePattern_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
  let genVerifyDecl = 1;
}

def SparsePattern_EncodingAttr : SparsePattern_Attr<"Encoding", "encoding", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Proved sparsity pattern of a weight";
  let description = [{
    A tensor encoding of a weight of M rows (output features) and K columns
    (input features) that says where its zeros are. It names exactly one pattern:

    | spelling | claim |
    |---|---|
    | `dense` | nothing |
    | `unstructured` | zeros anywhere |
    | `nm = n:m along rows` | at most n non-zeros in each aligned group of m consecutive elements of a row (`along cols`: of a column) |
    | `block = r x c` | the aligned r x c blocks are the unit that was pruned |
    | `channel = rows` | whole rows are zero (`cols`: whole columns, `both`: rows and columns) |
    | `banded = l:u` | element (i, j) is zero unless i - l <= j <= i + u |
    | `hybrid = [s : <part>, ...]` | the sum of the parts; part i holds the share s of the non-zeros |

    followed by numbers, all optional: `density`, the non-zeros over M*K; `kept`,
    the fraction of blocks with a non-zero, or of the weight that is left without its
    zero rows and columns; `fill`, the non-zeros over the elements of the kept
    blocks.

    A claim must be true of every group of the data; nothing is approximate.

    Example:

    ```mlir
    #nm = #sparsepattern.encoding<nm = 2:4 along rows, density = 0.5>
    #block = #sparsepattern.encoding<block = 16x16, kept = 0.2, fill = 1.0,
                                     density = 0.2>
    #hybrid = #sparsepattern.encoding<
      hybrid = [0.95 : <nm = 2:4 along rows>, 0.05 : <unstructured>]>
    func.func private @f(tensor<64x64xf16, #nm>, tensor<64x64xf16, #block>,
                         tensor<64x64xf16, #hybrid>)
    ```
  }];
  let parameters = (ins
    "PatternKind":$kind,
    "PatternAxis":$axis,
    ArrayRefParameter<"int64_t", "n, m | rows, columns of a block | lower, upper band">:$sizes,
    "::mlir::FloatAttr":$densityAttr,
    "::mlir::FloatAttr":$keptAttr,
    "::mlir::FloatAttr":$fillAttr,
    ArrayRefParameter<"::mlir::Attribute", "encodings of the parts of a hybrid">:$parts,
    ArrayRefParameter<"::mlir::FloatAttr", "share of the non-zeros in each part">:$shares
  );
  let skipDefaultBuilders = 0;
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Numbers that accompany a pattern; absent means not stated.
    struct Numbers {
      std::optional<double> density, kept, fill;
    };
    static EncodingAttr getDense(::mlir::MLIRContext *context,
                                 Numbers numbers = {});
    static EncodingAttr getUnstructured(::mlir::MLIRContext *context,
                                        Numbers numbers = {});
    static EncodingAttr getNM(::mlir::MLIRContext *context, int64_t n,
                              int64_t m, PatternAxis axis, Numbers numbers = {});
    static EncodingAttr getBlock(::mlir::MLIRContext *context, int64_t rows,
                                 int64_t cols, Numbers numbers = {});
    static EncodingAttr getChannel(::mlir::MLIRContext *context,
                                   PatternAxis axis, Numbers numbers = {});
    static EncodingAttr getBanded(::mlir::MLIRContext *context, int64_t lower,
                                  int64_t upper, Numbers numbers = {});
    static EncodingAttr getHybrid(::mlir::MLIRContext *context,
                                  ::llvm::ArrayRef<EncodingAttr> parts,
                                  ::llvm::ArrayRef<double> shares,
                                  Numbers numbers = {});

    Numbers getNumbers() const;
    std::optional<double> getDensity() const { return getNumbers().density; }

    /// The same pattern as seen by the transposed weight.
    EncodingAttr getTransposed() const;

    /// The largest number of non-zeros the pattern allows in a rows x cols
    /// weight; rows * cols where it sets no limit.
    double getCapacity(int64_t rows, int64_t cols) const;
  }];
}

def SparsePattern_StrategyAttr : SparsePattern_Attr<"Strategy", "strategy"> {
  let summary = "How to lower one product: a kernel family and its knobs";
  let description = [{
    Families and knobs are declared by the families themselves; tools that link
    them register a `StrategyVerifierInterface`, which checks the names and the
    values. A knob that is not written has the family's default. Values are
    integers or, for an enumeration, one of its words.

    Example:

    ```mlir
    #s = #sparsepattern.strategy<csr>
    #t = #sparsepattern.strategy<csr, {}>
    func.func private @f() attributes {a = #s, b = #t}
    ```
  }];
  let parameters = (ins
    StringRefParameter<"name of the family">:$family,
    "::mlir::DictionaryAttr":$knobs
  );
  let hasCustomAssemblyFormat = 1;
}

def SparsePattern_PlanAttr : SparsePattern_Attr<"Plan", "plan"> {
  let summary = "Which strategy serves which number of tokens";
  let description = [{
    A list of upper bounds of N, ascending, each with a strategy, and the
    strategy of every larger N. The bounds are quoted in the attribute's own
    syntax, because MLIR balances the angle brackets of an attribute before the
    dialect sees it; inside `sparsepattern.spmm` they are written bare.

    Example:

    ```mlir
    #p = #sparsepattern.plan<["n <= 64" : <csr>, else : <library>]>
    func.func private @f() attributes {a = #p}
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "inclusive upper bounds of N">:$bounds,
    ArrayRefParameter<"StrategyAttr", "one more than bounds">:$strategies
  );
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// A plan that uses one strategy for every N.
    static PlanAttr get(StrategyAttr strategy) {
      return get(strategy.getContext(), {}, {strategy});
    }
    /// The strategy that serves `n` tokens.
    StrategyAttr lookup(int64_t n) const;
  }];
}

def SparsePattern_PackingAttr : SparsePattern_Attr<"Packing", "packing"> {
  let summary = "How a weight is stored for the kernels of one strategy";
  let description = [{
    Name and version of the packed format, the strategy that chose it, shape and
    element type of the weight, the names of the buffers in kernel argument
    order, and the integers of the format that kernels are specialised on.

    Example:

    ```mlir
    #p = #sparsepattern.packing<format = "csr-quad", version = 1,
           strategy = <csr>, rows = 64, cols = 32, type = f16,
           buffers = ["values", "columns"], attributes = {chunks = 4 : i64}>
    func.func private @f() attributes {a = #p}
    ```
  }];
  let parameters = (ins
    StringRefParameter<"name of the format">:$format,
    "int64_t":$version,
    "StrategyAttr":$strategy,
    "int64_t":$rows,
    "int64_t":$cols,
    "::mlir::Type":$type,
    "::mlir::ArrayAttr":$buffers,
    OptionalParameter<"::mlir::DictionaryAttr">:$attributes
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNATTRIBUTES_TD
