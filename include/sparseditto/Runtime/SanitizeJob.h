//===- SanitizeJob.h - A kernel under compute-sanitizer ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_SANITIZEJOB_H
#define SPARSEDITTO_RUNTIME_SANITIZEJOB_H

#include "sparseditto/Runtime/Job.h"

namespace sparseditto {

/// Does a short version of the job (one N, one layout of the buffers, a few
/// launches, no times) under memcheck and under racecheck of the
/// compute-sanitizer `sanitizer`. Errors found are RunStatus::Sanitizer; the
/// message names the tool and the first error.
JobResult sanitizeJob(llvm::StringRef program, Job job,
                      const JobOptions &options, llvm::StringRef sanitizer);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_SANITIZEJOB_H
