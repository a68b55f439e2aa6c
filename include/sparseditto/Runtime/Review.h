//===- Review.h - Kernels that a person has to look at ----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that an agent rewrote is verified, and yet nobody knows what it does
// on inputs that no check has. It is unreviewed until a person approves it; the
// approval is of these files and of no others. See docs/Trust.md.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_REVIEW_H
#define SPARSEDITTO_RUNTIME_REVIEW_H

#include "sparseditto/Runtime/Package.h"

namespace sparseditto {

enum class Review : uint8_t {
  NotNeeded, ///< Built by a family of ours.
  Unreviewed,
  Approved,
  Changed, ///< Approved, but one of its files is another now.
};
llvm::StringRef name(Review review); ///< "unreviewed", ...

/// SHA-256, in hexadecimal, of the kernel's MLIR, PTX, cubin and diff.
llvm::Expected<std::string> reviewHash(const Package &package,
                                       const KernelManifest &kernel);

llvm::Expected<Review> reviewOf(const Package &package,
                                const KernelManifest &kernel);

/// "kernel '...' is unreviewed: ...".
llvm::Error unreviewedError(const KernelManifest &kernel);

/// Success if every kernel is NotNeeded or Approved; else names the first that
/// is not. For whoever serves results with a package.
llvm::Error checkReviewed(const Package &package);

/// Writes into the manifest that `by` approves all kernels of the package with
/// this symbol, as their files are now; the rest of the manifest stays as it
/// is. Returns how many. Fails if there is none, it needs no review, or `by` is
/// empty or no printable text of at most 200 bytes.
llvm::Expected<unsigned> approveKernel(llvm::StringRef directory,
                                       llvm::StringRef symbol,
                                       llvm::StringRef by);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_REVIEW_H
