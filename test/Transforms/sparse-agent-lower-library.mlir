// RUN: sd-opt %s --sparse-agent-lower="family=nm decide-only" -o %t.planned.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=PLAN < %t.planned.mlir
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// RUN: sd-opt %s --sparse-agent-lower=family=nm 2>/dev/null | FileCheck %s

// No kernel takes an unstructured weight here: the product goes back to linalg as the
// named operation that it was, with the reason said.

// PLAN: plan [else : <library>]
// PLAN: plan [else : <library>]

// ERR: library.mlir:{{[0-9]+}}:8: remark: left to the host: dense library: no candidate could be built
// ERR: library.mlir:{{[0-9]+}}:8: remark: left to the host: dense library: no candidate could be built
// ERR: dense library {{ *}}[[US:[0-9.]+]] {{ *}}[[US]] {{ *}}- {{ *}}dense library: no candidate could be built
// ERR: stay dense as well
// ERR: times are predicted, not measured; no language model was asked

// CHECK-NOT: gpu.launch_func
// CHECK-DAG: #[[$X:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$Y:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @tokens
// CHECK-SAME: %[[T:.*]]: memref<?x4xf16>
// CHECK: linalg.matmul indexing_maps = [#[[$X]], #[[$W]], #[[$Y]]] ins(%[[T]], %{{.*}} : memref<?x4xf16>, memref<3x4xf16>)
// CHECK-LABEL: func.func @features
// CHECK-SAME: %[[F:.*]]: memref<4x?xf16>
// CHECK: linalg.matmul ins(%{{.*}}, %[[F]] : memref<3x4xf16>, memref<4x?xf16>)
// CHECK-NOT: gpu

func.func @tokens(%x: tensor<?x4xf16>, %y: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 6.0]]> : tensor<3x4xf16>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%y : tensor<?x3xf32>) -> tensor<?x3xf32>
  %p = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<?x4xf16>, tensor<3x4xf16>) outs(%f : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %p : tensor<?x3xf32>
}

func.func @features(%x: tensor<4x?xf16>, %y: tensor<3x?xf32>) -> tensor<3x?xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 6.0]]> : tensor<3x4xf16>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%y : tensor<3x?xf32>) -> tensor<3x?xf32>
  %p = linalg.matmul ins(%w, %x : tensor<3x4xf16>, tensor<4x?xf16>) outs(%f : tensor<3x?xf32>) -> tensor<3x?xf32>
  return %p : tensor<3x?xf32>
}
