// RUN: sd-opt %s --convert-linalg-to-sparsepattern --split-input-file --verify-diagnostics

func.func @long(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense_resource<long> : tensor<2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<1x2xf32>
  // expected-error@below {{resource 'long' has 20 bytes, expected 16 for its type}}
  %y = linalg.matmul ins(%x, %w : tensor<1x2xf32>, tensor<2x2xf32>) outs(%zero : tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

{-#
  dialect_resources: { builtin: { long: "0x040000000000803F00000000000000000000000000000000" } }
#-}
