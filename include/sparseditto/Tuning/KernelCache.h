//===- KernelCache.h - Building each distinct kernel once -------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers of one shape and strategy share a kernel: its symbol is a hash of what
// it is specialised for, so equal kernels get equal names and are built once.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_KERNELCACHE_H
#define SPARSEDITTO_TUNING_KERNELCACHE_H

#include "sparseditto/Agent/ProposalSource.h"
#include "sparseditto/Target/Compile.h"
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace sparseditto {

/// "sd_nm_0123456789abcdef": from family, knobs, M, K, types, layout, epilogue
/// and the packed format's attributes.
std::string kernelSymbol(const Problem &problem, const Strategy &strategy,
                         const PackedWeight &packed);

/// One kernel for one chip, or why there is none.
struct CachedKernel {
  CandidateStatus status = CandidateStatus::LoweringFailed;
  std::string message;
  KernelManifest manifest; ///< Complete but for file names.
  std::string mlir;        ///< Text of the kernel's module.
  std::string ptx, cubin;
  std::string diff; ///< Of a rewrite: lineDiff() to its base, names aside.
  KernelResources resources;
  KernelFacts facts; ///< The same for sources, and what names the binary.
};

/// Sets status, message and resources by what ptxas said of the kernel.
void judgeCompiled(CachedKernel &kernel, const CompiledKernel &compiled,
                   const Chip &chip);

/// Of a kernel's MLIR text, as KernelManifest::sourceHash has it.
std::string sourceHash(llvm::StringRef mlir);

/// Thread-safe. A kernel being built by one thread is waited for by others.
class KernelCache {
public:
  /// With `readSass` facts are read from the machine code too, where a
  /// disassembler is installed: one more process a kernel.
  explicit KernelCache(PtxasOptions ptxas, bool readSass = false)
      : ptxas(std::move(ptxas)), readSass(readSass) {}

  std::shared_ptr<const CachedKernel>
  get(const KernelFamily &family, const Problem &problem,
      const Strategy &strategy, const PackedWeight &packed, const Chip &chip);
  /// The same for a rewrite of `base`, which this cache built. What does not
  /// become a text (edits that do not apply) is not kept.
  std::shared_ptr<const CachedKernel> getRewrite(const Rewrite &rewrite,
                                                 const CachedKernel &base,
                                                 const Chip &chip);
  /// Kernels built so far, by chip and symbol.
  std::vector<std::shared_ptr<const CachedKernel>> kernels() const;

private:
  struct Slot;
  std::shared_ptr<Slot> slotFor(const Chip &chip, const std::string &symbol);

  PtxasOptions ptxas;
  bool readSass;
  mutable std::mutex mutex;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Slot>> slots;
};

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_KERNELCACHE_H
