// RUN: sd-opt %s --pass-pipeline='builtin.module(gpu.module(convert-sparsepattern-kernel-to-nvvm))' | FileCheck %s --implicit-check-not=unrealized_conversion_cast

// Shared memory stays a global, arguments keep what is promised about them, and
// the launch bounds arrive as NVVM attributes.

gpu.module @kernels {
  // CHECK: llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x f32>
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x f32>

  // CHECK-LABEL: llvm.func @loop(
  // CHECK-SAME: %[[X:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
  // CHECK-SAME: %[[Y:.*]]: !llvm.ptr<1> {llvm.align = 4 : i64, llvm.noalias}
  // CHECK-SAME: %[[N:.*]]: i32)
  // CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>, nvvm.minctasm = 4 : i32
  gpu.func @loop(%x: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly},
                 %y: !llvm.ptr<1> {llvm.align = 4 : i64, llvm.noalias}, %n: i32) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, nvvm.minctasm = 4 : i32} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    // CHECK: nvvm.read.ptx.sreg.tid.x
    %tid = gpu.thread_id x
    %t = arith.index_cast %tid : index to i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    // i32 induction variables stay 32 bits wide.
    // CHECK: llvm.br ^[[HEAD:.*]](%{{.*}}, %{{.*}} : i32, f32)
    // CHECK: ^[[HEAD]](%[[I:.*]]: i32, %[[ACC:.*]]: f32):
    // CHECK: llvm.icmp "slt" %[[I]], %[[N]] : i32
    // CHECK: llvm.intr.fma
    // CHECK: llvm.br ^[[HEAD]]
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> f32 : i32 {
      %p = llvm.getelementptr %tile[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %v = llvm.load %p : !llvm.ptr<3> -> f32
      %f = math.fma %v, %v, %acc : f32
      scf.yield %f : f32
    }
    // CHECK: nvvm.barrier0
    gpu.barrier
    // CHECK: nvvm.shfl.sync bfly
    %s, %valid = gpu.shuffle xor %sum, %c1, %c1 : f32
    %inside = arith.cmpi slt, %t, %n : i32
    scf.if %inside {
      %o = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %s, %o : f32, !llvm.ptr<1>
    }
    // CHECK: llvm.return
    gpu.return
  }
}

// Small vectors, also of rank 2, become LLVM vectors; the alignment given to a
// load survives.

gpu.module @vectors {
  // CHECK-LABEL: llvm.func @vectors
  gpu.func @vectors(%x: memref<f16, 1> {llvm.align = 16 : i64}, %y: memref<64x8xf32, 1>) kernel {
    %c0 = arith.constant 0 : index
    %n = arith.constant 4096 : index
    %c8 = arith.constant 8 : index
    %i = gpu.thread_id x
    %m = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 8], strides: [8, 1] : memref<f16, 1> to memref<?x8xf16, strided<[8, 1]>, 1>
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
    %v = vector.load %m[%i, %c0] {alignment = 16} : memref<?x8xf16, strided<[8, 1]>, 1>, vector<8xf16>
    // CHECK: llvm.fpext %{{.*}} : vector<8xf16> to vector<8xf32>
    %w = arith.extf %v : vector<8xf16> to vector<8xf32>
    %b = vector.shape_cast %w : vector<8xf32> to vector<2x4xf32>
    // CHECK-COUNT-2: llvm.intr.fmuladd(%{{.*}}) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %f = vector.fma %b, %b, %b : vector<2x4xf32>
    %g = vector.shape_cast %f : vector<2x4xf32> to vector<8xf32>
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<8xf32>, !llvm.ptr<1>
    vector.store %g, %y[%i, %c0] {alignment = 16} : memref<64x8xf32, 1>, vector<8xf32>
    gpu.return
  }
}

// nvgpu handles: asynchronous copies, and memory barriers in a global.

gpu.module @handles {
  memref.global "private" @buffer : memref<16x64xf16, 3> {alignment = 128 : i64}
  // CHECK-LABEL: llvm.func @handles
  gpu.func @handles(%x: memref<64x64xf16, 1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = memref.get_global @buffer : memref<16x64xf16, 3>
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
    %t = nvgpu.device_async_copy %x[%c0, %c0], %s[%c0, %c0], 8 {bypassL1} : memref<64x64xf16, 1> to memref<16x64xf16, 3>
    // CHECK: nvvm.cp.async.commit.group
    %g = nvgpu.device_async_create_group %t
    // CHECK: nvvm.cp.async.wait.group 0
    nvgpu.device_async_wait %g {numGroups = 0 : i32}
    // CHECK: nvvm.ldmatrix
    %m = nvgpu.ldmatrix %s[%c0, %c0] {numTiles = 4 : i32, transpose = true} : memref<16x64xf16, 3> -> vector<4x2xf16>
    %v = vector.extract %m[0] : vector<2xf16> from vector<4x2xf16>
    vector.store %v, %x[%c0, %c0] : memref<64x64xf16, 1>, vector<2xf16>
    %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = 3 : i32>
    // CHECK: nvvm.mbarrier.init
    nvgpu.mbarrier.init %b[%c0], %c1 : !nvgpu.mbarrier.group<memorySpace = 3 : i32>
    gpu.return
  }
}

// A tensor map passed by value: both attributes are needed, and gpu.func may not
// carry the second one.

gpu.module @by_value {
  // CHECK-LABEL: llvm.func @by_value
  // CHECK-SAME: {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
  gpu.func @by_value(%map: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>}) kernel {
    gpu.return
  }
}
