//===- ProcessWatch.h - What a running program uses -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_SUPPORT_PROCESSWATCH_H
#define SPARSEDITTO_LIB_SUPPORT_PROCESSWATCH_H

#include "sparseditto/Support/Process.h"
#include <sys/types.h>

namespace sparseditto {

/// Which limit the running program `pid`, which has written `output` bytes,
/// exceeds; empty if none. It must not have been waited for yet.
std::string exceededLimit(pid_t pid, const ProcessLimits &limits,
                          uint64_t output);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_SUPPORT_PROCESSWATCH_H
