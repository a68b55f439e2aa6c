// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/write-npy.py %t/w.npy 8 "1 0 0 1 1 0 0 1 2 0 0 1 1 0 0 1 3 0 0 1 1 0 0 1 4 0 0 1 1 0 0 1 5 0 0 1 1 0 0 1 6 0 0 1 1 0 0 1 7 0 0 1 1 0 0 1 8 0 0 1 1 0 0 1"
// RUN: sd-opt %s --sparse-analyze=base-dir=%t | FileCheck %s --check-prefix=ANALYZE
// RUN: sd-opt %s --convert-linalg-to-sparsepattern=base-dir=%t | FileCheck %s --check-prefix=CONVERT
// RUN: %python %S/Inputs/write-npy.py %t/w.npy 2 "1 0 0 2 3 0 0 4 5 0 0 6 7 0 0 8"
// RUN: not sd-opt %s --sparse-analyze=base-dir=%t 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not sd-opt %s --sparse-analyze=base-dir=%t/none 2>&1 | FileCheck %s --check-prefix=MISSING

// ANALYZE: sparsepattern.encoding = #sparsepattern.encoding<channel = cols, kept = 0.5, density = 0.5>
// ANALYZE-SAME: sparsepattern.source = "w.npy"

// The weight on the right: transposed from the file into a resource.
// CONVERT: %[[W:.*]] = arith.constant dense_resource<w.npy.transposed> : tensor<8x8xf32>
// CONVERT: sparsepattern.spmm weight(%[[W]] : tensor<8x8xf32>) {{.*}} pattern(<channel = rows, kept = 0.5, density = 0.5>)
// CONVERT: "0x040000000000803F0000004000004040000080400000A040

// SHAPE: argument 0: {{.*}}w.npy: tensor 'w' is 2x8xf32, but the argument is 8x8xf32
// MISSING: argument 0: {{.*}}none{{.*}}w.npy
func.func @f(%w: tensor<8x8xf32> {sparsepattern.source = "w.npy"}, %x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x8xf32>, tensor<8x8xf32>) outs(%zero : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
