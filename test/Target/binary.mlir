// RUN: sd-opt %s --sparsepattern-kernel-to-binary=chips=sm_80,sm_90a,sm_120a | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// One object a chip with PTX text: 16-byte loads stay whole, read-only ones go
// through the read-only path, and the parameters keep their alignment.

// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_80", features = "+ptx85">, assembly =
// CHECK: .version 8.5
// CHECK: .target sm_80
// CHECK: .visible .entry scale(
// CHECK-NEXT: .param .u64 .ptr .global .align 16 scale_param_0,
// CHECK-NEXT: .param .u64 .ptr .global .align 16 scale_param_1
// CHECK: .maxntid 64, 1, 1
// CHECK: ld.global.nc.v4.b32
// CHECK: st.global.v4.b32
// CHECK: ret;
// CHECK: chip = "sm_90a", features = "+ptx85"
// CHECK: .target sm_90a
// CHECK: chip = "sm_120a", features = "+ptx88"
// CHECK: .version 8.8
// CHECK: .target sm_120a

gpu.module @kernels {
  gpu.func @scale(%x: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly},
                  %y: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %p = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    %v = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %w = arith.addf %v, %v : vector<4xf32>
    %q = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    llvm.store %w, %q {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}
