//===- KernelCache.cpp - Building each distinct kernel once ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/KernelCache.h"
#include "KernelFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "sparseditto/Tuning/Rewrite.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace sparseditto;

std::string sparseditto::kernelSymbol(const Problem &problem,
                                      const Strategy &strategy,
                                      const PackedWeight &packed) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << strategy.str() << '|' << problem.m << 'x' << problem.k << '|'
     << name(problem.type) << '|' << name(problem.outputType) << '|'
     << name(problem.layout) << '|' << problem.epilogue.bias << '|'
     << name(problem.epilogue.activation) << '|' << problem.epilogue.residual
     << '|' << packed.format << '.' << packed.version;
  for (const auto &[attribute, value] : packed.attributes)
    os << '|' << attribute << '=' << value;
  return "sd_" + strategy.family + "_" +
         llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(key)),
                         /*LowerCase=*/true, /*Width=*/16);
}

struct KernelCache::Slot {
  std::once_flag once;
  std::shared_ptr<const CachedKernel> kernel;
};

std::string sparseditto::sourceHash(llvm::StringRef mlir) {
  return llvm::utohexstr(llvm::xxh3_64bits(mlir), /*LowerCase=*/true,
                         /*Width=*/16);
}

/// A performance fault or a spill at the default knobs is a refusal: there is
/// always a smaller tile to try.
void sparseditto::judgeCompiled(CachedKernel &kernel,
                                const CompiledKernel &compiled,
                                const Chip &chip) {
  const PtxasReport &report = compiled.report;
  if (!report.available) {
    kernel.status = CandidateStatus::Compiled;
    kernel.message = "ptxas not found: PTX only";
    return;
  }
  if (report.timedOut) {
    kernel.status = CandidateStatus::TimedOut;
    kernel.message = "ptxas timed out";
    return;
  }
  if (!report.ok()) {
    kernel.status = CandidateStatus::PtxasFailed;
    kernel.message = report.firstError();
    return;
  }
  if (const KernelResources *resources =
          report.find(kernel.manifest.symbol, chip.name))
    kernel.resources = *resources;
  const KernelResources &used = kernel.resources;
  if (used.spillLoadBytes + used.spillStoreBytes > 0) {
    kernel.status = CandidateStatus::OverResources;
    kernel.message = "spills " + std::to_string(used.spillStoreBytes) +
                     " bytes at " + std::to_string(used.registers) +
                     " registers";
    return;
  }
  if (used.sharedBytes + kernel.manifest.dynamicSharedBytes >
      chip.maxSharedPerBlock) {
    kernel.status = CandidateStatus::OverResources;
    kernel.message =
        "needs " +
        std::to_string(used.sharedBytes + kernel.manifest.dynamicSharedBytes) +
        " bytes of shared memory, " + chip.name.str() + " has " +
        std::to_string(chip.maxSharedPerBlock);
    return;
  }
  if (report.hasPerformanceFault()) {
    kernel.status = CandidateStatus::PtxasFailed;
    for (const PtxasMessage &message : report.messages)
      if (!message.code.empty())
        kernel.message = message.code + ": " + message.text;
    return;
  }
  kernel.status = CandidateStatus::Compiled;
}

static std::shared_ptr<const CachedKernel>
buildKernel(const KernelFamily &family, const Problem &problem,
            const Strategy &strategy, const PackedWeight &packed,
            const Chip &chip, const PtxasOptions &ptxas, bool readSass) {
  auto kernel = std::make_shared<CachedKernel>();
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (!diagnostics.empty())
      diagnostics += "; ";
    diagnostics += d.str();
  });
  auto fail = [&](llvm::Error error) {
    kernel->message = llvm::toString(std::move(error));
    if (!diagnostics.empty())
      kernel->message += " (" + diagnostics + ")";
    return kernel;
  };

  auto built =
      family.build(context, problem, strategy, packed, chip.computeCapability,
                   kernelSymbol(problem, strategy, packed));
  if (!built) {
    kernel->status = CandidateStatus::Illegal;
    return fail(built.takeError());
  }
  kernel->manifest = std::move(built->manifest);
  llvm::raw_string_ostream(kernel->mlir) << *built->module;
  auto compiled = compileKernel(*built->module, chip, ptxas);
  if (!compiled)
    return fail(compiled.takeError());
  kernel->ptx = std::move(compiled->ptx);
  kernel->cubin = std::move(compiled->cubin);
  kernel->manifest.chip = chip.name.str();
  kernel->manifest.ptxVersion = compiled->ptxVersion;
  kernel->manifest.sourceHash = sourceHash(kernel->mlir);
  judgeCompiled(*kernel, *compiled, chip);
  kernel->facts = collectFacts(*kernel, compiled->report, readSass);
  return kernel;
}

std::shared_ptr<KernelCache::Slot>
KernelCache::slotFor(const Chip &chip, const std::string &symbol) {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Slot> &entry = slots[{chip.name.str(), symbol}];
  if (!entry)
    entry = std::make_shared<Slot>();
  return entry;
}

std::shared_ptr<const CachedKernel> KernelCache::get(const KernelFamily &family,
                                                     const Problem &problem,
                                                     const Strategy &strategy,
                                                     const PackedWeight &packed,
                                                     const Chip &chip) {
  std::shared_ptr<Slot> slot =
      slotFor(chip, kernelSymbol(problem, strategy, packed));
  std::call_once(slot->once, [&] {
    slot->kernel =
        buildKernel(family, problem, strategy, packed, chip, ptxas, readSass);
  });
  return slot->kernel;
}

std::shared_ptr<const CachedKernel>
KernelCache::getRewrite(const Rewrite &rewrite, const CachedKernel &base,
                        const Chip &chip) {
  auto text = rewrittenText(rewrite, base);
  if (!text) {
    auto refused = std::make_shared<CachedKernel>();
    refused->status = CandidateStatus::Illegal;
    refused->message = llvm::toString(text.takeError());
    return refused;
  }
  std::shared_ptr<Slot> slot = slotFor(chip, text->symbol);
  std::call_once(slot->once, [&] {
    slot->kernel = buildRewrite(std::move(*text), base, chip, ptxas);
  });
  return slot->kernel;
}

std::vector<std::shared_ptr<const CachedKernel>> KernelCache::kernels() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::shared_ptr<const CachedKernel>> result;
  for (const auto &[key, slot] : slots)
    if (slot->kernel)
      result.push_back(slot->kernel);
  return result;
}
