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
#include <map>
#include <optional>
#include <random>

using namespace sparseditto;

namespace {
/// Numbers the library and every combination of every accepting family's knobs,
/// and walks the numbers in order or in a random order. Nothing is listed: the
/// combinations of one family may be hundreds of thousands. A later call goes
/// on where the last one stopped, so nothing is proposed twice.
class EnumerationSource : public ProposalSource {
public:
  explicit EnumerationSource(std::optional<uint64_t> seed)
      : isRandom(seed.has_value()), generator(seed.value_or(0)) {}

  llvm::StringRef name() const override {
    return isRandom ? "random" : "exhaustive";
  }
  bool isBaseline() const override { return true; }

  llvm::Expected<std::vector<Proposal>> propose(const ProposalState &state,
                                                unsigned k) override {
    if (total == 0)
      number(state);
    const uint64_t count = std::min<uint64_t>(
        k, uint64_t(std::max<int64_t>(state.budget.candidates, 0)));
    std::vector<Proposal> result;
    while (result.size() < count && next < total) {
      std::optional<Proposal> proposal = decode(draw(), state);
      if (proposal)
        result.push_back(std::move(*proposal));
    }
    return result;
  }

private:
  void number(const ProposalState &state) {
    total = 1; // The library.
    for (const KernelFamily *family : state.families) {
      if (llvm::Error error = family->accepts(state.report, state.problem)) {
        llvm::consumeError(std::move(error));
        continue;
      }
      uint64_t combinations = 1;
      for (const KnobDeclaration &knob : family->declaration().knobs)
        combinations *= knob.values.size();
      families.push_back({family, combinations});
      total += combinations;
    }
  }

  /// The next number. At random: a Fisher-Yates shuffle of which only the
  /// places that were exchanged are stored, by hand because std::shuffle's
  /// order is not specified.
  uint64_t draw() {
    const uint64_t place = next++;
    if (!isRandom)
      return place;
    auto at = [&](uint64_t i) {
      auto it = moved.find(i);
      return it == moved.end() ? i : it->second;
    };
    const uint64_t other = place + generator() % (total - place);
    const uint64_t drawn = at(other);
    moved[other] = at(place);
    moved.erase(place);
    return drawn;
  }

  /// The proposal of a number; none if its strategy is illegal. The last knob
  /// varies fastest.
  std::optional<Proposal> decode(uint64_t number,
                                 const ProposalState &state) const {
    const MachineModel &model = MachineModel::forChip(state.chip);
    Proposal proposal;
    proposal.reason = "enumerated";
    if (number == 0) {
      proposal.useLibrary = true;
      proposal.strategy.family = "library";
      proposal.predictedMicroseconds =
          model.predictDenseLibrary(state.problem, state.problem.tuneN);
      return proposal;
    }
    --number;
    const Numbered *numbered = families.begin();
    for (; number >= numbered->combinations; ++numbered)
      number -= numbered->combinations;
    const KernelFamily &family = *numbered->family;
    const FamilyDeclaration &declaration = family.declaration();
    proposal.strategy.family = declaration.name;
    uint64_t combinations = numbered->combinations;
    for (const KnobDeclaration &knob : declaration.knobs) {
      combinations /= knob.values.size();
      proposal.strategy.set(knob.name, knob.values[number / combinations]);
      number %= combinations;
    }
    if (llvm::Error error = family.check(proposal.strategy, state.problem,
                                         state.computeCapability)) {
      llvm::consumeError(std::move(error));
      return std::nullopt;
    }
    proposal.predictedMicroseconds =
        model.predict(family.cost(state.report, state.problem,
                                  proposal.strategy, state.problem.tuneN),
                      family.name());
    return proposal;
  }

  struct Numbered {
    const KernelFamily *family;
    uint64_t combinations;
  };

  bool isRandom;
  std::mt19937_64 generator;
  llvm::SmallVector<Numbered, 8> families;
  std::map<uint64_t, uint64_t> moved;
  uint64_t total = 0, next = 0;
};
} // namespace

std::unique_ptr<ProposalSource> sparseditto::createExhaustiveSource() {
  return std::make_unique<EnumerationSource>(std::nullopt);
}

std::unique_ptr<ProposalSource> sparseditto::createRandomSource(uint64_t seed) {
  return std::make_unique<EnumerationSource>(seed);
}
