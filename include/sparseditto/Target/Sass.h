//===- Sass.h - Facts about the machine code of a kernel --------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// ptxas moves loads: read-only ones float below barriers and below the wait of
// a dependent launch, which costs a memory-bound kernel a quarter of its speed
// without a word in any log. The order in the machine code is the only
// evidence.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_SASS_H
#define SPARSEDITTO_TARGET_SASS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace sparseditto {

/// Counts over the instructions of one function, in address order. Static
/// counts: a loop body counts once.
struct SassKernel {
  std::string name, chip;
  unsigned instructions = 0;        ///< Without NOP.
  unsigned globalLoads = 0;         ///< LDG.
  unsigned wideGlobalLoads = 0;     ///< LDG of 128 bits.
  unsigned readOnlyGlobalLoads = 0; ///< LDG through the read-only path.
  unsigned asyncCopies = 0;         ///< LDGSTS (cp.async).
  unsigned bulkCopies = 0;          ///< UBLKCP, UTMALDG (TMA).
  unsigned sharedMatrixLoads = 0;   ///< LDSM.
  unsigned matrixProducts = 0; ///< HMMA, IMMA, QMMA, OMMA, DMMA, HGMMA, ...
  unsigned sparseMatrixProducts = 0; ///< Those of them with .SP.
  unsigned barriers = 0;             ///< BAR.
  /// LDG behind the first BAR, and behind the first ACQBULK (the wait of a
  /// programmatic dependent launch). 0 when there is none.
  unsigned globalLoadsAfterBarrier = 0;
  unsigned globalLoadsAfterDependencyWait = 0;
  bool waitsForDependency = false;          ///< ACQBULK is there.
  unsigned localLoads = 0, localStores = 0; ///< LDL, STL: spills or arrays.

  bool usesLocalMemory() const { return localLoads + localStores != 0; }
};

/// Reads the text of `cuobjdump -sass` or `nvdisasm -c`. Never fails: lines
/// that are not instructions are passed over.
std::vector<SassKernel> parseSass(llvm::StringRef text);

/// $SPARSEDITTO_CUOBJDUMP, then cuobjdump and nvdisasm where findPtxas looks
/// for ptxas and beside it. Empty if there is none.
std::string findDisassembler();

/// Disassembles a cubin (its bytes). Nothing when no disassembler is installed;
/// an Error when it fails.
llvm::Expected<std::optional<std::vector<SassKernel>>>
disassemble(llvm::StringRef cubin, unsigned timeoutSeconds = 60);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_SASS_H
