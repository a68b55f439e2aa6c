//===- ProposalSource.h - Who proposes strategies ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of a policy: given everything known about one product, propose
// up to k strategies or stop. The compiler owns legality and measurement.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_PROPOSALSOURCE_H
#define SPARSEDITTO_AGENT_PROPOSALSOURCE_H

#include "sparseditto/Kernels/Family.h"
#include <memory>
#include <string>
#include <vector>

namespace sparseditto {

/// What became of a candidate.
enum class CandidateStatus : uint8_t {
  Predicted, ///< Only the model's word; nothing was compiled.
  Illegal,
  LoweringFailed,
  PtxasFailed,
  OverResources,
  Compiled, ///< ptxas accepted it; not executed.
  Crashed,
  TimedOut,
  WrongResult,
  Nondeterministic,
  Verified,
};
llvm::StringRef name(CandidateStatus status); ///< "lowering_failed", ...

struct Proposal {
  Strategy strategy;
  /// True for "leave it to the dense library": strategy.family is "library"
  /// and nothing is built.
  bool useLibrary = false;
  std::string reason; ///< One sentence.
  double predictedMicroseconds = 0;
};

struct Candidate {
  Proposal proposal;
  int64_t n = 1;
  CandidateStatus status = CandidateStatus::Predicted;
  double microseconds = 0;      ///< Measured, 0 if not.
  double denseMicroseconds = 0; ///< Measured beside it, 0 if not.
  std::string message;
};

/// Budget left, in candidates; other currencies belong to paid sources.
struct Budget {
  int64_t candidates = 1 << 20;
};

/// A kernel is preferred to the dense library only if it is predicted this much
/// faster: the model errs, and "never slower than dense" is a promise.
inline constexpr double requiredGain = 1.10;

/// State handed to a source. All references outlive the call.
struct ProposalState {
  const PatternReport &report;
  Problem problem; ///< problem.tuneN is the N asked about.
  unsigned computeCapability = 90;
  std::string chip;
  llvm::ArrayRef<const KernelFamily *> families;
  std::vector<Candidate> history;
  Budget budget;
};

class ProposalSource {
public:
  virtual ~ProposalSource();
  virtual llvm::StringRef name() const = 0;
  /// Up to `k` proposals, best first; empty means stop. Never repeats one that
  /// is in the history.
  virtual llvm::Expected<std::vector<Proposal>>
  propose(const ProposalState &state, unsigned k) = 0;
};

/// Byte/FLOP floor times measured efficiencies. Deterministic, no network.
std::unique_ptr<ProposalSource> createHeuristicSource();
/// Every legal strategy of every accepting family, in declaration order.
std::unique_ptr<ProposalSource> createExhaustiveSource();
/// Uniform over the same set, without repetition.
std::unique_ptr<ProposalSource> createRandomSource(uint64_t seed);
/// By name: "heuristic", "exhaustive", "random[:seed]". The error lists the
/// known names.
llvm::Expected<std::unique_ptr<ProposalSource>>
createProposalSource(llvm::StringRef spec);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_PROPOSALSOURCE_H
