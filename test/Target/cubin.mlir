// REQUIRES: ptxas
// RUN: sd-opt %s --sparsepattern-kernel-to-binary="chips=sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_120a format=cubin" 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.err

// CHECK-COUNT-6: bin = "\7FELF
// REMARK: remark: sm_80: empty: {{[0-9]+}} registers, 0 bytes spilled, 0 bytes shared memory
// REMARK: remark: sm_120a: empty: {{[0-9]+}} registers, 0 bytes spilled, 0 bytes shared memory

gpu.module @kernels {
  gpu.func @empty() kernel {
    gpu.return
  }
}
