// RUN: sd-opt %s --convert-linalg-to-sparsepattern --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#features = affine_map<(d0, d1) -> (d1)>

// Bias and relu in one operation, as torch exports them; the sizes are asked of
// the product.
// CHECK-LABEL: @bias_relu
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<2xf32>
// CHECK: sparsepattern.spmm {{.*}} activations(%[[X]] : tensor<?x4xf32>) bias(%[[B]] : tensor<2xf32>) outs({{.*}}) layout(token_major) activation(relu)
// CHECK-NOT: linalg
func.func @bias_relu(%x: tensor<?x4xf32>, %b: tensor<2xf32>, %n: index) -> tensor<?x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 4.0]]> : tensor<2x4xf32>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %e = tensor.empty(%n) : tensor<?x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<?x4xf32>, tensor<2x4xf32>) outs(%f : tensor<?x2xf32>) -> tensor<?x2xf32>
  %d = tensor.dim %y, %c0 : tensor<?x2xf32>
  %e2 = tensor.empty(%d) : tensor<?x2xf32>
  %r = linalg.generic {indexing_maps = [#id, #features, #id], iterator_types = ["parallel", "parallel"]}
    ins(%y, %b : tensor<?x2xf32>, tensor<2xf32>) outs(%e2 : tensor<?x2xf32>) {
  ^bb0(%a: f32, %bias: f32, %o: f32):
    %0 = arith.addf %a, %bias : f32
    %1 = arith.cmpf ugt, %0, %zero : f32
    %2 = arith.select %1, %0, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}

// -----

// Named operations: a broadcast bias, then maximum with a filled zero; a constant
// f16 bias becomes f32 at compile time.
// CHECK-LABEL: @named
// CHECK-DAG: %[[B:.*]] = arith.constant dense<[5.000000e-01, -1.000000e+00]> : tensor<2xf32>
// CHECK: sparsepattern.spmm {{.*}} bias(%[[B]] : tensor<2xf32>) {{.*}} layout(feature_major) activation(relu)
// CHECK-NOT: linalg
func.func @named(%x: tensor<4x3xf16>) -> tensor<2x3xf16> {
  %w = arith.constant dense<[[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 4.0]]> : tensor<2x4xf16>
  %b = arith.constant dense<[0.5, -1.0]> : tensor<2xf16>
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x3xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x3xf16>) -> tensor<2x3xf16>
  %y = linalg.matmul ins(%w, %x : tensor<2x4xf16>, tensor<4x3xf16>) outs(%f : tensor<2x3xf16>) -> tensor<2x3xf16>
  %bb = linalg.broadcast ins(%b : tensor<2xf16>) outs(%e : tensor<2x3xf16>) dimensions = [1]
  %s = linalg.add ins(%y, %bb : tensor<2x3xf16>, tensor<2x3xf16>) outs(%e : tensor<2x3xf16>) -> tensor<2x3xf16>
  %r = linalg.max ins(%s, %f : tensor<2x3xf16>, tensor<2x3xf16>) outs(%e : tensor<2x3xf16>) -> tensor<2x3xf16>
  return %r : tensor<2x3xf16>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// gelu in one operation on a product accumulated in f32, then a conversion.
// CHECK-LABEL: @gelu_cast
// CHECK: sparsepattern.spmm {{.*}} outs(%{{.*}} : tensor<3x2xf16>) layout(token_major) activation(gelu) pattern({{.*}}) -> tensor<3x2xf16>
// CHECK-NOT: linalg
func.func @gelu_cast(%x: tensor<3x4xf16>) -> tensor<3x2xf16> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 4.0]]> : tensor<4x2xf16>
  %zero = arith.constant dense<0.0> : tensor<3x2xf32>
  %root2 = arith.constant 1.41421354 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<3x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<3x4xf16>, tensor<4x2xf16>) outs(%zero : tensor<3x2xf32>) -> tensor<3x2xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%y : tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.divf %a, %root2 : f32
    %1 = math.erf %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %2, %half : f32
    %4 = arith.mulf %a, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<3x2xf32>
  %eh = tensor.empty() : tensor<3x2xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%g : tensor<3x2xf32>) outs(%eh : tensor<3x2xf16>) {
  ^bb0(%a: f32, %o: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<3x2xf16>
  return %r : tensor<3x2xf16>
}

// -----

// silu and a residual, one named operation a step.
// CHECK-LABEL: @silu_residual
// CHECK-SAME: %{{.*}}: tensor<3x4xf32>, %[[R:.*]]: tensor<3x2xf32>
// CHECK: sparsepattern.spmm {{.*}} residual(%[[R]] : tensor<3x2xf32>) {{.*}} activation(silu)
// CHECK-NOT: linalg
func.func @silu_residual(%x: tensor<3x4xf32>, %residual: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 4.0]]> : tensor<4x2xf32>
  %zero = arith.constant dense<0.0> : tensor<3x2xf32>
  %one = arith.constant dense<1.0> : tensor<3x2xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<3x4xf32>, tensor<4x2xf32>) outs(%zero : tensor<3x2xf32>) -> tensor<3x2xf32>
  %n = linalg.negf ins(%y : tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %p = linalg.exp ins(%n : tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %d = linalg.add ins(%p, %one : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %s = linalg.div ins(%one, %d : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %m = linalg.mul ins(%s, %y : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %r = linalg.add ins(%residual, %m : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// -----

#out = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c)>

// A convolution with a bias a channel.
// CHECK-LABEL: @conv_bias
// CHECK: sparsepattern.spmm {{.*}} bias(%{{.*}} : tensor<2xf32>) outs(%{{.*}} : tensor<2x9xf32>) layout(feature_major)
// CHECK-NOT: linalg
func.func @conv_bias(%x: tensor<1x4x3x3xf32>, %b: tensor<2xf32>) -> tensor<1x2x3x3xf32> {
  %w = arith.constant dense<[[[[1.0]], [[0.0]], [[2.0]], [[0.0]]], [[[0.0]], [[3.0]], [[0.0]], [[4.0]]]]> : tensor<2x4x1x1xf32>
  %e = tensor.empty() : tensor<1x2x3x3xf32>
  // The bias is spread before the convolution adds to it.
  %i = linalg.generic {indexing_maps = [#channel, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%b : tensor<2xf32>) outs(%e : tensor<1x2x3x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x2x3x3xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) outs(%i : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}

// -----

// A product that accumulates into something else adds it as a residual, and what
// follows stays outside.
// CHECK-LABEL: @accumulate
// CHECK-SAME: %{{.*}}: tensor<3x4xf32>, %[[C:.*]]: tensor<3x2xf32>)
// CHECK: %[[Y:.*]] = sparsepattern.spmm {{.*}} residual(%[[C]] : tensor<3x2xf32>)
// CHECK: linalg.max ins(%[[Y]]
func.func @accumulate(%x: tensor<3x4xf32>, %c: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 4.0]]> : tensor<4x2xf32>
  %zero = arith.constant dense<0.0> : tensor<3x2xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<3x4xf32>, tensor<4x2xf32>) outs(%c : tensor<3x2xf32>) -> tensor<3x2xf32>
  %r = linalg.max ins(%y, %zero : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// -----

// The sum is used twice: relu must not swallow it, the bias may.
// CHECK-LABEL: @used_twice
// CHECK: %[[Y:.*]] = sparsepattern.spmm {{.*}} bias(
// CHECK-NOT: activation
// CHECK: %[[R:.*]] = linalg.max ins(%[[Y]]
// CHECK: return %[[Y]], %[[R]]
func.func @used_twice(%x: tensor<3x4xf32>, %b: tensor<2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 4.0]]> : tensor<4x2xf32>
  %zero = arith.constant dense<0.0> : tensor<3x2xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<3x4xf32>, tensor<4x2xf32>) outs(%zero : tensor<3x2xf32>) -> tensor<3x2xf32>
  %bb = linalg.broadcast ins(%b : tensor<2xf32>) outs(%e : tensor<3x2xf32>) dimensions = [0]
  %s = linalg.add ins(%y, %bb : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %r = linalg.max ins(%s, %zero : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %s, %r : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// x * 0.5 * (1 + erf(x)) is not gelu, and min is not relu.
// CHECK-LABEL: @not_activations
// CHECK-COUNT-1: sparsepattern.spmm
// CHECK-NOT: activation(
// CHECK: linalg.min
func.func @not_activations(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 4.0]]> : tensor<4x2xf32>
  %zero = arith.constant dense<0.0> : tensor<3x2xf32>
  %one = arith.constant dense<1.0> : tensor<3x2xf32>
  %half = arith.constant dense<0.5> : tensor<3x2xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<3x4xf32>, tensor<4x2xf32>) outs(%zero : tensor<3x2xf32>) -> tensor<3x2xf32>
  %0 = linalg.erf ins(%y : tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %1 = linalg.add ins(%0, %one : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = linalg.mul ins(%y, %half : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = linalg.mul ins(%1, %2 : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = linalg.min ins(%3, %zero : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %4 : tensor<3x2xf32>
}

// -----

#id = affine_map<(b, s, m) -> (b, s, m)>
#features = affine_map<(b, s, m) -> (m)>

// The tokens are flattened for the product and restored before the bias.
// CHECK-LABEL: @behind_reshape
// CHECK-SAME: %[[X:.*]]: tensor<?x3x4xf32>, %[[B:.*]]: tensor<2xf32>, %[[R:.*]]: tensor<?x3x2xf32>
// CHECK: %[[R2:.*]] = tensor.collapse_shape %[[R]] {{\[\[}}0, 1], [2]] : tensor<?x3x2xf32> into tensor<?x2xf32>
// CHECK: %[[Y:.*]] = sparsepattern.spmm {{.*}} bias(%[[B]] : tensor<2xf32>) residual(%[[R2]] : tensor<?x2xf32>) {{.*}} activation(relu)
// CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [%{{.*}}, 3, 2] : tensor<?x2xf32> into tensor<?x3x2xf32>
// CHECK-NOT: linalg
func.func @behind_reshape(%x: tensor<?x3x4xf32>, %b: tensor<2xf32>, %residual: tensor<?x3x2xf32>) -> tensor<?x3x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 4.0]]> : tensor<2x4xf32>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x4xf32>
  %tokens = arith.muli %n, %c3 : index
  %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x3x4xf32> into tensor<?x4xf32>
  %e = tensor.empty(%tokens) : tensor<?x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%c, %w : tensor<?x4xf32>, tensor<2x4xf32>) outs(%f : tensor<?x2xf32>) -> tensor<?x2xf32>
  %y3 = tensor.expand_shape %y [[0, 1], [2]] output_shape [%n, 3, 2] : tensor<?x2xf32> into tensor<?x3x2xf32>
  %e3 = tensor.empty(%n) : tensor<?x3x2xf32>
  %r = linalg.generic {indexing_maps = [#id, #features, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%y3, %b, %residual : tensor<?x3x2xf32>, tensor<2xf32>, tensor<?x3x2xf32>) outs(%e3 : tensor<?x3x2xf32>) {
  ^bb0(%a: f32, %bias: f32, %res: f32, %o: f32):
    %0 = arith.addf %a, %bias : f32
    %1 = arith.maximumf %0, %zero : f32
    %2 = arith.addf %1, %res : f32
    linalg.yield %2 : f32
  } -> tensor<?x3x2xf32>
  return %r : tensor<?x3x2xf32>
}
