//===- Rewrite.h - A kernel with its text changed ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rewrite keeps what a launcher and a packer know about its base: arguments,
// grid, block, dynamic shared memory, packed format. Only the kernel's MLIR is
// another. Its author is not trusted: whatever is wrong with the text is a
// status with a reason that the author can use, and the process lives on.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_REWRITE_H
#define SPARSEDITTO_TUNING_REWRITE_H

#include "sparseditto/Tuning/KernelCache.h"

namespace sparseditto {

/// `text` after the edits, one after the other. Fails if a `before` is empty,
/// equals its `after`, or does not occur exactly once: the error gives the edit
/// (counted from 1), the number of occurrences with their lines, and for none
/// the line that is most like it.
llvm::Expected<std::string> applyEdits(llvm::StringRef text,
                                       llvm::ArrayRef<KernelEdit> edits);

struct RewrittenText {
  std::string symbol; ///< "sd_custom_0123456789abcdef", a hash of the text.
  std::string mlir;   ///< The module, with its kernel renamed to `symbol`.
};
/// The module that `rewrite` asks for, from its text or the edits of `base`'s.
/// Fails as applyEdits does, or if both or neither are given, the text exceeds
/// 1 MiB or is that of the base, or the kernel's name is not in it.
llvm::Expected<RewrittenText> rewrittenText(const Rewrite &rewrite,
                                            const CachedKernel &base);

/// The kernel of a rewrite: parsed, checked by the policy of candidates against
/// the base's manifest and compiled in a child process, then assembled as any
/// other. Never fails: what the policy refuses is Illegal, what does not parse,
/// verify or lower LoweringFailed with the diagnostics above their lines, and
/// so on. Nothing is run.
std::shared_ptr<const CachedKernel>
buildRewrite(RewrittenText text, const CachedKernel &base, const Chip &chip,
             const PtxasOptions &ptxas, const IsolationLimits &limits = {});

/// What changed from `before` to `after`, by lines with up to `context` equal
/// ones around, as `diff -u` writes it without a header. Empty if nothing did.
std::string lineDiff(llvm::StringRef before, llvm::StringRef after,
                     unsigned context = 3);

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_REWRITE_H
