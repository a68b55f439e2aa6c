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

std::string sparseditto::operationText(const Problem &problem) {
  return llvm::formatv("spmm {0}x{1} {2} {3} bias={4} act={5} residual={6}",
                       problem.m, problem.k, name(problem.type),
                       name(problem.layout), problem.epilogue.bias,
                       name(problem.epilogue.activation),
                       problem.epilogue.residual);
}

std::string sparseditto::recordId(const PatternReport &report,
                                  const Problem &problem, const Chip &chip,
                                  const Proposal &proposal, int64_t n) {
  std::string key = llvm::formatv(
      "{0}|{1}|{2}|{3}|{4}|{5}", operationText(problem), report.fingerprint, n,
      chip.name, SPARSEDITTO_VERSION, proposal.key());
  return llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(key)),
                         /*LowerCase=*/true, /*Width=*/16);
}

std::string sparseditto::makeRecord(const PatternReport &report,
                                    const Problem &problem, const Chip &chip,
                                    const Candidate &candidate,
                                    const TuningEnvironment &environment) {
  llvm::json::Object record{
      {"record", 1},
      {"id", recordId(report, problem, chip, candidate.proposal, candidate.n)},
      {"op", operationText(problem)},
      {"fingerprint", report.fingerprint},
      {"n", candidate.n},
      {"chip", chip.name},
      {"version", SPARSEDITTO_VERSION},
      {"layer", report.matrixName},
      {"strategy", candidate.proposal.key()},
      {"status", name(candidate.status)},
      {"predicted_us", candidate.proposal.predictedMicroseconds},
      {"reason", candidate.proposal.reason},
  };
  const KernelFacts &facts = candidate.facts;
  if (facts.registers) {
    record["registers"] = facts.registers;
    record["spill_bytes"] = facts.spillBytes;
    record["static_shared_bytes"] = facts.staticSharedBytes;
  }
  if (!facts.binaryHash.empty())
    record["binary"] = facts.binaryHash;
  if (candidate.microseconds > 0) {
    record["us"] = candidate.microseconds;
    record["device"] = llvm::json::fixUTF8(environment.device);
    record["driver"] = environment.driver;
    record["ptxas"] = environment.ptxas;
  }
  if (candidate.floorMicroseconds > 0)
    record["floor_us"] = candidate.floorMicroseconds;
  if (candidate.denseMicroseconds > 0)
    record["dense_us"] = candidate.denseMicroseconds;
  if (!candidate.message.empty())
    record["message"] = candidate.message;
  return llvm::formatv("{0}", llvm::json::Value(std::move(record)));
}
