//===- Candidate.cpp - A proposal and what became of it ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Candidate.h"
#include "sparseditto/Agent/EventSink.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/xxhash.h"

using namespace sparseditto;

EventSink::~EventSink() = default;

static constexpr struct {
  CandidateStatus status;
  const char *name;
} statusNames[] = {
    {CandidateStatus::Predicted, "predicted"},
    {CandidateStatus::Illegal, "illegal"},
    {CandidateStatus::LoweringFailed, "lowering_failed"},
    {CandidateStatus::PtxasFailed, "ptxas_failed"},
    {CandidateStatus::OverResources, "over_resources"},
    {CandidateStatus::Compiled, "compiled"},
    {CandidateStatus::Crashed, "crashed"},
    {CandidateStatus::TimedOut, "timed_out"},
    {CandidateStatus::WrongResult, "wrong_result"},
    {CandidateStatus::Nondeterministic, "nondeterministic"},
    {CandidateStatus::Verified, "verified"},
};

llvm::StringRef sparseditto::name(CandidateStatus status) {
  for (const auto &entry : statusNames)
    if (entry.status == status)
      return entry.name;
  llvm_unreachable("unknown candidate status");
}

std::optional<CandidateStatus>
sparseditto::parseCandidateStatus(llvm::StringRef text) {
  for (const auto &entry : statusNames)
    if (text == entry.name)
      return entry.status;
  return std::nullopt;
}

bool sparseditto::stands(CandidateStatus status) {
  return status == CandidateStatus::Predicted ||
         status == CandidateStatus::Compiled ||
         status == CandidateStatus::Verified;
}

llvm::StringRef sparseditto::name(TimeSource source) {
  return source == TimeSource::Measured ? "measured" : "predicted";
}

std::string Proposal::key() const {
  if (useLibrary)
    return "library";
  if (!rewrite)
    return strategy.str();
  // Lengths first, so that no two lists of edits read the same.
  std::string changed = std::to_string(rewrite->text.size()) + ":" +
                        rewrite->text + rewrite->symbol;
  for (const KernelEdit &edit : rewrite->edits)
    changed += "|" + std::to_string(edit.before.size()) + ":" + edit.before +
               std::to_string(edit.after.size()) + ":" + edit.after;
  return rewrite->base.str() + "+" +
         llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(changed)),
                         /*LowerCase=*/true, /*Width=*/16);
}
