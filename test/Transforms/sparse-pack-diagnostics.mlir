// RUN: sd-opt %s --sparse-pack --split-input-file --verify-diagnostics

func.func @not_constant(%w: tensor<2x2xf32>, %x: tensor<1x2xf32>, %y: tensor<1x2xf32>) -> tensor<1x2xf32> {
  // expected-remark@below {{not packed: the weight is not a constant}}
  %0 = sparsepattern.spmm weight(%w : tensor<2x2xf32>) activations(%x : tensor<1x2xf32>) outs(%y : tensor<1x2xf32>) layout(token_major) plan [else : <csr>] -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

func.func @resource(%x: tensor<1x2xf32>, %y: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense_resource<missing> : tensor<2x2xf32>
  // expected-error@below {{resource 'missing' has no data}}
  %0 = sparsepattern.spmm weight(%w : tensor<2x2xf32>) activations(%x : tensor<1x2xf32>) outs(%y : tensor<1x2xf32>) layout(token_major) plan [else : <csr>] -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

func.func @pack_other_format() -> tensor<4xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
  // expected-error@below {{packing the weight gives #sparsepattern.packing<format = "csr-quad"}}
  %0 = sparsepattern.pack %w as <format = "other", version = 1, strategy = <csr>, rows = 2, cols = 2, type = f32, buffers = ["v"]> : tensor<2x2xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @pack_library() -> tensor<4xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
  // expected-error@below {{family 'library' has no packed format}}
  %0 = sparsepattern.pack %w as <format = "other", version = 1, strategy = <library>, rows = 2, cols = 2, type = f32, buffers = ["v"]> : tensor<2x2xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
