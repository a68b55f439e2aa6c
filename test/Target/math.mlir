// RUN: sd-opt %s --pass-pipeline='builtin.module(gpu.module(convert-sparsepattern-kernel-to-nvvm))' | FileCheck %s --implicit-check-not=__nv_

// Math functions become instructions that NVPTX has, never libdevice calls. f16
// and bf16 are computed in f32.

gpu.module @m {
  // CHECK-LABEL: llvm.func @exp
  gpu.func @exp(%p: !llvm.ptr<1>, %x: f32) kernel {
    // The rounding error of x * log2(e) is carried to the result.
    // CHECK: %[[T:.*]] = llvm.fmul %[[X:.*]], %{{.*}} : f32
    // CHECK: llvm.intr.fma(%[[X]]
    // CHECK: llvm.intr.exp2(%[[T]]) : (f32) -> f32
    %y = math.exp %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @half
  gpu.func @half(%p: !llvm.ptr<1>, %x: vector<2xbf16>) kernel {
    // CHECK: llvm.fpext %{{.*}} : vector<2xbf16> to vector<2xf32>
    // CHECK: llvm.intr.exp2(%{{.*}}) : (vector<2xf32>) -> vector<2xf32>
    // CHECK: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xbf16>
    %y = math.exp %x : vector<2xbf16>
    llvm.store %y, %p : vector<2xbf16>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @approximated
  gpu.func @approximated(%p: !llvm.ptr<1>, %x: f32) kernel {
    // CHECK-NOT: llvm.intr.tanh
    // CHECK-NOT: llvm.call
    // CHECK: llvm.intr.sqrt
    // CHECK: llvm.fdiv
    %a = math.tanh %x : f32
    %b = math.erf %a : f32
    %c = math.rsqrt %b : f32
    llvm.store %c, %p : f32, !llvm.ptr<1>
    // CHECK: llvm.return
    gpu.return
  }
}
