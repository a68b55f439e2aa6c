// RUN: sd-opt %s --sparse-agent-lower="target=sm_90a family=csr" -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=TABLE < %t.err
// RUN: sd-opt %s --sparse-agent-lower="target=sm_90a family=csr n=4,32 decide-only" -o %t.planned.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=PLAN < %t.planned.mlir
// RUN: FileCheck %s --check-prefix=RANGES < %t.err
// RUN: sd-opt %t.planned.mlir --sparse-to-ptx="chips=sm_80 host-to-llvm=false" 2>/dev/null | FileCheck %s --check-prefix=PTX
// RUN: sd-opt %s --sparse-agent-lower="agent=random:7 target=sm_90a family=csr decide-only iterations=3" -o %t.a.mlir 2>/dev/null
// RUN: sd-opt %s --sparse-agent-lower="agent=random:7 target=sm_90a family=csr decide-only iterations=3" -o %t.b.mlir 2>/dev/null
// RUN: diff %t.a.mlir %t.b.mlir
// RUN: not sd-opt %s --sparse-agent-lower=target=sm_42 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not sd-opt %s --sparse-agent-lower=agent=oracle 2>&1 | FileCheck %s --check-prefix=AGENT
// RUN: not sd-opt %s --sparse-agent-lower=n=0 2>&1 | FileCheck %s --check-prefix=N

// CHECK: module attributes {gpu.container_module}
// CHECK-LABEL: func.func @linear(
// CHECK-SAME: memref<?x8xf16>
// CHECK: gpu.launch_func @sparsepattern_csr_4x8_0_module::@sparsepattern_csr_4x8_0
// CHECK-NOT: linalg
// CHECK: return
// CHECK: gpu.binary @sparsepattern_csr_4x8_0_module
// CHECK: func.func @sparsepattern_init()

// TABLE: agent heuristic, sm_90a: choices
// TABLE-NEXT: weight {{ *}}at {{ *}}shape {{ *}}pattern {{ *}}density {{ *}}N {{ *}}choice {{ *}}us {{ *}}dense us {{ *}}ptxas {{ *}}why
// TABLE-NEXT: - {{.*}}sparse-agent-lower.mlir:{{[0-9]+}}:8 {{ *}}4x8 {{ *}}nm 2:4 {{ *}}0.500 {{ *}}{{[0-9a-z]+}}{{.*}} csr{

// PLAN: sparsepattern.spmm {{.*}} pattern(<nm = 2:4 along rows, density = 0.5>) plan [{{.*}}else : <csr, {
// RANGES: 4x8{{.*}}csr{

// PTX: gpu.binary {{.*}}chip = "sm_80"

// CHIP: unknown chip 'sm_42'
// AGENT: oracle
// N: numbers of tokens must be from 1 to 2147483647, got 0

func.func @linear(%x: tensor<?x8xf16>, %b: tensor<4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf16>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%y : tensor<?x4xf32>) -> tensor<?x4xf32>
  %p = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<?x8xf16>, tensor<4x8xf16>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    ins(%p, %b : tensor<?x4xf32>, tensor<4xf32>) outs(%y : tensor<?x4xf32>) {
  ^bb0(%a: f32, %bias: f32, %o: f32):
    %0 = arith.addf %a, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}
