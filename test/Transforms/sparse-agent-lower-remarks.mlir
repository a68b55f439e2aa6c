// RUN: sd-opt %s --sparse-agent-lower=decide-only --verify-diagnostics 2>/dev/null | FileCheck %s

// A plan that is there already stays.
// CHECK-LABEL: @planned
// CHECK: plan [n <= 2 : <library>, else : <csr>]
func.func @planned(%x: tensor<?x2xf32>, %y: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
  %0 = sparsepattern.spmm weight(%w : tensor<2x2xf32>) activations(%x : tensor<?x2xf32>) outs(%y : tensor<?x2xf32>)
         layout(token_major) plan [n <= 2 : <library>, else : <csr>] -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

func.func @not_constant(%w: tensor<2x2xf32>, %x: tensor<?x2xf32>, %y: tensor<?x2xf32>) -> tensor<?x2xf32> {
  // expected-remark@below {{no plan: the weight is not a constant}}
  %0 = sparsepattern.spmm weight(%w : tensor<2x2xf32>) activations(%x : tensor<?x2xf32>) outs(%y : tensor<?x2xf32>)
         layout(token_major) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
