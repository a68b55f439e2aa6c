//===- Heuristic.cpp - The default choice ---------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each accepting family counts its bytes and FLOPs, the machine model turns
// them into a time, and the least time wins, unless the dense library is
// predicted to be as fast: a kernel of ours must promise a margin over it.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Agent/ProposalSource.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <numeric>

using namespace sparseditto;

namespace {
class HeuristicSource : public ProposalSource {
public:
  llvm::StringRef name() const override { return "heuristic"; }
  llvm::Expected<std::vector<Proposal>> propose(const ProposalState &state,
                                                unsigned k) override;
};
} // namespace

static std::string describeCost(const CostModel &cost, double microseconds,
                                double library, const Problem &problem) {
  double denseBytes =
      double(problem.m) * double(problem.k) * byteSize(problem.type);
  return llvm::formatv("reads {0:F2} of {1:F2} MB, predicted {2:F1} us, dense "
                       "library {3:F1} us ({4:F2}x)",
                       cost.weightBytes / 1e6, denseBytes / 1e6, microseconds,
                       library, library / microseconds)
      .str();
}

static bool isTried(const ProposalState &state, const Proposal &proposal) {
  return llvm::any_of(state.history, [&](const Candidate &candidate) {
    return candidate.n == state.problem.tuneN &&
           candidate.proposal.useLibrary == proposal.useLibrary &&
           (proposal.useLibrary ||
            candidate.proposal.strategy == proposal.strategy);
  });
}

llvm::Expected<std::vector<Proposal>>
HeuristicSource::propose(const ProposalState &state, unsigned k) {
  const MachineModel &model = MachineModel::forChip(state.chip);
  const Problem &problem = state.problem;
  const int64_t n = problem.tuneN;
  const double library = model.predictDenseLibrary(problem, n);

  std::vector<Proposal> proposals;
  std::string refusals;
  for (const KernelFamily *family : state.families) {
    if (llvm::Error error = family->accepts(state.report, problem)) {
      refusals += (refusals.empty() ? "" : "; ") + family->name().str() + ": " +
                  llvm::toString(std::move(error));
      continue;
    }
    for (Strategy &strategy :
         family->candidates(state.report, problem, state.computeCapability)) {
      if (llvm::Error error =
              family->check(strategy, problem, state.computeCapability)) {
        llvm::consumeError(std::move(error));
        continue;
      }
      CostModel cost = family->cost(state.report, problem, strategy, n);
      Proposal proposal;
      proposal.predictedMicroseconds = model.predict(cost, family->name());
      proposal.reason =
          describeCost(cost, proposal.predictedMicroseconds, library, problem);
      proposal.strategy = std::move(strategy);
      proposals.push_back(std::move(proposal));
    }
  }
  // By time, equal ones in the order of the families.
  std::vector<size_t> order(proposals.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) {
    double timeA = proposals[a].predictedMicroseconds;
    double timeB = proposals[b].predictedMicroseconds;
    return timeA != timeB ? timeA < timeB : a < b;
  });
  std::vector<Proposal> sorted;
  for (size_t i : order)
    sorted.push_back(std::move(proposals[i]));
  proposals = std::move(sorted);

  Proposal dense;
  dense.useLibrary = true;
  dense.strategy.family = "library";
  dense.predictedMicroseconds = library;
  if (!proposals.empty()) {
    const Proposal &best = proposals.front();
    dense.reason = llvm::formatv(
        "dense library predicted {0:F1} us; the best kernel, {1}, "
        "{2:F1} us, is not {3:F2}x faster",
        library, best.strategy.family, best.predictedMicroseconds,
        requiredGain);
  } else {
    dense.reason = llvm::formatv(
        "dense library predicted {0:F1} us; no family accepts the weight ({1})",
        library, refusals);
  }
  // The library stands where a kernel would have to beat it by the margin.
  auto position = std::find_if(
      proposals.begin(), proposals.end(), [&](const Proposal &proposal) {
        return proposal.predictedMicroseconds * requiredGain > library;
      });
  proposals.insert(position, std::move(dense));

  llvm::erase_if(proposals,
                 [&](const Proposal &p) { return isTried(state, p); });
  uint64_t limit = std::min<uint64_t>(
      k, uint64_t(std::max<int64_t>(state.budget.candidates, 0)));
  if (proposals.size() > limit)
    proposals.resize(limit);
  return proposals;
}

std::unique_ptr<ProposalSource> sparseditto::createHeuristicSource() {
  return std::make_unique<HeuristicSource>();
}
