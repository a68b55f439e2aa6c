//===- ProposalSource.cpp - Names and construction of sources -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/ProposalSource.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace sparseditto;

ProposalSource::~ProposalSource() = default;

llvm::StringRef sparseditto::name(CandidateStatus status) {
  switch (status) {
  case CandidateStatus::Predicted:
    return "predicted";
  case CandidateStatus::Illegal:
    return "illegal";
  case CandidateStatus::LoweringFailed:
    return "lowering_failed";
  case CandidateStatus::PtxasFailed:
    return "ptxas_failed";
  case CandidateStatus::OverResources:
    return "over_resources";
  case CandidateStatus::Compiled:
    return "compiled";
  case CandidateStatus::Crashed:
    return "crashed";
  case CandidateStatus::TimedOut:
    return "timed_out";
  case CandidateStatus::WrongResult:
    return "wrong_result";
  case CandidateStatus::Nondeterministic:
    return "nondeterministic";
  case CandidateStatus::Verified:
    return "verified";
  }
  llvm_unreachable("unknown candidate status");
}

llvm::Expected<std::unique_ptr<ProposalSource>>
sparseditto::createProposalSource(llvm::StringRef spec) {
  auto [kind, argument] = spec.split(':');
  if (kind == "heuristic" && argument.empty())
    return createHeuristicSource();
  if (kind == "exhaustive" && argument.empty())
    return createExhaustiveSource();
  if (kind == "random") {
    uint64_t seed = 1;
    if (!argument.empty() && !llvm::to_integer(argument, seed, 10))
      return llvm::createStringError("agent '" + spec +
                                     "': expected a decimal seed after "
                                     "'random:', got '" +
                                     argument + "'");
    return createRandomSource(seed);
  }
  return llvm::createStringError(
      "unknown agent '" + spec +
      "', expected heuristic, exhaustive or random[:SEED]");
}
