// RUN: sd-opt %s --sparse-to-ptx=host-to-llvm=false 2>/dev/null | FileCheck %s
// RUN: sd-opt %s --sparse-to-ptx 2>/dev/null | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LL

// The host computes for few tokens, a kernel for many, and the second product may read
// either's result: all of it lies in shared memory, and is freed as such.

// CHECK-LABEL: func.func @mixed
// CHECK-NOT: memref.alloc
// CHECK: scf.if %{{.*}} -> (memref<?x4xf16>)
// CHECK: linalg.matmul
// CHECK: gpu.alloc host_shared
// CHECK: } else {
// CHECK: gpu.alloc host_shared
// CHECK: gpu.launch_func
// CHECK: scf.yield
// CHECK: linalg.matmul
// CHECK: gpu.launch_func
// CHECK: gpu.dealloc
// CHECK-NOT: memref.dealloc
// CHECK: gpu.binary

// LL-NOT: @malloc(
// LL-NOT: @free(
// LL: define {{.*}}@mixed(
// LL-NOT: call {{.*}}@malloc(
// LL-NOT: call {{.*}}@free(
// LL: call {{.*}}@mgpuMemFree(
// LL: ret

func.func @mixed(%x: tensor<?x4xf16>) -> tensor<?x4xf16> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0], [1.0, 0.0, 2.0, 0.0], [0.0, 5.0, 6.0, 0.0]]> : tensor<4x4xf16>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf16>
  %e = tensor.empty(%n) : tensor<?x4xf16>
  %0 = sparsepattern.spmm weight(%w : tensor<4x4xf16>) activations(%x : tensor<?x4xf16>)
         outs(%e : tensor<?x4xf16>) layout(token_major) plan [n <= 4 : <library>, else : <csr>] -> tensor<?x4xf16>
  %1 = sparsepattern.spmm weight(%w : tensor<4x4xf16>) activations(%0 : tensor<?x4xf16>)
         outs(%e : tensor<?x4xf16>) layout(token_major) plan [n <= 8 : <library>, else : <csr>] -> tensor<?x4xf16>
  return %1 : tensor<?x4xf16>
}
