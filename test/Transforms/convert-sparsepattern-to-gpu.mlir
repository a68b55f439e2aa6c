// RUN: sd-opt %s --sparse-pack --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --convert-sparsepattern-to-gpu=chip=sm_90a -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: sd-opt %t.mlir --sparsepattern-kernel-to-binary=chips=sm_90a | FileCheck %s --check-prefix=PTX

// CHECK: module attributes {gpu.container_module}
// One address a packed buffer, empty until the host uploads.
// CHECK-COUNT-3: _device : memref<1xi64> = uninitialized

// CHECK-LABEL: func.func @dispatch(
// CHECK-SAME: %[[X:.*]]: memref<?x8xf16>, %[[B:.*]]: memref<4xf32>, %[[Y:.*]]: memref<?x4xf16>
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %[[N]]
// CHECK: scf.if %[[SOME]] {
// CHECK: %[[SMALL:.*]] = arith.cmpi ule, %[[N]]
// CHECK: scf.if %[[SMALL]] {
// CHECK: gpu.launch_func @[[$M0:sparsepattern_csr_4x8_0_module]]::@sparsepattern_csr_4x8_0 blocks in ({{.*}}) threads in ({{.*}}) {{.*}}args(%{{.*}} : !llvm.ptr<1>, %{{.*}} : !llvm.ptr<1>, %{{.*}} : !llvm.ptr<1>, %{{.*}} : !llvm.ptr<1>, %{{.*}} : !llvm.ptr<1>, %{{.*}} : i32, %{{.*}} : i32, %{{.*}} : i32)
// CHECK: } else {
// CHECK: gpu.launch_func @sparsepattern_csr_4x8_1_module::@sparsepattern_csr_4x8_1
// CHECK-NOT: sparsepattern.spmm

// The second function shares a kernel of the first.
// CHECK-LABEL: func.func @shares(
// CHECK: gpu.launch_func @[[$M0]]::
// CHECK-NOT: gpu.launch_func

// Memory that the program allocates is shared with the device, and a constant bias
// is uploaded like the weight.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:.*]]: memref<3x8xf16>
// CHECK-NOT: memref.alloc(
// CHECK: %[[Y:.*]] = gpu.alloc host_shared () : memref<3x4xf16>
// CHECK: memref.get_global @{{.*}}4xf32_device
// CHECK: gpu.launch_func
// CHECK: return %[[Y]]

// CHECK: gpu.module @[[$M0]]
// CHECK: gpu.module @sparsepattern_csr_4x8_1_module
// CHECK-NOT: gpu.module
// CHECK-LABEL: func.func @sparsepattern_init()
// CHECK-COUNT-3: gpu.memcpy
// CHECK: return

// PTX: gpu.binary @sparsepattern_csr_4x8_0_module
// PTX-SAME: .visible .entry sparsepattern_csr_4x8_0

func.func @dispatch(%x: tensor<?x8xf16>, %b: tensor<4xf32>, %y: tensor<?x4xf16>) -> tensor<?x4xf16> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf16>
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<?x8xf16>) bias(%b : tensor<4xf32>)
         outs(%y : tensor<?x4xf16>) layout(token_major) activation(relu)
         plan [n <= 1 : <csr, {warps = 8}>, else : <csr, {warps = 32}>] -> tensor<?x4xf16>
  return %0 : tensor<?x4xf16>
}

func.func @shares(%x: tensor<1x8xf16>, %b: tensor<4xf32>, %y: tensor<1x4xf16>) -> tensor<1x4xf16> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf16>
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<1x8xf16>) bias(%b : tensor<4xf32>)
         outs(%y : tensor<1x4xf16>) layout(token_major) activation(relu)
         plan [n <= 1 : <csr, {warps = 8}>, else : <csr, {warps = 32}>] -> tensor<1x4xf16>
  return %0 : tensor<1x4xf16>
}

func.func @chain(%x: tensor<3x8xf16>) -> tensor<3x4xf16> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf16>
  %b = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<3x4xf16>
  %0 = sparsepattern.spmm weight(%w : tensor<4x8xf16>) activations(%x : tensor<3x8xf16>) bias(%b : tensor<4xf32>)
         outs(%e : tensor<3x4xf16>) layout(token_major) activation(relu)
         plan [else : <csr, {warps = 8}>] -> tensor<3x4xf16>
  return %0 : tensor<3x4xf16>
}
