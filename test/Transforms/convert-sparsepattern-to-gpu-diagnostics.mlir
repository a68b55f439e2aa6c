// RUN: sd-opt %s --convert-sparsepattern-to-gpu --split-input-file --verify-diagnostics
// RUN: not sd-opt %s --convert-sparsepattern-to-gpu=chip=sm_42 2>&1 | FileCheck %s
// CHECK: sm_42

func.func @not_packed(%w: memref<2x2xf32>, %x: memref<1x2xf32>, %y: memref<1x2xf32>) {
  // expected-remark@below {{no kernel launched: it is not packed}}
  sparsepattern.spmm weight(%w : memref<2x2xf32>) activations(%x : memref<1x2xf32>) outs(%y : memref<1x2xf32>) layout(token_major)
  return
}

// -----

func.func @no_plan(%i: memref<32x4xi32>, %q: memref<4x8xi16>, %x: memref<1x8xf16>, %y: memref<1x4xf16>) {
  // expected-remark@below {{no kernel launched: it has no plan}}
  sparsepattern.spmm weight(%i, %q : memref<32x4xi32>, memref<4x8xi16>) activations(%x : memref<1x8xf16>) outs(%y : memref<1x4xf16>) layout(token_major)
    packing(<format = "csr-quad", version = 1, strategy = <csr>, rows = 4, cols = 8, type = f16, buffers = ["items", "quads"]>)
  return
}

// -----

func.func @strided(%i: memref<32x4xi32>, %q: memref<4x8xi16>, %x: memref<1x8xf16, strided<[?, ?]>>, %y: memref<1x4xf16>) {
  // expected-remark@below {{no kernel launched: a matrix has an inner stride that is not known to be 1}}
  sparsepattern.spmm weight(%i, %q : memref<32x4xi32>, memref<4x8xi16>) activations(%x : memref<1x8xf16, strided<[?, ?]>>) outs(%y : memref<1x4xf16>) layout(token_major)
    packing(<format = "csr-quad", version = 1, strategy = <csr>, rows = 4, cols = 8, type = f16, buffers = ["items", "quads"]>) plan [else : <csr>]
  return
}
