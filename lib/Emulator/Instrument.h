//===- Instrument.h - GPU semantics as calls --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_INSTRUMENT_H
#define SPARSEDITTO_LIB_EMULATOR_INSTRUMENT_H

#include "SharedMemory.h"
#include "Site.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <optional>

namespace llvm {
class GlobalVariable;
class Module;
} // namespace llvm

namespace sparseditto::emulator {

/// The name of the function that runs one thread:
/// void (ThreadContext *, const uint64_t *args).
inline constexpr llvm::StringLiteral entryName = "sd_emu_kernel";

struct InstrumentedKernel {
  std::vector<Site> sites;
  std::vector<SharedRegion> shared; ///< In order of offset.
  unsigned staticSharedBytes = 0;   ///< As a GPU would lay it out.
  unsigned paddedSharedBytes = 0;   ///< With red zones; dynamic starts here.
  unsigned numArguments = 0;
  /// nvvm.reqntid / nvvm.maxntid.
  std::optional<std::array<unsigned, 3>> requiredBlock, maximalBlock;
  std::vector<std::string> globals; ///< Module-level device memory, by symbol.
};

/// Rewrites the module of translateKernel so that it runs on the host: one
/// function `entryName`, every access checked, every GPU instruction a call
/// into the run time. An EmulatorFault of kind Unsupported names the first
/// instruction that has no counterpart.
llvm::Expected<InstrumentedKernel>
instrumentKernel(llvm::Module &module, llvm::StringRef symbol,
                 const std::vector<OperationRecord> &operations);

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_INSTRUMENT_H
