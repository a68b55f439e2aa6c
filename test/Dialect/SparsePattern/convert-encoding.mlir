// RUN: sd-opt %s --sparsepattern-convert-encoding --verify-diagnostics | FileCheck %s --check-prefix=SPARSE
// RUN: sd-opt %s --sparsepattern-convert-encoding --verify-diagnostics | sd-opt --sparsepattern-convert-encoding=to=sparsepattern 2>/dev/null | FileCheck %s --check-prefix=BACK

// SPARSE-DAG: #[[$NM:.*]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 floordiv 4 : dense, d1 mod 4 : structured[2, 4]) }>
// SPARSE-DAG: #[[$NMC:.*]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 floordiv 8 : dense, d0 mod 8 : structured[1, 8]) }>
// SPARSE-DAG: #[[$BSR:.*]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 floordiv 16 : dense, d1 floordiv 32 : compressed, d0 mod 16 : dense, d1 mod 32 : dense) }>
// SPARSE-DAG: #[[$CSR:.*]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// SPARSE-DAG: #[[$ROWS:.*]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed, d1 : dense) }>
// SPARSE-DAG: #[[$COLS:.*]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : compressed, d0 : dense) }>
// SPARSE: @signature(tensor<64x64xf16, #[[$NM]]>, tensor<64x64xf16, #[[$NMC]]>, tensor<64x64xf16, #[[$BSR]]>, tensor<64x64xf16, #[[$CSR]]>, tensor<64x64xf16, #[[$ROWS]]>, tensor<64x64xf16, #[[$COLS]]>)

// The numbers do not survive; the patterns do.
// BACK: @signature(tensor<64x64xf16, #sparsepattern.encoding<nm = 2:4 along rows>>, tensor<64x64xf16, #sparsepattern.encoding<nm = 1:8 along cols>>, tensor<64x64xf16, #sparsepattern.encoding<block = 16x32>>, tensor<64x64xf16, #sparsepattern.encoding<unstructured>>, tensor<64x64xf16, #sparsepattern.encoding<channel = rows>>, tensor<64x64xf16, #sparsepattern.encoding<channel = cols>>)
func.func private @signature(
  tensor<64x64xf16, #sparsepattern.encoding<nm = 2:4>>,
  tensor<64x64xf16, #sparsepattern.encoding<nm = 1:8 along cols>>,
  tensor<64x64xf16, #sparsepattern.encoding<block = 16x32, kept = 0.5>>,
  tensor<64x64xf16, #sparsepattern.encoding<unstructured>>,
  tensor<64x64xf16, #sparsepattern.encoding<channel = rows>>,
  tensor<64x64xf16, #sparsepattern.encoding<channel = cols>>)

// SPARSE-LABEL: @body
// SPARSE: arith.constant dense<{{.*}}> : tensor<2x4xf32, #[[$NM]]>
// SPARSE: sparsepattern.spmm weight(%{{.*}} : tensor<2x4xf32, #[[$NM]]>)
// BACK-LABEL: @body
// BACK: arith.constant dense<{{.*}}> : tensor<2x4xf32, #sparsepattern.encoding<nm = 2:4 along rows>>
func.func @body(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 3.0]]> : tensor<2x4xf32, #sparsepattern.encoding<nm = 2:4>>
  %e = tensor.empty() : tensor<1x2xf32>
  %0 = sparsepattern.spmm weight(%w : tensor<2x4xf32, #sparsepattern.encoding<nm = 2:4>>)
         activations(%x : tensor<1x4xf32>) outs(%e : tensor<1x2xf32>) layout(token_major) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}
