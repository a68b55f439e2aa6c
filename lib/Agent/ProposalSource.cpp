//===- ProposalSource.cpp - Names and construction of sources -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/ProposalSource.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;

ProposalSource::~ProposalSource() = default;

PaidBudget::~PaidBudget() = default;

AgentTools::~AgentTools() = default;

char BudgetError::ID = 0;

void BudgetError::log(llvm::raw_ostream &os) const {
  os << "the budget of " << currency << " is spent";
  if (!detail.empty())
    os << " (" << detail << ")";
}

std::error_code BudgetError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
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
