//===- CandidateBuilder.cpp - Packing and building proposals --------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/CandidateBuilder.h"
#include "sparseditto/Tuning/Loop.h"

using namespace sparseditto;

llvm::Expected<const PackedWeight *>
CandidateBuilder::packed(const Strategy &strategy) {
  std::string key = packingKey(strategy);
  auto it = copies.find(key);
  if (it == copies.end()) {
    auto made = packChecked(*findFamily(strategy.family), weight, strategy);
    if (!made)
      return made.takeError();
    it = copies.try_emplace(std::move(key), std::move(*made)).first;
  }
  return &it->second;
}

PackedWeight CandidateBuilder::take(const std::string &key) {
  auto node = copies.extract(key);
  assert(!node.empty() && "no such copy");
  return std::move(node.mapped());
}

CandidateBuilder::Built CandidateBuilder::build(const Proposal &proposal,
                                                const Problem &problem,
                                                int64_t n, const Chip &chip) {
  Built built;
  built.candidate.proposal = proposal;
  built.candidate.n = n;
  built.candidate.chip = chip.name.str();
  auto copy = packed(proposal.strategy);
  if (!copy) {
    built.candidate.status = CandidateStatus::Illegal;
    built.candidate.message = llvm::toString(copy.takeError());
    return built;
  }
  Problem tuned = problem;
  tuned.tuneN = n;
  built.kernel = cache.get(*findFamily(proposal.strategy.family), tuned,
                           proposal.strategy, **copy, chip);
  if (proposal.rewrite) {
    if (built.kernel->status != CandidateStatus::Compiled) {
      built.candidate.status = CandidateStatus::Illegal;
      built.candidate.message = "its base is " +
                                name(built.kernel->status).str() + ": " +
                                built.kernel->message;
      return built;
    }
    built.kernel = cache.getRewrite(*proposal.rewrite, *built.kernel, chip);
  }
  built.candidate.status = built.kernel->status;
  built.candidate.message = built.kernel->message;
  built.candidate.facts = built.kernel->facts;
  return built;
}
