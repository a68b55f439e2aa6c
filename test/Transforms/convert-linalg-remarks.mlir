// RUN: sd-opt %s --convert-linalg-to-sparsepattern --split-input-file --verify-diagnostics | FileCheck %s
// RUN: sd-opt %s --convert-linalg-to-sparsepattern=convert-dense --split-input-file 2>/dev/null | FileCheck %s --check-prefix=DENSE

// CHECK-LABEL: @dense
// DENSE-LABEL: @dense
func.func @dense(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<1x2xf32>
  // CHECK: linalg.matmul
  // DENSE: sparsepattern.spmm {{.*}} pattern(<dense, density = 1.0>)
  // expected-remark@below {{weight left dense: }}
  %y = linalg.matmul ins(%x, %w : tensor<1x2xf32>, tensor<2x2xf32>) outs(%zero : tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

// CHECK-LABEL: @no_weight
// CHECK: linalg.matmul
func.func @no_weight(%x: tensor<1x2xf32>, %w: tensor<2x2xf32>) -> tensor<1x2xf32> {
  %zero = arith.constant dense<0.0> : tensor<1x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<1x2xf32>, tensor<2x2xf32>) outs(%zero : tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

func.func @conv_3x3(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = arith.constant dense<[[[[1.0,0.0,0.0],[0.0,0.0,0.0],[0.0,0.0,0.0]]],[[[1.0,0.0,0.0],[0.0,0.0,0.0],[0.0,0.0,0.0]]]]> : tensor<2x1x3x3xf32>
  %zero = arith.constant dense<0.0> : tensor<1x2x2x2xf32>
  // expected-remark@below {{weight left dense: the convolution has a kernel larger than 1x1 or a stride}}
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x1x4x4xf32>, tensor<2x1x3x3xf32>) outs(%zero : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %y : tensor<1x2x2x2xf32>
}

// -----

func.func @batched_weight(%x: tensor<2x1x2xf32>) -> tensor<2x1x2xf32> {
  %w = arith.constant dense<[[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]> : tensor<2x2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<2x1x2xf32>
  // expected-remark@below {{weight left dense: each element of the batch has a weight of its own}}
  %y = linalg.batch_matmul ins(%x, %w : tensor<2x1x2xf32>, tensor<2x2x2xf32>) outs(%zero : tensor<2x1x2xf32>) -> tensor<2x1x2xf32>
  return %y : tensor<2x1x2xf32>
}

// -----

func.func @integers(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
  %w = arith.constant dense<[[1, 0], [0, 0]]> : tensor<2x2xi8>
  %zero = arith.constant dense<0> : tensor<1x2xi32>
  // expected-remark@below {{weight left dense: the element type is not f16, bf16 or f32}}
  %y = linalg.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) outs(%zero : tensor<1x2xi32>) -> tensor<1x2xi32>
  return %y : tensor<1x2xi32>
}

// -----

func.func @mixed_types(%x: tensor<1x2xf16>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<1x2xf32>
  // expected-remark@below {{weight left dense: weight and activations have different element types}}
  %y = linalg.matmul ins(%x, %w : tensor<1x2xf16>, tensor<2x2xf32>) outs(%zero : tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

func.func @hidden(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<1x2xf32>
  %h = linalg.exp ins(%w : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  // expected-remark@below {{weight left dense: the weight reaches it through 'linalg.exp'}}
  %y = linalg.matmul ins(%x, %h : tensor<1x2xf32>, tensor<2x2xf32>) outs(%zero : tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

func.func @vector(%x: tensor<1x4xf32>) -> tensor<1x1xf32> {
  %w = arith.constant dense<[[1.0], [0.0], [0.0], [0.0]]> : tensor<4x1xf32>
  %zero = arith.constant dense<0.0> : tensor<1x1xf32>
  // A weight of one column is stored as K x 1 and is a product like any other.
  // CHECK-LABEL: @vector
  // CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<1x4xf32>)
  %y = linalg.matmul ins(%x, %w : tensor<1x4xf32>, tensor<4x1xf32>) outs(%zero : tensor<1x1xf32>) -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
