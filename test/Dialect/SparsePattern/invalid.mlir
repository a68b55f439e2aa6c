// RUN: sd-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{nm needs 0 < n < m, got 4:4 (C1)}}
func.func private @c1(tensor<8x8xf16, #sparsepattern.encoding<nm = 4:4>>)

// -----

// expected-error@+1 {{nm needs 0 < n < m, got 0:4 (C1)}}
func.func private @c1_zero(tensor<8x8xf16, #sparsepattern.encoding<nm = 0:4>>)

// -----

// expected-error@+1 {{only channel runs along both axes, not nm (C1)}}
func.func private @c1_both(tensor<8x8xf16, #sparsepattern.encoding<nm = 2:4 along both>>)

// -----

// expected-error@+1 {{block needs positive sizes of more than one element, got 1x1 (C2)}}
func.func private @c2(tensor<8x8xf16, #sparsepattern.encoding<block = 1x1>>)

// -----

// expected-error@+1 {{banded needs non-negative bandwidths, got -1:2 (C3)}}
func.func private @c3(tensor<8x8xf16, #sparsepattern.encoding<banded = -1:2>>)

// -----

// expected-error@+1 {{density must be in [0, 1], got 1.5}}
func.func private @c4_density(tensor<8x8xf16, #sparsepattern.encoding<unstructured, density = 1.5>>)

// -----

// expected-error@+1 {{kept must be in [0, 1], got -5.0}}
func.func private @c4_kept(tensor<8x8xf16, #sparsepattern.encoding<channel = rows, kept = -0.5>>)

// -----

// expected-error@+1 {{'kept' is for block and channel, not nm (C5)}}
func.func private @c5_kept(tensor<8x8xf16, #sparsepattern.encoding<nm = 2:4, kept = 0.5>>)

// -----

// expected-error@+1 {{'fill' is for block, not channel (C5)}}
func.func private @c5_fill(tensor<8x8xf16, #sparsepattern.encoding<channel = cols, fill = 0.5>>)

// -----

// expected-error@+1 {{hybrid needs at least two parts, got 1 (C6)}}
func.func private @c6(tensor<8x8xf16, #sparsepattern.encoding<hybrid = [1.0 : <nm = 2:4>]>>)

// -----

// expected-error@+1 {{a part of hybrid is neither dense nor hybrid, got dense (C7)}}
func.func private @c7(tensor<8x8xf16, #sparsepattern.encoding<hybrid = [0.5 : <nm = 2:4>, 0.5 : <dense>]>>)

// -----

// expected-error@+1 {{shares of hybrid must sum to 1, got 8.0}}
func.func private @c8(tensor<8x8xf16, #sparsepattern.encoding<hybrid = [0.5 : <nm = 2:4>, 0.3 : <unstructured>]>>)

// -----

// expected-error@+1 {{encoded weight must have rank 2, got rank 3 (C9)}}
func.func private @c9(tensor<8x8x8xf16, #sparsepattern.encoding<nm = 2:4>>)

// -----

// expected-error@+1 {{encoded weight must have float or whole-byte integer elements, got 'i1' (C10)}}
func.func private @c10(tensor<8x8xi1, #sparsepattern.encoding<nm = 2:4>>)

// -----

// expected-error@+1 {{pattern needs at least 16x32 elements, got 16x16 (C11)}}
func.func private @c11_block(tensor<16x16xf16, #sparsepattern.encoding<block = 16x32>>)

// -----

// expected-error@+1 {{density 6.0}}
func.func private @c11_density(tensor<8x8xf16, #sparsepattern.encoding<nm = 2:4, density = 0.6>>)

// -----

// The last group of 5 columns is one element long, and may be full: 3 of 5.
func.func private @c11_tail(tensor<8x5xf16, #sparsepattern.encoding<nm = 2:4, density = 0.6>>)

// -----

// expected-error@+1 {{exceeds what the pattern allows in 4x4, 2.5}}
func.func private @c11_banded(tensor<4x4xf16, #sparsepattern.encoding<banded = 0:0, density = 0.5>>)

// -----

// The band of 4x6 with one diagonal above holds 4 + 4 elements; a huge shape is
// counted as quickly.
// expected-error@+1 {{exceeds what the pattern allows in 4x6, 3.33}}
func.func private @c11_band_wide(tensor<4x6xf16, #sparsepattern.encoding<banded = 0:1, density = 0.34>>, tensor<4611686018427387904x8xf16, #sparsepattern.encoding<banded = 9223372036854775807:1, density = 0.1>>)

// -----

func.func private @c11_band_fits(tensor<4x6xf16, #sparsepattern.encoding<banded = 0:1, density = 0.333>>, tensor<6x4xf16, #sparsepattern.encoding<banded = 1:0, density = 0.333>>)

// -----

// A part must fit as well.
// expected-error@+1 {{pattern needs at least 1x16 elements, got 8x8 (C11)}}
func.func private @c11_part(tensor<8x8xf16, #sparsepattern.encoding<hybrid = [0.5 : <nm = 2:16>, 0.5 : <unstructured>]>>)

// -----

// expected-error@+1 {{a strategy needs the name of a family (C12)}}
func.func private @c12() attributes { s = #sparsepattern.strategy<""> }

// -----

// expected-error@+1 {{repeated knob 'a' (C13)}}
func.func private @c13() attributes { s = #sparsepattern.strategy<csr, {a = 1, a = 2}> }

// -----

// expected-error@+1 {{a plan has one strategy a bound and one for the rest, got 1 strategies for 1 bounds (C15)}}
func.func private @c15_no_else() attributes { s = #sparsepattern.plan<["n <= 4" : <csr>]> }

// -----

// expected-error@+1 {{'else' must be the last entry of a plan (C15)}}
func.func private @c15_else() attributes { s = #sparsepattern.plan<[else : <csr>, "n <= 4" : <csr>]> }

// -----

// expected-error@+1 {{bounds of a plan must be positive and ascending, got 4 after 4 (C16)}}
func.func private @c16_equal() attributes { s = #sparsepattern.plan<["n <= 4" : <csr>, "n <= 4" : <library>, else : <csr>]> }

// -----

// expected-error@+1 {{bounds of a plan must be positive and ascending, got 0 after 0 (C16)}}
func.func private @c16_zero() attributes { s = #sparsepattern.plan<["n <= 0" : <csr>, else : <csr>]> }

// -----

// expected-error@+1 {{expected "n <= INTEGER" or else, got "m <= 4"}}
func.func private @plan_guard() attributes { s = #sparsepattern.plan<["m <= 4" : <csr>, else : <csr>]> }

// -----

// expected-error@+1 {{a packing needs a format name and a version of at least 1, got 'f' version 0 (C17)}}
func.func private @c17() attributes { s = #sparsepattern.packing<format = "f", version = 0, strategy = <csr>, rows = 1, cols = 1, type = f16, buffers = ["v"]> }

// -----

// expected-error@+1 {{a packing needs a non-empty weight, got 0x1 (C18)}}
func.func private @c18() attributes { s = #sparsepattern.packing<format = "f", version = 1, strategy = <csr>, rows = 0, cols = 1, type = f16, buffers = ["v"]> }

// -----

// expected-error@+1 {{a packing needs an integer or float element type, got 'index' (C18)}}
func.func private @c18_type() attributes { s = #sparsepattern.packing<format = "f", version = 1, strategy = <csr>, rows = 1, cols = 1, type = index, buffers = ["v"]> }

// -----

// expected-error@+1 {{a packing needs at least one buffer (C19)}}
func.func private @c19_none() attributes { s = #sparsepattern.packing<format = "f", version = 1, strategy = <csr>, rows = 1, cols = 1, type = f16, buffers = []> }

// -----

// expected-error@+1 {{buffers of a packing must have distinct names, got ["v", "v"] (C19)}}
func.func private @c19_twice() attributes { s = #sparsepattern.packing<format = "f", version = 1, strategy = <csr>, rows = 1, cols = 1, type = f16, buffers = ["v", "v"]> }

// -----

// expected-error@+1 {{attribute 'a' of a packing must be an i64, got "x" (C19)}}
func.func private @c19_attribute() attributes { s = #sparsepattern.packing<format = "f", version = 1, strategy = <csr>, rows = 1, cols = 1, type = f16, buffers = ["v"], attributes = {a = "x"}> }

// -----

func.func @c20_mixed(%w: tensor<4x8xf16>, %x: memref<2x8xf16>, %y: memref<2x4xf16>) {
  // expected-error@+1 {{operands must be all tensors or all memrefs, got 'tensor<4x8xf16>' beside 'memref<2x4xf16>' (C20)}}
  sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : memref<2x8xf16>) outs(%y : memref<2x4xf16>) layout(token_major)
  return
}

// -----

func.func @c20_result(%w: tensor<4x8xf16>, %x: tensor<2x8xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{must have one result on tensors (C20)}}
  sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf16>) outs(%y : tensor<2x4xf16>) layout(token_major)
  return
}

// -----

func.func @c20_memref_result(%w: memref<4x8xf16>, %x: memref<2x8xf16>, %y: memref<2x4xf16>) {
  // expected-error@+1 {{must have no result on memrefs (C20)}}
  %0 = sparsepattern.spmm weight(%w : memref<4x8xf16>) activations(%x : memref<2x8xf16>) outs(%y : memref<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c21(%w: tensor<4x8xf16>, %x: tensor<2x8xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{needs one weight operand unless it is packed, got 2 (C21)}}
  %0 = sparsepattern.spmm weight(%w, %w : tensor<4x8xf16>, tensor<4x8xf16>) activations(%x : tensor<2x8xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c21_packed(%w: tensor<4xf16>, %x: tensor<2x8xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{packing has 2 buffers, got 1 weight operands (C21)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4xf16>) activations(%x : tensor<2x8xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) packing(<format = "f", version = 1, strategy = <csr>, rows = 4, cols = 8, type = f16, buffers = ["v", "c"]>) -> tensor<2x4xf16>
  return
}

// -----

func.func @c22(%w: tensor<?x8xf16>, %x: tensor<2x8xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{weight must be a static, non-empty M x K matrix, got 'tensor<?x8xf16>' (C22)}}
  %0 = sparsepattern.spmm weight(%w : tensor<?x8xf16>) activations(%x : tensor<2x8xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c23(%w: tensor<4x8xf16, #sparsepattern.encoding<nm = 2:4>>, %x: tensor<2x8xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{pattern #sparsepattern.encoding<nm = 1:4 along rows> contradicts the encoding of the weight, #sparsepattern.encoding<nm = 2:4 along rows> (C23)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16, #sparsepattern.encoding<nm = 2:4>>) activations(%x : tensor<2x8xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) pattern(<nm = 1:4>) -> tensor<2x4xf16>
  return
}

// -----

func.func @c11_on_op(%w: tensor<4x8xf16>, %x: tensor<2x8xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{pattern does not fit the weight: pattern needs at least 1x16 elements, got 4x8 (C11)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) pattern(<nm = 2:16>) -> tensor<2x4xf16>
  return
}

// -----

func.func @c24(%w: tensor<4x8xf16>, %x: tensor<2x8xf32>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{activations must have the weight's element type 'f16', got 'f32' (C24)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf32>) outs(%y : tensor<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c25(%w: tensor<4x8xf16>, %x: tensor<2x8xf16>, %y: tensor<2x4xi32>) {
  // expected-error@+1 {{outs must have float elements, or i32 for an integer weight, got 'i32' (C25)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf16>) outs(%y : tensor<2x4xi32>) layout(token_major) -> tensor<2x4xi32>
  return
}

// -----

func.func @c26(%w: tensor<4x8xf16>, %x: tensor<8x2xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{activations must be ?x8, got 'tensor<8x2xf16>' (C26)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<8x2xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c27(%w: tensor<4x8xf16>, %x: tensor<8x2xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{outs must be 4x2, got 'tensor<2x4xf16>' (C27)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<8x2xf16>) outs(%y : tensor<2x4xf16>) layout(feature_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c28_shape(%w: tensor<4x8xf16>, %x: tensor<2x8xf16>, %b: tensor<2xf32>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{bias must be 4, got 'tensor<2xf32>' (C28)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf16>) bias(%b : tensor<2xf32>) outs(%y : tensor<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c28_type(%w: tensor<4x8xf16>, %x: tensor<2x8xf16>, %b: tensor<4xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{bias must have f32 elements, got 'f16' (C28)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf16>) bias(%b : tensor<4xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c29_shape(%w: tensor<4x8xf16>, %x: tensor<?x8xf16>, %r: tensor<3x4xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{residual must be 2x4, got 'tensor<3x4xf16>' (C29)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<?x8xf16>) residual(%r : tensor<3x4xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  return
}

// -----

func.func @c29_type(%w: tensor<4x8xf16>, %x: tensor<2x8xf16>, %r: tensor<2x4xf16>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{residual must have the element type of outs, 'f32', got 'f16' (C29)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf16>) residual(%r : tensor<2x4xf16>) outs(%y : tensor<2x4xf32>) layout(token_major) -> tensor<2x4xf32>
  return
}

// -----

func.func @c30(%w: tensor<4xf16>, %x: tensor<2x8xf16>, %y: tensor<2x4xf16>) {
  // expected-error@+1 {{plan uses family 'library' but the weight is packed for 'csr' (C30)}}
  %0 = sparsepattern.spmm weight(%w : tensor<4xf16>) activations(%x : tensor<2x8xf16>) outs(%y : tensor<2x4xf16>) layout(token_major) packing(<format = "f", version = 1, strategy = <csr>, rows = 4, cols = 8, type = f16, buffers = ["v"]>) plan [n <= 4 : <csr>, else : <library>] -> tensor<2x4xf16>
  return
}

// -----

func.func @c31_weight(%w: tensor<4x8xf16>) {
  // expected-error@+1 {{weight must be 4x9x'f16' as the packing says, got 'tensor<4x8xf16>' (C31)}}
  %0 = sparsepattern.pack %w as <format = "f", version = 1, strategy = <csr>, rows = 4, cols = 9, type = f16, buffers = ["v"]> : tensor<4x8xf16> -> tensor<4xf16>
  return
}

// -----

func.func @c31_buffers(%v: tensor<4xf16>) {
  // expected-error@+1 {{packing has 2 buffers, got 1 (C31)}}
  %0 = sparsepattern.unpack %v as <format = "f", version = 1, strategy = <csr>, rows = 4, cols = 8, type = f16, buffers = ["v", "c"]> : tensor<4xf16> -> tensor<4x8xf16>
  return
}

// -----

func.func @c31_dynamic(%v: tensor<?xf16>) {
  // expected-error@+1 {{packed buffers must have static shapes, got 'tensor<?xf16>' (C31)}}
  %0 = sparsepattern.unpack %v as <format = "f", version = 1, strategy = <csr>, rows = 4, cols = 8, type = f16, buffers = ["v"]> : tensor<?xf16> -> tensor<4x8xf16>
  return
}

// -----

// expected-error@+1 {{'sparsepattern.encoding' must be a #sparsepattern.encoding, got 1 : i64 (C32)}}
func.func private @c32(tensor<4x4xf16> {sparsepattern.encoding = 1 : i64})

// -----

// expected-error@+1 {{argument 0: 'sparsepattern.encoding' annotates a ranked shaped value, got 'f32' (C32)}}
func.func private @c32_type(f32 {sparsepattern.encoding = #sparsepattern.encoding<dense>})

// -----

// expected-error@+1 {{'sparsepattern.source' must be a string "file" or "file#tensor", got "#fc1" (C33)}}
func.func private @c33(tensor<4x4xf16> {sparsepattern.source = "#fc1"})

// -----

func.func @c33_place() {
  // expected-error@+1 {{'sparsepattern.source' belongs on a function argument (C33)}}
  %0 = arith.constant {sparsepattern.source = "a.npy"} dense<0.0> : tensor<4x4xf16>
  return
}

// -----

// expected-error@+1 {{unknown attribute 'sparsepattern.other' of the sparsepattern dialect (C34)}}
func.func private @c34() attributes {sparsepattern.other = 1 : i64}

// -----

// expected-error@+1 {{'sparsepattern.plans' must be a dictionary of #sparsepattern.plan, got {layer = 1 : i64} (C35)}}
func.func private @c35() attributes {sparsepattern.plans = {layer = 1 : i64}}

// -----

// expected-error@+1 {{unknown sparsity pattern 'nn', expected dense, unstructured, nm, block, channel, banded or hybrid}}
func.func private @pattern(tensor<8x8xf16, #sparsepattern.encoding<nn = 2:4>>)

// -----

// expected-error@+1 {{expected rows, cols or both, got 'lines'}}
func.func private @axis(tensor<8x8xf16, #sparsepattern.encoding<nm = 2:4 along lines>>)

// -----

// expected-error@+1 {{unknown key 'size', expected density, kept or fill}}
func.func private @key(tensor<8x8xf16, #sparsepattern.encoding<dense, size = 0.5>>)

// -----

// expected-error@+1 {{repeated key 'density', expected density, kept or fill}}
func.func private @repeated(tensor<8x8xf16, #sparsepattern.encoding<dense, density = 0.5, density = 0.5>>)

// -----

func.func @layout(%w: memref<4x8xf16>, %x: memref<2x8xf16>, %y: memref<2x4xf16>) {
  // expected-error@+1 {{expected token_major or feature_major, got 'row'}}
  sparsepattern.spmm weight(%w : memref<4x8xf16>) activations(%x : memref<2x8xf16>) outs(%y : memref<2x4xf16>) layout(row)
  return
}

// -----

func.func @activation(%w: memref<4x8xf16>, %x: memref<2x8xf16>, %y: memref<2x4xf16>) {
  // expected-error@+1 {{expected none, relu, gelu or silu, got 'tanh'}}
  sparsepattern.spmm weight(%w : memref<4x8xf16>) activations(%x : memref<2x8xf16>) outs(%y : memref<2x4xf16>) layout(token_major) activation(tanh)
  return
}

// -----

// The parser asks the encoding about a type whose element type it refused.
// expected-error@+1 {{expected non-function type}}
func.func private @no_element_type(tensor<8x8x, #sparsepattern.encoding<unstructured, density = 0.1>>)
