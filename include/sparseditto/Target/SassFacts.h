//===- SassFacts.h - What the machine code says to an author ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sentences for KernelFacts::sass. Which operand a load reads is followed from
// the kernel's parameters through the address arithmetic, in address order:
// exact in straight code, a good guess across branches; loads that cannot be
// told are counted as such.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_SASSFACTS_H
#define SPARSEDITTO_TARGET_SASSFACTS_H

#include "sparseditto/Kernels/Manifest.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace sparseditto {

/// Facts about the kernel manifest.symbol in the text of `cuobjdump -sass` or
/// `nvdisasm -c`, most important first; those that begin with "fault: " cost
/// speed. Empty if the text does not hold the kernel.
std::vector<std::string> sassFacts(llvm::StringRef sass,
                                   const KernelManifest &manifest);

/// The same of a cubin's bytes. Empty when no disassembler is installed; an
/// Error when it fails.
llvm::Expected<std::vector<std::string>>
sassFactsOfCubin(llvm::StringRef cubin, const KernelManifest &manifest,
                 unsigned timeoutSeconds = 60);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_SASSFACTS_H
