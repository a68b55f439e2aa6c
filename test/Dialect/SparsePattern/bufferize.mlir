// RUN: sd-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s

// outs is written in place: no copy and no allocation.
// CHECK-LABEL: @in_place
// CHECK-SAME: (%[[W:.*]]: memref<32x64xf16>, %[[X:.*]]: memref<?x64xf16>, %[[B:.*]]: memref<32xf32>, %[[Y:.*]]: memref<?x32xf16>)
// CHECK-NOT: memref.alloc
// CHECK: sparsepattern.spmm weight(%[[W]] : memref<32x64xf16>) activations(%[[X]] : memref<?x64xf16>) bias(%[[B]] : memref<32xf32>) outs(%[[Y]] : memref<?x32xf16>) layout(token_major) activation(silu) pattern(<nm = 2:4 along rows>) plan [else : <csr>] {note = 1 : i64}
// CHECK: return %[[Y]]
func.func @in_place(%w: tensor<32x64xf16, #sparsepattern.encoding<nm = 2:4>>, %x: tensor<?x64xf16>, %b: tensor<32xf32>,
                    %y: tensor<?x32xf16>) -> tensor<?x32xf16> {
  %0 = sparsepattern.spmm weight(%w : tensor<32x64xf16, #sparsepattern.encoding<nm = 2:4>>) activations(%x : tensor<?x64xf16>)
         bias(%b : tensor<32xf32>) outs(%y : tensor<?x32xf16>) layout(token_major)
         activation(silu) pattern(<nm = 2:4>) plan [else : <csr>] {note = 1 : i64} -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// The old contents of outs are not read, so a second writer needs a buffer of
// its own but no copy into it.
// CHECK-LABEL: @not_read
// CHECK-COUNT-2: sparsepattern.spmm
// CHECK-NOT: memref.copy
// CHECK: return
func.func @not_read(%w: tensor<4x8xf16>, %x: tensor<2x8xf16>, %y: tensor<2x4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>) {
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf16>)
         outs(%y : tensor<2x4xf16>) layout(token_major) -> tensor<2x4xf16>
  %1 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<2x8xf16>)
         outs(%y : tensor<2x4xf16>) layout(token_major) activation(relu) -> tensor<2x4xf16>
  return %0, %1 : tensor<2x4xf16>, tensor<2x4xf16>
}

// A residual is read: its buffer survives until the product has run.
// CHECK-LABEL: @constant_weight
// CHECK: memref.get_global
// CHECK: sparsepattern.spmm
// CHECK-SAME: residual(%[[R:.*]] : memref<4x2xf32>)
func.func @constant_weight(%x: tensor<3x2xf32>, %r: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]> : tensor<4x3xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %0 = sparsepattern.spmm weight(%w : tensor<4x3xf32>) activations(%x : tensor<3x2xf32>)
         residual(%r : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) layout(feature_major) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
