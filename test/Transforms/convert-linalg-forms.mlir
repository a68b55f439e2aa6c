// RUN: sd-opt %s --convert-linalg-to-sparsepattern --split-input-file | FileCheck %s

// The weight is M x K = 4 x 8 with 2:4 along its rows; each function below
// multiplies it, or its transpose, in another form.

// CHECK-LABEL: @matmul_weight_left
// CHECK-DAG: %[[W:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, 0.000000e+00
// CHECK: sparsepattern.spmm weight(%[[W]] : tensor<4x8xf32>) activations(%{{.*}} : tensor<8x?xf32>)
// CHECK-SAME: outs(%{{.*}} : tensor<4x?xf32>) layout(feature_major) pattern(<nm = 2:4 along rows, density = 0.5>) -> tensor<4x?xf32>
// CHECK-NOT: linalg.matmul
func.func @matmul_weight_left(%x: tensor<8x?xf32>, %n: index) -> tensor<4x?xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<4x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x?xf32>) -> tensor<4x?xf32>
  %y = linalg.matmul ins(%w, %x : tensor<4x8xf32>, tensor<8x?xf32>) outs(%f : tensor<4x?xf32>) -> tensor<4x?xf32>
  return %y : tensor<4x?xf32>
}

// -----

// A weight on the right is K x M: it is transposed at compile time.
// CHECK-LABEL: @matmul_weight_right
// CHECK-DAG: %[[W:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, 0.000000e+00, 0.000000e+00, 3.000000e+00, 4.000000e+00
// CHECK: sparsepattern.spmm weight(%[[W]] : tensor<4x8xf32>) activations(%{{.*}} : tensor<2x8xf32>)
// CHECK-SAME: outs(%{{.*}} : tensor<2x4xf32>) layout(token_major) pattern(<nm = 2:4 along rows, density = 0.5>) -> tensor<2x4xf32>
// CHECK-NOT: linalg.fill
func.func @matmul_weight_right(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 5.0], [0.0, 5.0, 2.0, 6.0], [0.0, 6.0, 0.0, 0.0],
                             [3.0, 0.0, 0.0, 7.0], [4.0, 0.0, 3.0, 0.0], [0.0, 7.0, 0.0, 0.0], [0.0, 8.0, 4.0, 8.0]]> : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x8xf32>, tensor<8x4xf32>) outs(%f : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#wt = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: @matmul_transpose_b
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%{{.*}} : tensor<2x8xf32>) {{.*}} layout(token_major)
func.func @matmul_transpose_b(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<2x4xf32>
  %y = linalg.matmul indexing_maps = [#x, #wt, #y] ins(%x, %w : tensor<2x8xf32>, tensor<4x8xf32>) outs(%zero : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// What torch.nn.Linear becomes: a transpose of the weight, then a product.
// CHECK-LABEL: @through_transpose
// CHECK-NOT: linalg.transpose
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%{{.*}} : tensor<?x8xf32>) {{.*}} layout(token_major)
func.func @through_transpose(%x: tensor<?x8xf32>, %n: index) -> tensor<?x4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %wte = tensor.empty() : tensor<8x4xf32>
  %wt = linalg.transpose ins(%w : tensor<4x8xf32>) outs(%wte : tensor<8x4xf32>) permutation = [1, 0]
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = linalg.matmul ins(%x, %wt : tensor<?x8xf32>, tensor<8x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

#ab = affine_map<(d0, d1) -> (d0, d1)>
#ba = affine_map<(d0, d1) -> (d1, d0)>

// The same with the transpose as a generic.
// CHECK-LABEL: @through_generic_transpose
// CHECK-NOT: linalg.generic
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>)
func.func @through_generic_transpose(%x: tensor<3x8xf32>) -> tensor<3x4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<3x4xf32>
  %wte = tensor.empty() : tensor<8x4xf32>
  %wt = linalg.generic {indexing_maps = [#ba, #ab], iterator_types = ["parallel", "parallel"]}
    ins(%w : tensor<4x8xf32>) outs(%wte : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x4xf32>
  %y = linalg.matmul ins(%x, %wt : tensor<3x8xf32>, tensor<8x4xf32>) outs(%zero : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: @matvec
// CHECK: %[[X:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [1, 8]
// CHECK: %[[Y:.*]] = sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%[[X]] : tensor<1x8xf32>)
// CHECK-SAME: layout(token_major)
// CHECK: tensor.collapse_shape %[[Y]] {{\[\[}}0, 1]] : tensor<1x4xf32> into tensor<4xf32>
func.func @matvec(%x: tensor<8xf32>) -> tensor<4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %y = linalg.matvec ins(%w, %x : tensor<4x8xf32>, tensor<8xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: @vecmat
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%{{.*}} : tensor<1x8xf32>) {{.*}} pattern(<nm = 2:4 along rows, density = 0.5>)
func.func @vecmat(%x: tensor<8xf32>) -> tensor<4xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 5.0], [0.0, 5.0, 2.0, 6.0], [0.0, 6.0, 0.0, 0.0],
                             [3.0, 0.0, 0.0, 7.0], [4.0, 0.0, 3.0, 0.0], [0.0, 7.0, 0.0, 0.0], [0.0, 8.0, 4.0, 8.0]]> : tensor<8x4xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %y = linalg.vecmat ins(%x, %w : tensor<8xf32>, tensor<8x4xf32>) outs(%zero : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A weight that the batch shares: the batch becomes tokens.
// CHECK-LABEL: @batch_matmul_shared
// CHECK-NOT: linalg.broadcast
// CHECK: %[[X:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<?x5x8xf32> into tensor<?x8xf32>
// CHECK: %[[Y:.*]] = sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%[[X]] : tensor<?x8xf32>)
// CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [%{{.*}}, 5, 4] : tensor<?x4xf32> into tensor<?x5x4xf32>
func.func @batch_matmul_shared(%x: tensor<?x5x8xf32>, %n: index) -> tensor<?x5x4xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 5.0], [0.0, 5.0, 2.0, 6.0], [0.0, 6.0, 0.0, 0.0],
                             [3.0, 0.0, 0.0, 7.0], [4.0, 0.0, 3.0, 0.0], [0.0, 7.0, 0.0, 0.0], [0.0, 8.0, 4.0, 8.0]]> : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %be = tensor.empty(%n) : tensor<?x8x4xf32>
  %b = linalg.broadcast ins(%w : tensor<8x4xf32>) outs(%be : tensor<?x8x4xf32>) dimensions = [0]
  %e = tensor.empty(%n) : tensor<?x5x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  %y = linalg.batch_matmul ins(%x, %b : tensor<?x5x8xf32>, tensor<?x8x4xf32>) outs(%f : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  return %y : tensor<?x5x4xf32>
}

// -----

// With the weight on the left the tokens are not adjacent: one product a batch
// element.
// CHECK-LABEL: @batch_matmul_left
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ALL:.*]] = %{{.*}}) -> (tensor<3x4x5xf32>)
// CHECK: %[[X:.*]] = tensor.extract_slice %{{.*}}[%[[I]], 0, 0] [1, 8, 5] [1, 1, 1] : tensor<3x8x5xf32> to tensor<8x5xf32>
// CHECK: %[[INIT:.*]] = tensor.extract_slice %[[ALL]][%[[I]], 0, 0] [1, 4, 5] [1, 1, 1]
// CHECK: %[[Y:.*]] = sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%[[X]] : tensor<8x5xf32>) outs(%[[INIT]] : tensor<4x5xf32>) layout(feature_major)
// CHECK: tensor.insert_slice %[[Y]] into %[[ALL]]
func.func @batch_matmul_left(%x: tensor<3x8x5xf32>) -> tensor<3x4x5xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<3x4x5xf32>
  %be = tensor.empty() : tensor<3x4x8xf32>
  %b = linalg.broadcast ins(%w : tensor<4x8xf32>) outs(%be : tensor<3x4x8xf32>) dimensions = [0]
  %y = linalg.batch_matmul ins(%b, %x : tensor<3x4x8xf32>, tensor<3x8x5xf32>) outs(%zero : tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  return %y : tensor<3x4x5xf32>
}

