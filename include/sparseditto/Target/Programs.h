//===- Programs.h - The programs of a CUDA toolkit --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_PROGRAMS_H
#define SPARSEDITTO_TARGET_PROGRAMS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace sparseditto {

/// True for an executable file.
bool isProgram(llvm::StringRef path);

/// $CUDA_HOME/bin, $CUDA_PATH/bin, $CUDA_ROOT/bin, PATH, /usr/local/cuda/bin.
/// Empty if none has the program.
std::string findToolkitProgram(llvm::StringRef name);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_PROGRAMS_H
