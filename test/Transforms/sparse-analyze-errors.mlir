// RUN: sd-opt %s --sparse-analyze --split-input-file --verify-diagnostics

func.func @short() {
  // expected-error@below {{resource 'short' has 8 bytes, expected 16 for its type}}
  %0 = arith.constant dense_resource<short> : tensor<2x2xf32>
  return
}

{-#
  dialect_resources: { builtin: { short: "0x040000000000803F00000000" } }
#-}

// -----

func.func @missing() {
  // expected-error@below {{resource 'missing' has no data}}
  %0 = arith.constant dense_resource<missing> : tensor<2x2xf32>
  return
}

// -----

// expected-error@below {{no-such-file.safetensors}}
func.func @file(%w: tensor<2x2xf32> {sparsepattern.source = "no-such-file.safetensors#w"}) {
  return
}

// -----

// expected-error@below {{argument 0 with a source must be a tensor of rank 2 or more, got 'f32'}}
func.func @scalar(%w: f32 {sparsepattern.source = "no-such-file.safetensors#w"}) {
  return
}
