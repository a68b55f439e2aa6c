// RUN: sd-opt %s | FileCheck %s
// RUN: sd-opt %s | sd-opt > %t.text
// RUN: sd-opt %s --emit-bytecode | sd-opt > %t.bytecode
// RUN: sd-opt %s --mlir-print-op-generic | sd-opt > %t.generic
// RUN: sd-opt %s > %t.once
// RUN: diff %t.once %t.text
// RUN: diff %t.once %t.bytecode
// RUN: diff %t.once %t.generic

// CHECK-LABEL: @encodings
func.func private @encodings(
  // CHECK-SAME: tensor<8x8xf16, #sparsepattern.encoding<dense>>
  tensor<8x8xf16, #sparsepattern.encoding<dense>>,
  // CHECK-SAME: <unstructured, density = 0.1>
  tensor<?x8xbf16, #sparsepattern.encoding<unstructured, density = 0.1>>,
  // CHECK-SAME: <nm = 2:4 along rows, density = 0.5>
  tensor<64x64xf16, #sparsepattern.encoding<nm = 2:4, density = 0.5>>,
  // CHECK-SAME: <nm = 1:16 along cols>
  tensor<64x64xi8, #sparsepattern.encoding<nm = 1:16 along cols>>,
  // CHECK-SAME: <block = 16x32, kept = 0.25, fill = 0.5, density = 0.125>
  tensor<64x64xf16, #sparsepattern.encoding<block = 16x32, density = 0.125, fill = 0.5, kept = 0.25>>,
  // CHECK-SAME: <channel = rows, kept = 1.0e-05>
  tensor<64x64xf16, #sparsepattern.encoding<channel = rows, kept = 0.00001>>,
  // CHECK-SAME: <banded = 3:0>
  tensor<64x64xf32, #sparsepattern.encoding<banded = 3:0>>,
  // CHECK-SAME: <hybrid = [0.95 : <nm = 2:4 along rows>, 0.05 : <unstructured>], density = 0.51>
  tensor<64x64xf16, #sparsepattern.encoding<hybrid = [0.95 : <nm = 2:4>, 0.05 : <unstructured>], density = 0.51>>)

// CHECK-LABEL: @plan
// CHECK-SAME: #sparsepattern.plan<["n <= 4" : <csr>, "n <= 64" : <csr>, else : <library>]>
func.func private @plan() attributes {
  p = #sparsepattern.plan<["n <= 4" : <csr>, " n<=64 " : #sparsepattern.strategy<csr>, else : <library>]>}

// CHECK-LABEL: @token_major
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<32x64xf16>) activations(%{{.*}} : tensor<?x64xf16>)
// CHECK-SAME: bias(%{{.*}} : tensor<32xf32>) residual(%{{.*}} : tensor<?x32xf32>) outs(%{{.*}} : tensor<?x32xf32>)
// CHECK-SAME: layout(token_major) activation(gelu) pattern(<nm = 2:4 along rows, density = 0.5>)
// CHECK-SAME: plan [n <= 16 : <csr>, else : <library>] -> tensor<?x32xf32>
func.func @token_major(%w: tensor<32x64xf16>, %x: tensor<?x64xf16>, %b: tensor<32xf32>,
                       %r: tensor<?x32xf32>, %y: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = sparsepattern.spmm weight(%w : tensor<32x64xf16>) activations(%x : tensor<?x64xf16>)
         bias(%b : tensor<32xf32>) residual(%r : tensor<?x32xf32>) outs(%y : tensor<?x32xf32>)
         layout(token_major) activation(gelu) pattern(<nm = 2:4, density = 0.5>)
         plan [n <= 16 : <csr>, else : <library>] -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// CHECK-LABEL: @feature_major
// CHECK: sparsepattern.spmm
// CHECK-SAME: outs(%{{.*}} : memref<32x7xbf16>) layout(feature_major) {note = "kept"}
func.func @feature_major(%w: memref<32x64xbf16>, %x: memref<64x7xbf16>, %y: memref<32x7xbf16>) {
  sparsepattern.spmm weight(%w : memref<32x64xbf16>) activations(%x : memref<64x7xbf16>)
    outs(%y : memref<32x7xbf16>) layout(feature_major) activation(none) {note = "kept"}
  return
}

// CHECK-LABEL: @packed
// CHECK: weight(%{{.*}}, %{{.*}} : tensor<512xf16>, tensor<512xi16>)
// CHECK-SAME: packing(<format = "csr-quad", version = 1, strategy = <csr>, rows = 64, cols = 32, type = f16, buffers = ["values", "columns"], attributes = {chunks = 4 : i64}>)
func.func @packed(%v: tensor<512xf16>, %c: tensor<512xi16>, %x: tensor<1x32xf16>,
                  %y: tensor<1x64xf16>) -> tensor<1x64xf16> {
  %0 = sparsepattern.spmm weight(%v, %c : tensor<512xf16>, tensor<512xi16>)
         activations(%x : tensor<1x32xf16>) outs(%y : tensor<1x64xf16>) layout(token_major)
         packing(<format = "csr-quad", version = 1, strategy = <csr>, rows = 64, cols = 32,
                  type = f16, buffers = ["values", "columns"], attributes = {chunks = 4 : i64}>)
         plan [else : <csr>] -> tensor<1x64xf16>
  return %0 : tensor<1x64xf16>
}

// CHECK-LABEL: @annotations
// CHECK-SAME: sparsepattern.source = "weights.safetensors#fc1"
func.func @annotations(%w: tensor<4x4xf32> {sparsepattern.source = "weights.safetensors#fc1",
                                            sparsepattern.encoding = #sparsepattern.encoding<unstructured>}) {
  // CHECK: arith.constant {sparsepattern.encoding = #sparsepattern.encoding<channel = rows, density = 0.0>}
  %0 = arith.constant {sparsepattern.encoding = #sparsepattern.encoding<channel = rows, density = 0.0>} dense<0.0> : tensor<2x2xf32>
  return
}