// -----

#x = affine_map<(b, s, m, k) -> (b, s, k)>
#w = affine_map<(b, s, m, k) -> (m, k)>
#y = affine_map<(b, s, m, k) -> (b, s, m)>

// The generic that exporters emit for a linear layer on a batch of sequences,
// accumulating in f32.
// CHECK-LABEL: @generic
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf16>) activations(%{{.*}} : tensor<?x8xf16>) outs(%{{.*}} : tensor<?x4xf32>) layout(token_major)
func.func @generic(%x: tensor<?x?x8xf16>, %init: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf16>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%init : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<?x?x8xf16>, tensor<4x8xf16>) outs(%f : tensor<?x?x4xf32>) {
  ^bb0(%a: f16, %b: f16, %acc: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}

// -----

#xt = affine_map<(m, n, k) -> (n, k)>
#w = affine_map<(m, n, k) -> (m, k)>
#y = affine_map<(m, n, k) -> (m, n)>

// Token-major activations, feature-major output: the activations are transposed.
// CHECK-LABEL: @mixed_layout
// CHECK: %[[X:.*]] = linalg.transpose ins(%{{.*}} : tensor<5x8xf32>) outs(%{{.*}} : tensor<8x5xf32>) permutation = [1, 0]
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%[[X]] : tensor<8x5xf32>) {{.*}} layout(feature_major)
func.func @mixed_layout(%x: tensor<5x8xf32>) -> tensor<4x5xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<4x5xf32>
  %y = linalg.contract indexing_maps = [#w, #xt, #y] ins(%w, %x : tensor<4x8xf32>, tensor<5x8xf32>) outs(%zero : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}

// -----

// CHECK-LABEL: @conv_nchw
// CHECK: %[[X:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] : tensor<1x8x6x7xf32> into tensor<8x42xf32>
// CHECK: %[[Y:.*]] = sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%[[X]] : tensor<8x42xf32>) {{.*}} layout(feature_major) pattern(<nm = 2:4 along rows, density = 0.5>)
// CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2, 3]] output_shape [1, 4, 6, 7]
func.func @conv_nchw(%x: tensor<1x8x6x7xf32>) -> tensor<1x4x6x7xf32> {
  %w = arith.constant dense<[[[[1.0]],[[2.0]],[[0.0]],[[0.0]],[[3.0]],[[4.0]],[[0.0]],[[0.0]]], [[[0.0]],[[0.0]],[[5.0]],[[6.0]],[[0.0]],[[0.0]],[[7.0]],[[8.0]]],
                             [[[1.0]],[[0.0]],[[2.0]],[[0.0]],[[0.0]],[[3.0]],[[0.0]],[[4.0]]], [[[0.0]],[[5.0]],[[6.0]],[[0.0]],[[7.0]],[[0.0]],[[0.0]],[[8.0]]]]> : tensor<4x8x1x1xf32>
  %zero = arith.constant dense<0.0> : tensor<1x4x6x7xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x8x6x7xf32>, tensor<4x8x1x1xf32>) outs(%zero : tensor<1x4x6x7xf32>) -> tensor<1x4x6x7xf32>
  return %y : tensor<1x4x6x7xf32>
}

