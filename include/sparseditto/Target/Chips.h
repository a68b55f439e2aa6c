//===- Chips.h - Chips, PTX versions and their limits -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM aborts the process on a chip / PTX version pair it does not like, so the
// pairs are checked against this table first.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_CHIPS_H
#define SPARSEDITTO_TARGET_CHIPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace sparseditto {

struct Chip {
  llvm::StringRef name;       ///< "sm_90a".
  unsigned computeCapability; ///< 90.
  unsigned minPtx, maxPtx;    ///< Versions LLVM 22 accepts, 85 for 8.5.
  unsigned preferredPtx;      ///< Enough for every instruction we emit.
  unsigned maxSharedPerBlock; ///< Opt-in dynamic shared memory, bytes.
  unsigned maxRegistersPerThread;
};

llvm::ArrayRef<Chip> knownChips();
/// The chip, or an error listing the known ones.
llvm::Expected<const Chip *> findChip(llvm::StringRef name);
/// Whether LLVM knows this PTX version; of others it silently makes its
/// default.
bool isPtxVersion(unsigned version);
/// The PTX version to generate: the preferred one, lowered to `driverPtx`
/// (0 = unknown) and `ptxasPtx` (0 = unknown). Fails if that does not suffice
/// for the chip; LLVM is never called with a pair outside the table.
llvm::Expected<unsigned> choosePtxVersion(const Chip &chip, unsigned ptxasPtx,
                                          unsigned driverPtx);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_CHIPS_H
