// RUN: sd-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize | FileCheck %s

#packing = #sparsepattern.packing<format = "csr-quad", version = 1, strategy = <csr>, rows = 64, cols = 32, type = f16, buffers = ["values", "columns"]>
#other = #sparsepattern.packing<format = "csr-quad", version = 2, strategy = <csr>, rows = 64, cols = 32, type = f16, buffers = ["values", "columns"]>

// CHECK-LABEL: @unpack_of_pack
// CHECK-SAME: (%[[W:.*]]: tensor
// CHECK-NEXT: return %[[W]]
func.func @unpack_of_pack(%w: tensor<64x32xf16>) -> tensor<64x32xf16> {
  %0:2 = sparsepattern.pack %w as #packing : tensor<64x32xf16> -> tensor<9xf16>, tensor<9xi16>
  %1 = sparsepattern.unpack %0#0, %0#1 as #packing : tensor<9xf16>, tensor<9xi16> -> tensor<64x32xf16>
  return %1 : tensor<64x32xf16>
}

// Another version may lay the bytes out differently.
// CHECK-LABEL: @unpack_of_other_version
// CHECK: sparsepattern.unpack
func.func @unpack_of_other_version(%w: tensor<64x32xf16>) -> tensor<64x32xf16> {
  %0:2 = sparsepattern.pack %w as #packing : tensor<64x32xf16> -> tensor<9xf16>, tensor<9xi16>
  %1 = sparsepattern.unpack %0#0, %0#1 as #other : tensor<9xf16>, tensor<9xi16> -> tensor<64x32xf16>
  return %1 : tensor<64x32xf16>
}

// A product whose result is not used is gone; one on memrefs stays.
// CHECK-LABEL: @dead
// CHECK-NOT: -> tensor<1x4xf16>
// CHECK: sparsepattern.spmm {{.*}} outs(%{{.*}} : memref<1x4xf16>)
func.func @dead(%w: tensor<4x8xf16>, %x: tensor<1x8xf16>, %y: tensor<1x4xf16>,
                %mw: memref<4x8xf16>, %mx: memref<1x8xf16>, %my: memref<1x4xf16>) {
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<1x8xf16>)
         outs(%y : tensor<1x4xf16>) layout(token_major) -> tensor<1x4xf16>
  sparsepattern.spmm weight(%mw : memref<4x8xf16>) activations(%mx : memref<1x8xf16>)
    outs(%my : memref<1x4xf16>) layout(token_major)
  return
}

// The size of the result is that of outs.
// CHECK-LABEL: @reify
// CHECK-SAME: %[[Y:[a-z0-9]*]]: tensor<?x4xf16>)
// CHECK: %[[N:.*]] = tensor.dim %[[Y]]
// CHECK: return %[[N]]
func.func @reify(%w: tensor<4x8xf16>, %x: tensor<?x8xf16>, %y: tensor<?x4xf16>) -> index {
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<?x8xf16>)
         outs(%y : tensor<?x4xf16>) layout(token_major) -> tensor<?x4xf16>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %0, %c0 : tensor<?x4xf16>
  return %n : index
}
