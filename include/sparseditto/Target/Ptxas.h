//===- Ptxas.h - Running ptxas and reading what it says ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_PTXAS_H
#define SPARSEDITTO_TARGET_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace sparseditto {

/// Resources of one entry function for one chip, from `ptxas -v`.
struct KernelResources {
  std::string kernel, chip;
  unsigned registers = 0;
  unsigned spillStoreBytes = 0, spillLoadBytes = 0, stackFrameBytes = 0;
  unsigned cumulativeStackBytes = 0;
  unsigned sharedBytes = 0; ///< Static shared memory.
  unsigned localBytes = 0;  ///< lmem.
  unsigned barriers = 0;
  std::vector<std::pair<unsigned, unsigned>> constantBanks; ///< bank, bytes.
};

enum class PtxasSeverity { Info, Advisory, Warning, Error, Fatal };
struct PtxasMessage {
  PtxasSeverity severity = PtxasSeverity::Info;
  std::string code;  ///< "C7510", "C7514", ... or "ordered-metadata", or empty.
  unsigned line = 0; ///< PTX line, 0 if not given.
  std::string kernel; ///< Function it is about, when the text names one.
  std::string text;
};

struct PtxasReport {
  std::vector<KernelResources> kernels;
  std::vector<PtxasMessage> messages;
  std::string log; ///< Raw text, for people.
  int exitCode = 0;
  bool timedOut = false;
  bool available = true; ///< False if no ptxas was found.
  double seconds = 0;

  bool ok() const { return available && exitCode == 0 && !timedOut; }
  const KernelResources *find(llvm::StringRef kernel,
                              llvm::StringRef chip = "") const;
  /// wgmma serialisation (C7510-C7515, C7517, C7519) or a plain .sp advisory:
  /// a performance fault that fails a candidate.
  bool hasPerformanceFault() const;
  std::string firstError() const;
};

struct PtxasOptions {
  std::string path; ///< Empty: findPtxas().
  unsigned timeoutSeconds = 60;
  unsigned optLevel = 3;
  std::vector<std::string> extraArgs;
};

/// $SPARSEDITTO_PTXAS, then $CUDA_HOME/bin, $CUDA_PATH/bin, $CUDA_ROOT/bin,
/// PATH, /usr/local/cuda/bin. Empty if none.
std::string findPtxas();
struct PtxasVersion {
  unsigned major = 0, minor = 0;
  unsigned maxPtx = 0; ///< Newest PTX it reads, 90 for CUDA 13.0.
  std::string build;   ///< "release 13.0, V13.0.88", as in its cubins.
};
llvm::Expected<PtxasVersion> ptxasVersion(llvm::StringRef path);

/// Parses a log of `ptxas -v` (several kernels and chips, MSBuild prefixes,
/// device functions between an entry's lines). Never fails: unknown lines stay
/// in `log`.
PtxasReport parsePtxasLog(llvm::StringRef log);

/// Runs ptxas on `ptx` in its own process group with a timeout. A failure of
/// ptxas is a report with exitCode != 0; an Error means it could not be run.
llvm::Expected<PtxasReport> runPtxas(llvm::StringRef ptx, llvm::StringRef chip,
                                     const PtxasOptions &options,
                                     std::string *cubin);

} // namespace sparseditto

#endif // SPARSEDITTO_TARGET_PTXAS_H
