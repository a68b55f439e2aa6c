//===- Record.cpp - Tuning records ----------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Record.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"

using namespace sparseditto;

static std::string opText(const Problem &problem) {
  return llvm::formatv("spmm {0}x{1} {2} {3} bias={4} act={5} residual={6}",
                       problem.m, problem.k, name(problem.type),
                       name(problem.layout), problem.epilogue.bias,
                       name(problem.epilogue.activation),
                       problem.epilogue.residual);
}

static std::string strategyText(const Proposal &proposal) {
  return proposal.useLibrary ? "library" : proposal.strategy.str();
}

std::string sparseditto::recordId(const PatternReport &report,
                                  const Problem &problem, const Chip &chip,
                                  const Proposal &proposal, int64_t n) {
  std::string key = llvm::formatv("{0}|{1}|{2}|{3}|{4}|{5}", opText(problem),
                                  report.fingerprint, n, chip.name,
                                  SPARSEDITTO_VERSION, strategyText(proposal));
  return llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(key)),
                         /*LowerCase=*/true, /*Width=*/16);
}

std::string sparseditto::makeRecord(const PatternReport &report,
                                    const Problem &problem, const Chip &chip,
                                    const Candidate &candidate,
                                    const KernelResources &resources) {
  llvm::json::Object record{
      {"record", 1},
      {"id", recordId(report, problem, chip, candidate.proposal, candidate.n)},
      {"op", opText(problem)},
      {"fingerprint", report.fingerprint},
      {"n", candidate.n},
      {"chip", chip.name},
      {"version", SPARSEDITTO_VERSION},
      {"layer", report.matrixName},
      {"strategy", strategyText(candidate.proposal)},
      {"status", name(candidate.status)},
      {"predicted_us", candidate.proposal.predictedMicroseconds},
      {"reason", candidate.proposal.reason},
  };
  if (resources.registers) {
    record["registers"] = resources.registers;
    record["spill_bytes"] =
        resources.spillStoreBytes + resources.spillLoadBytes;
    record["static_shared_bytes"] = resources.sharedBytes;
  }
  if (candidate.microseconds > 0)
    record["us"] = candidate.microseconds;
  if (candidate.denseMicroseconds > 0)
    record["dense_us"] = candidate.denseMicroseconds;
  if (!candidate.message.empty())
    record["message"] = candidate.message;
  return llvm::formatv("{0}", llvm::json::Value(std::move(record)));
}
