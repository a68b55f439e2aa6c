//===- Doctor.h - What this machine can do ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_DOCTOR_H
#define SPARSEDITTO_RUNTIME_DOCTOR_H

#include "sparseditto/Runtime/Floor.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace sparseditto {

/// One thing that is there or not, and what it is good for.
struct Finding {
  std::string key;   ///< Stable, for JSON: "driver", "ptxas", ...
  std::string title; ///< For people: "CUDA driver".
  bool found = false;
  std::string detail; ///< Version and place, or why it is missing.
  std::string enables;
  llvm::json::Object facts; ///< Numbers behind `detail`.
};

struct Diagnosis {
  std::vector<Finding> findings;
  std::optional<FloorCurve> floor; ///< If it was asked for and a GPU is there.
  const Finding *find(llvm::StringRef key) const;
  llvm::json::Value toJSON() const;
};

/// Looks at the driver, the GPUs, the compiler tools, the peer libraries, the
/// counters and the sandbox. Never fails: what is missing is a finding.
Diagnosis diagnose(bool measureFloor = false);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_DOCTOR_H
