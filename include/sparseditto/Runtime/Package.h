//===- Package.h - A compiled package on disk -------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Directory: manifest.json, kernels/*.ptx|.cubin|.mlir,
// weights.safetensors (packed buffers, named "<layer>/<format>/<buffer>", plus
// the original weight as
// "<layer>/dense" so that the result can be checked and the dense fallback
// run), plan.mlir, report.html. manifest.json carries "schema": 1.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_PACKAGE_H
#define SPARSEDITTO_RUNTIME_PACKAGE_H

#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Kernels/Packed.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace sparseditto {

/// What serves one N range of one layer on one chip. Chips differ in shared
/// memory and bandwidth, so the choice may differ too.
struct PlanEntry {
  std::string chip;           ///< "sm_90a".
  int64_t nMin = 1, nMax = 0; ///< Inclusive; nMax 0 = no upper bound.
  int64_t tuneN = 1;
  bool useLibrary = false; ///< Dense library call (cuBLASLt), no kernel.
  std::string symbol;      ///< Of the kernel with this chip in `kernels`.
  Strategy strategy;
  std::string reason;
  double predictedMicroseconds = 0, floorMicroseconds = 0;
};

struct PackageLayer {
  std::string name;
  std::string sourceFile;
  Problem problem;
  Matrix weight;                    ///< In problem.type, as packed.
  std::vector<PackedWeight> packed; ///< One per format used.
  /// Per chip sorted by N, covering all N >= 1.
  std::vector<PlanEntry> plan;
  std::vector<KernelManifest> kernels; ///< One per symbol and chip.
  llvm::json::Value report = nullptr;  ///< Pattern report.
};

struct Package {
  std::string directory;
  std::string sourceVersion; ///< SparseDitto version that wrote it.
  /// Refused, by readers too, while it holds a kernel that no person approved.
  bool production = false;
  std::vector<PackageLayer> layers;
};

/// The packed weight a kernel of the layer reads: manifest.packedIndex, or the
/// only one of its format and version. The error names what was looked for.
llvm::Expected<const PackedWeight *> findPacked(const PackageLayer &layer,
                                                const KernelManifest &kernel);

/// Everything that can be checked without the files: names unique, kernels,
/// plan and packed buffers consistent with the layer's problem and with one
/// another, every N >= 1 of every chip in the plan served exactly once.
llvm::Error verifyPackage(const Package &package);

/// Writes atomically: into a temporary sibling directory, then renames. An
/// existing package at the path is replaced; anything else there is an error.
/// `files` maps relative paths to contents (PTX, cubins, plan.mlir, report).
llvm::Error
writePackage(const Package &package,
             const std::vector<std::pair<std::string, std::string>> &files,
             llvm::StringRef directory);

enum class PackageUse {
  Run,
  Review, ///< To look at kernels that nobody approved, of any package.
};

/// Reads and checks everything: schema version, sizes, formats, that files
/// named exist, and of a package marked production that its kernels are
/// approved (Review.h). Untrusted input: one clear error, never a crash. With
/// `layer` not empty, only that layer is read and returned; its absence is an
/// error.
llvm::Expected<Package> readPackage(llvm::StringRef directory,
                                    llvm::StringRef layer = "",
                                    PackageUse use = PackageUse::Run);

/// Contents of a file of the package, empty for an empty name.
llvm::Expected<std::string> readPackageFile(const Package &package,
                                            llvm::StringRef file);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_PACKAGE_H