// -----

// CHECK-LABEL: @conv_nchw_batch
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0, 0, 0] [1, 8, 6, 7] [1, 1, 1, 1] : tensor<?x8x6x7xf32> to tensor<8x6x7xf32>
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%{{.*}} : tensor<8x42xf32>)
func.func @conv_nchw_batch(%x: tensor<?x8x6x7xf32>, %init: tensor<?x4x6x7xf32>) -> tensor<?x4x6x7xf32> {
  %w = arith.constant dense<[[[[1.0]],[[2.0]],[[0.0]],[[0.0]],[[3.0]],[[4.0]],[[0.0]],[[0.0]]], [[[0.0]],[[0.0]],[[5.0]],[[6.0]],[[0.0]],[[0.0]],[[7.0]],[[8.0]]],
                             [[[1.0]],[[0.0]],[[2.0]],[[0.0]],[[0.0]],[[3.0]],[[0.0]],[[4.0]]], [[[0.0]],[[5.0]],[[6.0]],[[0.0]],[[7.0]],[[0.0]],[[0.0]],[[8.0]]]]> : tensor<4x8x1x1xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%init : tensor<?x4x6x7xf32>) -> tensor<?x4x6x7xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<?x8x6x7xf32>, tensor<4x8x1x1xf32>) outs(%f : tensor<?x4x6x7xf32>) -> tensor<?x4x6x7xf32>
  return %y : tensor<?x4x6x7xf32>
}

// -----

// CHECK-LABEL: @conv_nhwc
// CHECK: %[[X:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1, 2], [3]] : tensor<2x6x7x8xf32> into tensor<84x8xf32>
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>) activations(%[[X]] : tensor<84x8xf32>) {{.*}} layout(token_major) pattern(<nm = 2:4 along rows, density = 0.5>)
func.func @conv_nhwc(%x: tensor<2x6x7x8xf32>) -> tensor<2x6x7x4xf32> {
  %w = arith.constant dense<[[[[1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 5.0], [0.0, 5.0, 2.0, 6.0], [0.0, 6.0, 0.0, 0.0],
                             [3.0, 0.0, 0.0, 7.0], [4.0, 0.0, 3.0, 0.0], [0.0, 7.0, 0.0, 0.0], [0.0, 8.0, 4.0, 8.0]]]]> : tensor<1x1x8x4xf32>
  %zero = arith.constant dense<0.0> : tensor<2x6x7x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x6x7x8xf32>, tensor<1x1x8x4xf32>) outs(%zero : tensor<2x6x7x4xf32>) -> tensor<2x6x7x4xf32>
  return %y : tensor<2x6x7x4xf32>
}

// -----

// Any function-like operation will do.
// CHECK-LABEL: ml_program.subgraph @subgraph
// CHECK: sparsepattern.spmm weight(%{{.*}} : tensor<4x8xf32>)
ml_program.global private @w(dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>) : tensor<4x8xf32>
ml_program.subgraph @subgraph(%x: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %w = ml_program.global_load_const @w : tensor<4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<4x2xf32>
  %y = linalg.matmul ins(%w, %x : tensor<4x8xf32>, tensor<8x2xf32>) outs(%zero : tensor<4x2xf32>) -> tensor<4x2xf32>
  ml_program.output %y : tensor<4x2xf32>
}
