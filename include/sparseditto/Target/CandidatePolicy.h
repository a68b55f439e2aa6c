//===- CandidatePolicy.h - What a kernel from outside may be ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A candidate is a kernel that somebody else wrote: an agent, or a package of
// unknown origin. These checks read it and refuse what no kernel of ours needs
// and what could outlast a launch, call out, read clocks, hold on to caches, or
// break the launch contract. They are the first line only: what passes still
// runs in a worker, under the checker. See docs/Trust.md.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_CANDIDATEPOLICY_H
#define SPARSEDITTO_TARGET_CANDIDATEPOLICY_H

#include "sparseditto/Kernels/Manifest.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sparseditto {

/// Success if `module`, from a builder or lowered to LLVM and NVVM, holds one
/// gpu.module with nothing but the kernel manifest.symbol and its shared
/// memory: known operations only, no state that outlives a launch, no calls,
/// no addresses made of numbers, the arguments, block and shared memory of the
/// manifest. The error says what and where ("loc: text").
llvm::Error checkCandidateModule(mlir::ModuleOp module,
                                 const KernelManifest &manifest);

/// The same for PTX text: one .entry with the manifest's name, parameters,
/// version and target, no writable variables but shared ones, known
/// instructions only. The error begins with "PTX line N: ".
llvm::Error checkCandidatePtx(llvm::StringRef ptx,
                              const KernelManifest &manifest);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_CANDIDATEPOLICY_H
