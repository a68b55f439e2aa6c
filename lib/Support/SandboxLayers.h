//===- SandboxLayers.h - The mechanisms of the sandbox ----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_SUPPORT_SANDBOXLAYERS_H
#define SPARSEDITTO_LIB_SUPPORT_SANDBOXLAYERS_H

#include "sparseditto/Support/Sandbox.h"

namespace sparseditto::sandbox {

using Layer = SandboxReport::Layer;

/// `call: strerror(errno)`, in a missing layer.
Layer failed(const char *call);

/// Makes every mount of this mount namespace read-only, but for the job's
/// directory and, for a GPU, a private /dev/shm.
Layer makeMountsReadOnly(const SandboxOptions &options);

/// Landlock: reads everywhere, writes below the job's directory and to the
/// devices of a GPU. `privateShm` says that /dev/shm is the process's own.
Layer restrictFiles(const SandboxOptions &options, bool privateShm);

/// The filter of system calls, with or without that of local sockets.
Layer filterSystemCalls(const SandboxOptions &options, bool localSockets);

} // namespace sparseditto::sandbox

#endif // SPARSEDITTO_LIB_SUPPORT_SANDBOXLAYERS_H
