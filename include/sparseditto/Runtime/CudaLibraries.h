//===- CudaLibraries.h - Where the toolkit's libraries are ------*- C++ -*-===//
//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_CUDALIBRARIES_H
#define SPARSEDITTO_RUNTIME_CUDALIBRARIES_H

#include "sparseditto/Support/SharedLibrary.h"
#include <vector>

namespace sparseditto {

/// Where lib<stem>.so.<major> of the CUDA toolkit may be, most specific first:
/// $CUDA_HOME, $CUDA_PATH, the loader's own search, /usr/local/cuda and the
/// nvidia wheels below Python's package folders. Newest major first.
std::vector<std::string> cudaLibraryNames(llvm::StringRef stem,
                                          llvm::ArrayRef<int> majors);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_CUDALIBRARIES_H
