// The same program, run as it is and run after conversion to sparsepattern and
// back: the same numbers. Inputs are small integers; the longest sum is exact.

// DEFINE: %{lower} = --one-shot-bufferize="bufferize-function-boundaries" --convert-linalg-to-loops --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-math-to-llvm --convert-math-to-libm --finalize-memref-to-llvm --convert-arith-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -e main -entry-point-result=void -shared-libs=%llvm-tools/../lib/libmlir_runner_utils.so,%llvm-tools/../lib/libmlir_c_runner_utils.so
// RUN: sd-opt %s %{lower} | %{run} | sed 's/base@ = [^ ]*//' > %t.host
// RUN: sd-opt %s --convert-linalg-to-sparsepattern | FileCheck %s --check-prefix=CONVERTED
// RUN: sd-opt %s --convert-linalg-to-sparsepattern --convert-sparsepattern-to-linalg=all %{lower} | %{run} | sed 's/base@ = [^ ]*//' > %t.sparse
// RUN: diff %t.host %t.sparse
// RUN: FileCheck %s < %t.host

// Seven products, and nothing of linalg behind them but the transpose of one.
// CONVERTED-COUNT-7: sparsepattern.spmm
// CONVERTED-NOT: sparsepattern.spmm

// Row 0 of the weight times the first token, 1*1 + 2*2 + 3*5 + 4*6 = 44, minus the
// bias 40, through gelu.
// CHECK: {{\[\[}}3.99987,

#id = affine_map<(d0, d1) -> (d0, d1)>
#features = affine_map<(d0, d1) -> (d1)>

func.func private @printMemrefF32(tensor<*xf32>)

