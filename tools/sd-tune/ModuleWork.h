//===- ModuleWork.h - A worker that runs a whole module ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TOOLS_SDTUNE_MODULEWORK_H
#define SPARSEDITTO_TOOLS_SDTUNE_MODULEWORK_H

#include "sparseditto/Runtime/Job.h"

namespace sparseditto::tool {

/// Does `job.module` in this process, which host code may take along. Leaves
/// the results' tensors in `directory`. On an error, `fault` says which status
/// it stands for.
llvm::Error runModuleJob(const Job &job, llvm::StringRef directory,
                         JobResult &result, RunStatus &fault);

} // namespace sparseditto::tool

#endif // SPARSEDITTO_TOOLS_SDTUNE_MODULEWORK_H
