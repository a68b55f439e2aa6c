// RUN: sd-opt %s --sparsepattern-convert-encoding=to=sparsepattern --split-input-file --verify-diagnostics | FileCheck %s

#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), posWidth = 32, crdWidth = 16 }>
// CHECK-LABEL: @widths
// CHECK-SAME: tensor<8x8xf32, #sparsepattern.encoding<unstructured>>
func.func private @widths(tensor<8x8xf32, #CSR>)

// -----

#COO = #sparse_tensor.encoding<{ map = (i, j) -> (i : compressed(nonunique), j : singleton) }>
// expected-remark@below {{its level map is none of dense, CSR, BSR, n:m or compressed rows or columns}}
module {
  // CHECK-LABEL: @coo
  // CHECK-SAME: tensor<8x8xf32, #sparse{{[0-9]*}}>
  func.func private @coo(tensor<8x8xf32, #COO>)
}

// -----

#Vec = #sparse_tensor.encoding<{ map = (i) -> (i : compressed) }>
// expected-remark@below {{only matrices have a sparsity pattern}}
module {
  func.func private @vector(tensor<8xf32, #Vec>)
}

// -----

#Explicit = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), explicitVal = 1.0 : f32 }>
// expected-remark@below {{an implicit or explicit value is set}}
module {
  func.func private @explicit(tensor<8x8xf32, #Explicit>)
}

// -----

#BSR = #sparse_tensor.encoding<{ map = (i, j) -> (i floordiv 16 : dense, j floordiv 16 : compressed, i mod 16 : dense, j mod 16 : dense) }>
// expected-remark@below {{pattern needs at least 16x16 elements, got 8x8 (C11)}}
// expected-remark@below {{the pattern does not fit the shape}}
module {
  func.func private @small(tensor<8x8xf32, #BSR>)
}

// -----

#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>
// expected-remark@below {{an operation of sparse_tensor uses it}}
module {
  // CHECK-LABEL: @used
  // CHECK: sparse_tensor.convert
  func.func @used(%a: tensor<8x8xf32>) -> tensor<8x8xf32, #CSR> {
    %0 = sparse_tensor.convert %a : tensor<8x8xf32> to tensor<8x8xf32, #CSR>
    return %0 : tensor<8x8xf32, #CSR>
  }
}
