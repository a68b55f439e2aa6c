// RUN: sd-opt %s --sparse-analyze="report=- target=sm_90a" -o %t | FileCheck %s --check-prefix=JSON
// RUN: FileCheck %s < %t

// JSON: "matrix_name": "global"
// JSON: "matrix_name": "inline_weight"
// JSON: "matrix_name": "blob"

// CHECK: ml_program.global private @global
// CHECK-SAME: sparsepattern.encoding = #sparsepattern.encoding<channel = cols, kept = 0.5, density = 0.5>
ml_program.global private @global(dense<[[1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0]]> : tensor<8x8xf32>) : tensor<8x8xf32>

// CHECK-LABEL: @constants
func.func @constants() {
  // CHECK: arith.constant {sparsepattern.encoding = #sparsepattern.encoding<nm = 2:4 along rows, density = 0.5>} dense<
  %0 = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0],
                             [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0], [0.0, 5.0, 6.0, 0.0, 7.0, 0.0, 0.0, 8.0]]> : tensor<4x8xf16> loc("inline_weight")
  // A resource of f32 with one element in sixteen that is not zero.
  // CHECK: arith.constant {sparsepattern.encoding = #sparsepattern.encoding<{{.*}}density = 0.0625>} dense_resource<blob>
  %1 = arith.constant dense_resource<blob> : tensor<4x4xf32>
  // Splats, vectors and integers of odd widths are no weights.
  // CHECK-NOT: sparsepattern.encoding
  %2 = arith.constant dense<0.0> : tensor<4x4xf32>
  %3 = arith.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %4 = arith.constant dense<[[true, false], [false, false]]> : tensor<2x2xi1>
  return
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    }
  }
#-}
