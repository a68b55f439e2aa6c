//===- Candidate.h - A proposal and what became of it -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_CANDIDATE_H
#define SPARSEDITTO_AGENT_CANDIDATE_H

#include "sparseditto/Kernels/Problem.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
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
std::optional<CandidateStatus> parseCandidateStatus(llvm::StringRef text);
/// Predicted, Compiled and Verified stand; any other is a refusal.
bool stands(CandidateStatus status);

/// One replacement in a kernel's text: `before` must occur exactly once.
struct KernelEdit {
  std::string before, after;
};

/// A kernel of a family, rewritten. The packed format, the host side and the
/// launch stay those of `base`; family "custom" once it is kept.
struct Rewrite {
  Strategy base;
  /// Applied in order to the base kernel's MLIR. Empty if `text` is the whole
  /// module instead.
  std::vector<KernelEdit> edits;
  std::string text;
  std::string symbol; ///< The kernel that is rewritten, as the base names it.

  /// "nm{warps=16,...}+0123456789abcdef": the base with a hash of what is
  /// changed.
  std::string key() const;
};
/// {"base", "symbol", "edits", "key"} and, if there are no edits, "text".
llvm::json::Object toJSON(const Rewrite &rewrite);
/// Untrusted input: fails at a field that is missing or of another type, or a
/// base that is no strategy. The key is not read.
llvm::Expected<Rewrite> rewriteFromJSON(const llvm::json::Value &value);

struct Proposal {
  Strategy strategy;
  /// True for "leave it to the dense library": strategy.family is "library"
  /// and nothing is built.
  bool useLibrary = false;
  std::string reason; ///< One sentence.
  double predictedMicroseconds = 0;
  /// Set: `strategy` is the rewrite's base and the kernel is not the family's.
  std::optional<Rewrite> rewrite;

  /// A stable key: "library", "nm{warps=16,...}", or for a rewrite the base
  /// with a hash of what is changed.
  std::string key() const;
};

/// Where a time comes from.
enum class TimeSource : uint8_t { Predicted, Measured };
llvm::StringRef name(TimeSource source); ///< "predicted", "measured".

/// Facts about a built kernel that a source may learn from. What is unknown is
/// empty or zero.
struct KernelFacts {
  unsigned registers = 0;   ///< A thread.
  unsigned spillBytes = 0;  ///< Stores and loads.
  unsigned sharedBytes = 0; ///< A block, static and dynamic.
  unsigned staticSharedBytes = 0;
  std::vector<std::string> advisories; ///< Of ptxas, with their codes.
  /// Profiler counters by name, percent or count as the name says.
  std::map<std::string, double> counters;
  std::vector<std::string> sass; ///< One fact a line, read from the SASS.
  std::string bottleneck;        ///< One sentence.
  /// Hash of the machine code (of the PTX without ptxas), without the kernel's
  /// name: equal kernels are measured once.
  std::string binaryHash;
};

struct Candidate {
  Proposal proposal;
  int64_t n = 1;
  std::string chip; ///< "sm_90a".
  CandidateStatus status = CandidateStatus::Predicted;
  double microseconds = 0;      ///< Measured, 0 if not.
  double denseMicroseconds = 0; ///< Measured beside it, 0 if not.
  double floorMicroseconds = 0; ///< Of the bytes it moves, 0 if unknown.
  std::string message;          ///< Why it was refused, or a remark.
  std::string mismatch; ///< First wrong element: index, expected, got, input.
  KernelFacts facts;
  std::string sameAs; ///< key() of an earlier candidate of the same binary.
  std::string source; ///< Name of the source that proposed it.
  unsigned round = 0; ///< Counted from 1; 0 for the incumbent.

  /// The measured time, else the predicted one.
  double time() const {
    return microseconds > 0 ? microseconds : proposal.predictedMicroseconds;
  }
  TimeSource timeSource() const {
    return microseconds > 0 ? TimeSource::Measured : TimeSource::Predicted;
  }
};

/// Cuts what has no bound of its own (messages, advisories, counters, facts),
/// so that no kernel or compiler can fill a prompt or a transcript.
void boundFeedback(Candidate &candidate);

/// All of it, as transcripts hold it; unknown facts are left out.
llvm::json::Object toJSON(const Candidate &candidate);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_CANDIDATE_H
