//===- Enumerate.cpp - Exhaustive and random search -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two fair baselines: both draw from every legal strategy of every
// accepting family, in declaration order or in random order.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Agent/ProposalSource.h"
#include <algorithm>
#include <random>

using namespace sparseditto;

/// Appends every legal strategy of `family`, the last knob varying fastest.
static void enumerate(const KernelFamily &family, const ProposalState &state,
                      std::vector<Proposal> &out) {
  const FamilyDeclaration &declaration = family.declaration();
  const MachineModel &model = MachineModel::forChip(state.chip);
  std::vector<size_t> index(declaration.knobs.size(), 0);
  while (true) {
    Strategy strategy;
    strategy.family = declaration.name;
    for (auto [knob, i] : llvm::zip_equal(declaration.knobs, index))
      strategy.set(knob.name, knob.values[i]);
    if (llvm::Error error =
            family.check(strategy, state.problem, state.computeCapability)) {
      llvm::consumeError(std::move(error));
    } else {
      Proposal proposal;
      proposal.predictedMicroseconds =
          model.predict(family.cost(state.report, state.problem, strategy,
                                    state.problem.tuneN),
                        family.name());
      proposal.strategy = std::move(strategy);
      proposal.reason = "enumerated";
      out.push_back(std::move(proposal));
    }
    size_t digit = index.size();
    while (digit > 0 &&
           ++index[digit - 1] == declaration.knobs[digit - 1].values.size())
      index[--digit] = 0;
    if (digit == 0)
      return;
  }
}

namespace {
/// Walks a list fixed at the first call; a later call goes on where the last
/// one stopped, so nothing is proposed twice.
class EnumerationSource : public ProposalSource {
public:
  explicit EnumerationSource(std::optional<uint64_t> seed) : seed(seed) {}

  llvm::StringRef name() const override {
    return seed ? "random" : "exhaustive";
  }

  llvm::Expected<std::vector<Proposal>> propose(const ProposalState &state,
                                                unsigned k) override {
    if (!isListed) {
      Proposal dense;
      dense.useLibrary = true;
      dense.strategy.family = "library";
      dense.reason = "enumerated";
      dense.predictedMicroseconds =
          MachineModel::forChip(state.chip)
              .predictDenseLibrary(state.problem, state.problem.tuneN);
      list.push_back(std::move(dense));
      for (const KernelFamily *family : state.families) {
        if (llvm::Error error = family->accepts(state.report, state.problem))
          llvm::consumeError(std::move(error));
        else
          enumerate(*family, state, list);
      }
      if (seed) {
        // Fisher-Yates by hand: std::shuffle's order is not specified.
        std::mt19937_64 generator(*seed);
        for (size_t i = list.size(); i > 1; --i)
          std::swap(list[i - 1], list[generator() % i]);
      }
      isListed = true;
    }
    uint64_t count = std::min<uint64_t>(
        {uint64_t(k), uint64_t(list.size() - next),
         uint64_t(std::max<int64_t>(state.budget.candidates, 0))});
    std::vector<Proposal> result(list.begin() + next,
                                 list.begin() + next + count);
    next += count;
    return result;
  }

private:
  std::optional<uint64_t> seed;
  std::vector<Proposal> list;
  size_t next = 0;
  bool isListed = false;
};
} // namespace

std::unique_ptr<ProposalSource> sparseditto::createExhaustiveSource() {
  return std::make_unique<EnumerationSource>(std::nullopt);
}

std::unique_ptr<ProposalSource> sparseditto::createRandomSource(uint64_t seed) {
  return std::make_unique<EnumerationSource>(seed);
}
