//===- ProfileJob.h - A worker under Nsight Compute -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_PROFILEJOB_H
#define SPARSEDITTO_RUNTIME_PROFILEJOB_H

#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/NcuReport.h"

namespace sparseditto {

/// Does a short version of the job (its first N, one layout of the buffers, no
/// times) under ncu, and reads the counters of the first launch, cold. For
/// kernels that were verified before: the worker is without some layers of its
/// sandbox, as under compute-sanitizer. An error if ncu is missing or fails,
/// with what it said; the commonest is that the user may not read counters.
llvm::Expected<NcuKernel> profileJob(llvm::StringRef program, Job job,
                                     const JobOptions &options);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_PROFILEJOB_H
