// RUN: sd-opt %s --sparse-pack --split-input-file | FileCheck %s

// One form serves the whole plan: the weight is replaced in place.
// CHECK-LABEL: @one_form
// CHECK-NOT: dense<
// CHECK: %[[A:.*]] = arith.constant dense_resource<"w.csr-quad.items">
// CHECK: %[[B:.*]] = arith.constant dense_resource<"w.csr-quad.values">
// CHECK: %[[C:.*]] = arith.constant dense_resource<"w.csr-quad.columns">
// CHECK-NOT: scf.if
// CHECK: sparsepattern.spmm weight(%[[A]], %[[B]], %[[C]] : {{.*}}) activations(%{{.*}} : tensor<?x4xf32>) bias(
// CHECK-SAME: packing(<format = "csr-quad", version = 1, strategy = <csr, {warps = 32}>, rows = 4, cols = 4, type = f32, buffers = ["items", "values", "columns"]
// CHECK-SAME: plan [n <= 1 : <csr, {warps = 8}>, else : <csr, {warps = 32}>]
func.func @one_form(%x: tensor<?x4xf32>, %b: tensor<4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4x4xf32>
  %0 = sparsepattern.spmm weight(%w : tensor<4x4xf32>) activations(%x : tensor<?x4xf32>) bias(%b : tensor<4xf32>)
         outs(%y : tensor<?x4xf32>) layout(token_major) plan [n <= 1 : <csr, {warps = 8}>, else : <csr, {warps = 32}>] -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

{-#
  dialect_resources: { builtin: { w: "0x040000000000803F000000000000000000000040000000000000000000000000000000000000000000000000000000000000404000000000000000000000000000008040" } }
#-}

// -----

// The library keeps the large N, and its dense weight.
// CHECK-LABEL: @split
// CHECK-DAG: %[[W:.*]] = arith.constant dense<
// CHECK-DAG: %[[N:.*]] = tensor.dim %{{.*}}, %c1
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK: %[[SMALL:.*]] = arith.cmpi ule, %[[N]], %[[C16]] : index
// CHECK: %[[R:.*]] = scf.if %[[SMALL]] -> (tensor<4x?xf32>)
// CHECK: sparsepattern.spmm {{.*}} packing({{.*}}) plan [n <= 1 : <csr, {warps = 8}>, else : <csr>]
// CHECK: } else {
// CHECK: sparsepattern.spmm weight(%[[W]] : tensor<4x4xf32>) {{.*}} plan [else : <library>]
// CHECK: return %[[R]]
func.func @split(%x: tensor<4x?xf32>, %y: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 4.0]]> : tensor<4x4xf32>
  %0 = sparsepattern.spmm weight(%w : tensor<4x4xf32>) activations(%x : tensor<4x?xf32>)
         outs(%y : tensor<4x?xf32>) layout(feature_major)
         plan [n <= 1 : <csr, {warps = 8}>, n <= 16 : <csr>, else : <library>] -> tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// -----

// N is known: one strategy is left.
// CHECK-LABEL: @static
// CHECK-NOT: scf.if
// CHECK: sparsepattern.spmm {{.*}} plan [else : <csr, {warps = 8}>]
func.func @static(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 4.0]]> : tensor<4x4xf32>
  %0 = sparsepattern.spmm weight(%w : tensor<4x4xf32>) activations(%x : tensor<1x4xf32>)
         outs(%y : tensor<1x4xf32>) layout(token_major)
         plan [n <= 1 : <csr, {warps = 8}>, else : <library>] -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// Without a plan nothing is decided, and nothing is packed.
// CHECK-LABEL: @no_plan
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<2x2xf32>)
func.func @no_plan(%x: tensor<1x2xf32>, %y: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
  %0 = sparsepattern.spmm weight(%w : tensor<2x2xf32>) activations(%x : tensor<1x2xf32>) outs(%y : tensor<1x2xf32>) layout(token_major) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}