// 0, 1, 2, ... shifted.
func.func @iota2(%shape: tensor<?x?xf32>, %first: f32) -> tensor<?x?xf32> {
  %c1 = arith.constant 1 : index
  %cols = tensor.dim %shape, %c1 : tensor<?x?xf32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%shape : tensor<?x?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %r = arith.muli %i, %cols : index
    %s = arith.addi %r, %j : index
    %t = arith.index_cast %s : index to i32
    %f = arith.sitofp %t : i32 to f32
    %g = arith.addf %f, %first : f32
    linalg.yield %g : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// x * W + b through gelu, and silu with a residual.
func.func @linear(%x: tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %w = arith.constant dense<[[1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 5.0], [0.0, 5.0, 2.0, 6.0], [0.0, 6.0, 0.0, 0.0],
                             [3.0, 0.0, 0.0, 7.0], [4.0, 0.0, 3.0, 0.0], [0.0, 7.0, 0.0, 0.0], [0.0, 8.0, 4.0, 8.0]]> : tensor<8x4xf32>
  %b = arith.constant dense<[-40.0, -50.0, 1.0, 2.0]> : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %root2 = arith.constant 1.41421354 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %g = linalg.generic {indexing_maps = [#id, #features, #id], iterator_types = ["parallel", "parallel"]}
    ins(%y, %b : tensor<?x4xf32>, tensor<4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %bias: f32, %o: f32):
    %s = arith.addf %a, %bias : f32
    %0 = arith.divf %s, %root2 : f32
    %1 = math.erf %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %2, %half : f32
    %4 = arith.mulf %s, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x4xf32>
  %z = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %sigmoid = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%z : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.divf %one, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x4xf32>
  %silu = linalg.mul ins(%sigmoid, %z : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = linalg.add ins(%silu, %g : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %g, %r : tensor<?x4xf32>, tensor<?x4xf32>
}

// Two images, 1x1 convolution with bias and relu, in both layouts.
func.func @conv(%x: tensor<2x8x1x3xf32>, %b: tensor<4xf32>) -> (tensor<2x4x1x3xf32>, tensor<2x1x3x4xf32>) {
  %w = arith.constant dense<[[[[1.0]],[[2.0]],[[0.0]],[[0.0]],[[-3.0]],[[4.0]],[[0.0]],[[0.0]]], [[[0.0]],[[0.0]],[[5.0]],[[-6.0]],[[0.0]],[[0.0]],[[7.0]],[[-8.0]]],
                             [[[1.0]],[[0.0]],[[-2.0]],[[0.0]],[[0.0]],[[3.0]],[[0.0]],[[-4.0]]], [[[0.0]],[[5.0]],[[6.0]],[[0.0]],[[7.0]],[[0.0]],[[0.0]],[[8.0]]]]> : tensor<4x8x1x1xf32>
  %hwcf = arith.constant dense<[[[[1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 5.0], [0.0, 5.0, 2.0, 6.0], [0.0, 6.0, 0.0, 0.0],
                             [3.0, 0.0, 0.0, 7.0], [4.0, 0.0, 3.0, 0.0], [0.0, 7.0, 0.0, 0.0], [0.0, 8.0, 4.0, 8.0]]]]> : tensor<1x1x8x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x1x3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x1x3xf32>) -> tensor<2x4x1x3xf32>
  %i = linalg.broadcast ins(%b : tensor<4xf32>) outs(%e : tensor<2x4x1x3xf32>) dimensions = [0, 2, 3]
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x8x1x3xf32>, tensor<4x8x1x1xf32>) outs(%i : tensor<2x4x1x3xf32>) -> tensor<2x4x1x3xf32>
  %r = linalg.max ins(%y, %z : tensor<2x4x1x3xf32>, tensor<2x4x1x3xf32>) outs(%e : tensor<2x4x1x3xf32>) -> tensor<2x4x1x3xf32>
  %te = tensor.empty() : tensor<2x1x3x8xf32>
  %t = linalg.transpose ins(%x : tensor<2x8x1x3xf32>) outs(%te : tensor<2x1x3x8xf32>) permutation = [0, 2, 3, 1]
  %e2 = tensor.empty() : tensor<2x1x3x4xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
  %y2 = linalg.conv_2d_nhwc_hwcf ins(%t, %hwcf : tensor<2x1x3x8xf32>, tensor<1x1x8x4xf32>) outs(%z2 : tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
  return %r, %y2 : tensor<2x4x1x3xf32>, tensor<2x1x3x4xf32>
}

// Feature-major, feature-major output of token-major activations, and a vector.
func.func @others(%x: tensor<3x8xf32>, %v: tensor<8xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xf32>) {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<4x3xf32>
  %zerov = arith.constant dense<0.0> : tensor<4xf32>
  %te = tensor.empty() : tensor<8x3xf32>
  %t = linalg.transpose ins(%x : tensor<3x8xf32>) outs(%te : tensor<8x3xf32>) permutation = [1, 0]
  %a = linalg.matmul ins(%w, %t : tensor<4x8xf32>, tensor<8x3xf32>) outs(%zero : tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%w, %x : tensor<4x8xf32>, tensor<3x8xf32>) outs(%a : tensor<4x3xf32>) -> tensor<4x3xf32>
  %c = linalg.matvec ins(%w, %v : tensor<4x8xf32>, tensor<8xf32>) outs(%zerov : tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %c : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xf32>
}

func.func @print2(%t: tensor<?x?xf32>) {
  %u = tensor.cast %t : tensor<?x?xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

func.func @main() {
  %one = arith.constant 1.0 : f32
  %minus = arith.constant -9.0 : f32
  %e = tensor.empty() : tensor<3x8xf32>
  %ed = tensor.cast %e : tensor<3x8xf32> to tensor<?x?xf32>
  %xd = call @iota2(%ed, %one) : (tensor<?x?xf32>, f32) -> tensor<?x?xf32>
  %x = tensor.cast %xd : tensor<?x?xf32> to tensor<3x8xf32>
  %xn = tensor.cast %x : tensor<3x8xf32> to tensor<?x8xf32>
  %g, %r = call @linear(%xn) : (tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %gd = tensor.cast %g : tensor<?x4xf32> to tensor<?x?xf32>
  call @print2(%gd) : (tensor<?x?xf32>) -> ()
  %rd = tensor.cast %r : tensor<?x4xf32> to tensor<?x?xf32>
  call @print2(%rd) : (tensor<?x?xf32>) -> ()

  %ie = tensor.empty() : tensor<16x3xf32>
  %ied = tensor.cast %ie : tensor<16x3xf32> to tensor<?x?xf32>
  %id = call @iota2(%ied, %minus) : (tensor<?x?xf32>, f32) -> tensor<?x?xf32>
  %i = tensor.cast %id : tensor<?x?xf32> to tensor<16x3xf32>
  %image = tensor.expand_shape %i [[0, 1], [2, 3]] output_shape [2, 8, 1, 3] : tensor<16x3xf32> into tensor<2x8x1x3xf32>
  %b = arith.constant dense<[1.0, -2.0, 3.0, -400.0]> : tensor<4xf32>
  %y, %y2 = call @conv(%image, %b) : (tensor<2x8x1x3xf32>, tensor<4xf32>) -> (tensor<2x4x1x3xf32>, tensor<2x1x3x4xf32>)
  %yc = tensor.cast %y : tensor<2x4x1x3xf32> to tensor<*xf32>
  call @printMemrefF32(%yc) : (tensor<*xf32>) -> ()
  %y2c = tensor.cast %y2 : tensor<2x1x3x4xf32> to tensor<*xf32>
  call @printMemrefF32(%y2c) : (tensor<*xf32>) -> ()

  %v = arith.constant dense<[1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0]> : tensor<8xf32>
  %p, %q, %s = call @others(%x, %v) : (tensor<3x8xf32>, tensor<8xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xf32>)
  %pc = tensor.cast %p : tensor<4x3xf32> to tensor<*xf32>
  call @printMemrefF32(%pc) : (tensor<*xf32>) -> ()
  %qc = tensor.cast %q : tensor<4x3xf32> to tensor<*xf32>
  call @printMemrefF32(%qc) : (tensor<*xf32>) -> ()
  %sc = tensor.cast %s : tensor<4xf32> to tensor<*xf32>
  call @printMemrefF32(%sc) : (tensor<*xf32>) -> ()
  return
}
