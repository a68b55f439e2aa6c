// RUN: sd-opt %s --sparsepattern-convert-encoding=to=sparse_tensor --split-input-file --verify-diagnostics
// RUN: sd-opt %s --sparsepattern-convert-encoding=to=sparse_tensor --split-input-file 2>/dev/null | FileCheck %s

// expected-remark@below {{sparse_tensor has no storage for banded}}
module {
  // CHECK: tensor<8x8xf32, #sparsepattern.encoding<banded = 1:2>>
  func.func private @f(tensor<8x8xf32, #sparsepattern.encoding<banded = 1:2>>)
}

// -----

// expected-remark@below {{sparse_tensor has no storage for a sum of patterns}}
module {
  func.func private @f(tensor<8x8xf32, #sparsepattern.encoding<hybrid = [0.5 : <nm = 2:4>, 0.5 : <unstructured>]>>)
}

// -----

// expected-remark@below {{sparse_tensor holds at most 255 in n:m}}
module {
  func.func private @f(tensor<8x512xf32, #sparsepattern.encoding<nm = 2:512>>)
}

// -----

// expected-remark@below {{sparse_tensor has no storage for missing rows and columns}}
module {
  func.func private @f(tensor<8x8xf32, #sparsepattern.encoding<channel = both, kept = 0.25>>)
}
