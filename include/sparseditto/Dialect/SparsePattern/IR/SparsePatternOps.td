//===- SparsePatternOps.td - Operations of sparsepattern -*- tablegen -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNOPS_TD
#define SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.td"

class SparsePattern_Op<string mnemonic, list<Trait> traits = []>
    : Op<SparsePattern_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

def SparsePattern_TensorOrMemRef
    : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef],
                "ranked tensor or strided memref">;

def SparsePattern_SpmmOp : SparsePattern_Op<"spmm", [
    AttrSizedOperandSegments,
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
        ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let summary = "Product of a pruned weight with activations";
  let description = [{
    Computes `Y = activation(W * X + bias) + residual`, accumulated in f32 and
    rounded once to the element type of Y. W is the weight, M x K (output by
    input features). X has N columns, the tokens; N may be dynamic. `gelu` is the
    exact form with erf.

    | layout | activations | outs, residual |
    |---|---|---|
    | `token_major` | N x K | N x M |
    | `feature_major` | K x N | M x N |

    The op is destination-style: it overwrites `outs`, whose old contents it
    does not read. On tensors it returns the result; on memrefs it has none.

    The weight is one M x K operand, or, after `sparse-pack`, the packed buffers
    that `packing` describes. `pattern` states the proved pattern of the weight;
    a weight type with a `#sparsepattern.encoding` says the same. `plan` says
    which strategy serves which N; without one the choice is still open.

    Example:

    ```mlir
    func.func @linear(%w: tensor<32x64xf16>, %x: tensor<?x64xf16>,
                      %b: tensor<32xf32>, %y: tensor<?x32xf16>)
        -> tensor<?x32xf16> {
      %0 = sparsepattern.spmm weight(%w : tensor<32x64xf16>)
             activations(%x : tensor<?x64xf16>) bias(%b : tensor<32xf32>)
             outs(%y : tensor<?x32xf16>) layout(token_major) activation(relu)
             pattern(<nm = 2:4 along rows, density = 0.5>)
             plan [n <= 16 : <csr>, else : <library>] -> tensor<?x32xf16>
      return %0 : tensor<?x32xf16>
    }
    ```
  }];
  let arguments = (ins
    Variadic<SparsePattern_TensorOrMemRef>:$weight,
    SparsePattern_TensorOrMemRef:$activations,
    Optional<SparsePattern_TensorOrMemRef>:$bias,
    Optional<SparsePattern_TensorOrMemRef>:$residual,
    SparsePattern_TensorOrMemRef:$init,
    SparsePattern_LayoutAttr:$layout,
    DefaultValuedAttr<SparsePattern_ActivationAttr,
                      "::mlir::sparsepattern::ActivationKind::None">:$activation,
    OptionalAttr<SparsePattern_EncodingAttr>:$pattern,
    OptionalAttr<SparsePattern_PackingAttr>:$packing,
    OptionalAttr<SparsePattern_PlanAttr>:$plan
  );
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `weight` `(` $weight `:` type($weight) `)`
    `activations` `(` $activations `:` type($activations) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`residual` `(` $residual^ `:` type($residual) `)`)?
    `outs` `(` $init `:` type($init) `)`
    `layout` `` custom<Layout>($layout)
    (`activation` `` custom<Activation>($activation)^)?
    (`pattern` `(` $pattern^ `)`)?
    (`packing` `(` $packing^ `)`)?
    (`plan` custom<Plan>($plan)^)?
    attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitMutable();
    }
    bool isPacked() { return getPacking().has_value(); }
    /// Output features.
    int64_t getM();
    /// Input features.
    int64_t getK();
    /// Which dimension of activations and outs counts the tokens.
    unsigned getTokenDim() {
      return getLayout() == TokenLayout::TokenMajor ? 0 : 1;
    }
    /// The proved pattern: the attribute, else the encoding of the weight's
    /// type, else null.
    EncodingAttr getKnownPattern();
  }];
}

class SparsePattern_PackOpBase<string mnemonic, list<Trait> traits = []>
    : SparsePattern_Op<mnemonic, [Pure] # traits>;

def SparsePattern_PackOp : SparsePattern_PackOpBase<"pack"> {
  let summary = "Packed buffers of a weight";
  let description = [{
    Returns the buffers of the weight in the format of `packing`, in kernel
    argument order. `sparse-pack` evaluates it on constants.

    Example:

    ```mlir
    func.func @pack(%w: tensor<64x32xf16>) -> (tensor<512xf16>, tensor<512xi16>) {
      %0:2 = sparsepattern.pack %w as <format = "csr-quad", version = 1,
               strategy = <csr>, rows = 64, cols = 32, type = f16,
               buffers = ["values", "columns"]>
             : tensor<64x32xf16> -> tensor<512xf16>, tensor<512xi16>
      return %0#0, %0#1 : tensor<512xf16>, tensor<512xi16>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$weight,
                       SparsePattern_PackingAttr:$packing);
  let results = (outs Variadic<AnyRankedTensor>:$buffers);
  let assemblyFormat = [{
    $weight `as` $packing attr-dict `:` type($weight) `->` type($buffers)
  }];
}

def SparsePattern_UnpackOp : SparsePattern_PackOpBase<"unpack"> {
  let summary = "Weight of packed buffers";
  let description = [{
    The inverse of `sparsepattern.pack`: `unpack(pack(w))` is `w` bit for bit,
    except that a stored -0.0 may come back as +0.0. Folds when its operands are
    the results of a `pack` with the same packing.

    Example:

    ```mlir
    func.func @unpack(%v: tensor<512xf16>, %c: tensor<512xi16>)
        -> tensor<64x32xf16> {
      %0 = sparsepattern.unpack %v, %c as <format = "csr-quad", version = 1,
             strategy = <csr>, rows = 64, cols = 32, type = f16,
             buffers = ["values", "columns"]>
           : tensor<512xf16>, tensor<512xi16> -> tensor<64x32xf16>
      return %0 : tensor<64x32xf16>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$buffers,
                       SparsePattern_PackingAttr:$packing);
  let results = (outs AnyRankedTensor:$weight);
  let assemblyFormat = [{
    $buffers `as` $packing attr-dict `:` type($buffers) `->` type($weight)
  }];
  let hasFolder = 1;
}

#endif // SPARSEDITTO_DIALECT_SPARSEPATTERN_IR_SPARSEPATTERNOPS_TD
