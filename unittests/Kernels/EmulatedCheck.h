//===- EmulatedCheck.h - One kernel through the checker ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_KERNELS_EMULATEDCHECK_H
#define SPARSEDITTO_UNITTESTS_KERNELS_EMULATEDCHECK_H

#include "sparseditto/Emulator/GuardedBuffer.h"
#include "sparseditto/Kernels/Family.h"
#include "sparseditto/Verify/Checker.h"

namespace sparseditto::test {

/// Packs `weight`, builds one kernel, compiles it for the emulator and runs it
/// under the checker. An error if one of these steps fails; a kernel that is
/// wrong is a result. Seconds spent until the first launch go to
/// `buildSeconds`.
llvm::Expected<CheckResult>
checkOnEmulator(const KernelFamily &family, const Matrix &weight,
                const Problem &problem, const Strategy &strategy,
                const CheckOptions &options, unsigned computeCapability = 90,
                GuardedBufferOptions::Side side = GuardedBufferOptions::End,
                double *buildSeconds = nullptr);

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_KERNELS_EMULATEDCHECK_H
