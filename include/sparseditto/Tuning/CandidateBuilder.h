//===- CandidateBuilder.h - Packing and building proposals ------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_CANDIDATEBUILDER_H
#define SPARSEDITTO_TUNING_CANDIDATEBUILDER_H

#include "sparseditto/Tuning/KernelCache.h"
#include <map>

namespace sparseditto {

/// Packs and compiles what is proposed for one weight. Strategies that differ
/// only in knobs that packing does not read share a packed copy. Not
/// thread-safe; the cache is.
class CandidateBuilder {
public:
  /// `weight`'s bytes and the cache outlive this.
  CandidateBuilder(const Matrix &weight, KernelCache &cache)
      : weight(weight), cache(cache) {}

  struct Built {
    Candidate candidate;                        ///< Compiled, or why not.
    std::shared_ptr<const CachedKernel> kernel; ///< Null if packing failed.
  };
  Built build(const Proposal &proposal, const Problem &problem, int64_t n,
              const Chip &chip);

  /// The copy that the strategy's kernel reads. Fails as packChecked does.
  llvm::Expected<const PackedWeight *> packed(const Strategy &strategy);
  /// Moves out the copy of a packingKey() that packed() has made.
  PackedWeight take(const std::string &key);

private:
  const Matrix &weight;
  KernelCache &cache;
  std::map<std::string, PackedWeight> copies;
};

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_CANDIDATEBUILDER_H
