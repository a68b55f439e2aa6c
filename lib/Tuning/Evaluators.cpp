//===- Evaluators.cpp - Compiling, emulating, measuring ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Evaluators.h"
#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Tuning/Loop.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ThreadPool.h"
#include <utility>

using namespace sparseditto;

static constexpr const char *layerName = "weight";

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

std::vector<Candidate>
CompiledEvaluator::prepare(llvm::ArrayRef<Proposal> proposals, int64_t n,
                           const Chip &chip) {
  // Packed one after the other, so that the builder's copies are only read
  // while kernels are compiled side by side. A failure is found again there.
  for (const Proposal &proposal : proposals)
    if (auto copy = builder.packed(proposal.strategy); !copy)
      llvm::consumeError(copy.takeError());
  std::vector<Candidate> candidates(proposals.size());
  auto build = [&](size_t i) {
    candidates[i] = builder.build(proposals[i], problem, n, chip).candidate;
  };
  if (threads <= 1 || proposals.size() <= 1) {
    for (size_t i = 0; i < proposals.size(); ++i)
      build(i);
    return candidates;
  }
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(
      unsigned(std::min<size_t>(threads, proposals.size()))));
  for (size_t i = 0; i < proposals.size(); ++i)
    pool.async([&build, i] { build(i); });
  pool.wait();
  return candidates;
}

llvm::Expected<std::string>
CompiledEvaluator::kernelText(const Strategy &strategy, AgentTools::Text what,
                              int64_t n, const Chip &chip) {
  Proposal proposal;
  proposal.strategy = strategy;
  CandidateBuilder::Built built = builder.build(proposal, problem, n, chip);
  const std::string *text = !built.kernel ? nullptr
                            : what == AgentTools::Text::MLIR
                                ? &built.kernel->mlir
                                : &built.kernel->ptx;
  if (!text || text->empty())
    return makeError("{0}: {1}, {2}", strategy.str(),
                     name(built.candidate.status), built.candidate.message);
  return *text;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

CandidateStatus sparseditto::candidateStatus(RunStatus status) {
  switch (status) {
  case RunStatus::Verified:
    return CandidateStatus::Verified;
  case RunStatus::Illegal:
    return CandidateStatus::Illegal;
  case RunStatus::WrongResult:
  case RunStatus::InputModified:
  case RunStatus::OutOfBounds:
  case RunStatus::Sanitizer:
  // Faster than memory allows: it did not do the work.
  case RunStatus::FasterThanFloor:
    return CandidateStatus::WrongResult;
  case RunStatus::Nondeterministic:
    return CandidateStatus::Nondeterministic;
  case RunStatus::LoadFailed:
    return CandidateStatus::LoweringFailed;
  case RunStatus::TimedOut:
    return CandidateStatus::TimedOut;
  case RunStatus::LaunchFailed:
  case RunStatus::Crashed:
  case RunStatus::OverLimits:
  case RunStatus::NoResult:
  case RunStatus::Error:
  // Of modules, of which no candidate is one.
  case RunStatus::Executed:
    return CandidateStatus::Crashed;
  }
  llvm_unreachable("unknown run status");
}

JobEvaluator::~JobEvaluator() {
  if (!directory.empty())
    llvm::sys::fs::remove_directories(directory);
}

TimeSource JobEvaluator::times(const Chip &chip) const {
  return !settings.emulate && settings.runs && settings.runs(chip)
             ? TimeSource::Measured
             : TimeSource::Predicted;
}

llvm::Expected<std::vector<std::string>>
JobEvaluator::stage(llvm::ArrayRef<const Candidate *> candidates,
                    const Chip &chip) {
  if (directory.empty()) {
    llvm::SmallString<128> unique;
    if (std::error_code code =
            llvm::sys::fs::createUniqueDirectory("sparseditto-tune", unique))
      return makeError("cannot make a directory for candidates: {0}",
                       code.message());
    directory = std::string(unique);
  }
  Package package;
  package.sourceVersion = "tune";
  PackageLayer &layer = package.layers.emplace_back();
  layer.name = layerName;
  layer.sourceFile = weight.sourceFile;
  layer.problem = problem;
  layer.weight = weight;
  PlanEntry plan;
  plan.chip = chip.name.str();
  plan.useLibrary = true;
  layer.plan.push_back(plan);
  std::vector<std::string> symbols, formats;
  std::vector<std::pair<std::string, std::string>> files;
  for (const Candidate *candidate : candidates) {
    const Strategy &strategy = candidate->proposal.strategy;
    CandidateBuilder::Built built =
        builder.build(candidate->proposal, problem, candidate->n, chip);
    auto copy = builder.packed(strategy);
    if (!copy)
      return copy.takeError();
    KernelManifest kernel = built.kernel->manifest;
    symbols.push_back(kernel.symbol);
    if (llvm::is_contained(llvm::ArrayRef(symbols).drop_back(), kernel.symbol))
      continue;
    std::string format = packingKey(strategy);
    auto it = llvm::find(formats, format);
    kernel.packedIndex = int(it - formats.begin());
    if (it == formats.end()) {
      formats.push_back(std::move(format));
      layer.packed.push_back(**copy);
    }
    kernel.problem = problem;
    kernel.problem.tuneN = candidate->n;
    kernel.weightBytes = (*copy)->numBytes();
    std::string stem = "kernels/" + kernel.symbol;
    kernel.ptxFile = stem + ".ptx";
    files.emplace_back(kernel.ptxFile, built.kernel->ptx);
    kernel.mlirFile = stem + ".mlir";
    files.emplace_back(kernel.mlirFile, built.kernel->mlir);
    if (!built.kernel->cubin.empty()) {
      kernel.cubinFile = stem + ".cubin";
      files.emplace_back(kernel.cubinFile, built.kernel->cubin);
    }
    layer.kernels.push_back(std::move(kernel));
  }
  if (llvm::Error error = writePackage(package, files, packagePath()))
    return error;
  return symbols;
}

Job JobEvaluator::jobFor(const std::string &symbol, int64_t n, const Chip &chip,
                         bool isEmulated) const {
  Job job;
  job.package = packagePath();
  job.layer = layerName;
  job.symbol = symbol;
  job.chip = chip.name.str();
  job.device = settings.device;
  if (isEmulated) {
    job.emulateBriefly();
  } else {
    job.checkN = {n};
    job.timeN = {n};
  }
  return job;
}

/// What is missing is said once, and where nothing can be read, not tried
/// again.
void JobEvaluator::addCounters(Candidate &candidate, const Job &job) {
  if (!settings.profile)
    return;
  llvm::Expected<NcuKernel> kernel = settings.profile(job);
  if (!kernel) {
    candidate.facts.advisories.push_back("no counters: " +
                                         llvm::toString(kernel.takeError()));
    settings.profile = nullptr;
    return;
  }
  std::vector<std::string> absent = absentCounters(*kernel);
  candidate.facts.counters = std::move(kernel->counters);
  if (std::exchange(saidAbsent, true))
    return;
  if (!absent.empty())
    candidate.facts.advisories.push_back("counters that are not here: " +
                                         llvm::join(absent, ", "));
}

void JobEvaluator::judge(llvm::MutableArrayRef<Candidate> candidates,
                         const Chip &chip) {
  if (!settings.emulate && times(chip) == TimeSource::Predicted)
    return;
  std::vector<const Candidate *> pointers;
  for (const Candidate &candidate : candidates)
    pointers.push_back(&candidate);
  auto symbols = stage(pointers, chip);
  if (!symbols) {
    std::string why = llvm::toString(symbols.takeError());
    for (Candidate &candidate : candidates) {
      candidate.status = CandidateStatus::Crashed;
      candidate.message = "cannot be run: " + why;
    }
    return;
  }
  for (auto [candidate, symbol] : llvm::zip_equal(candidates, *symbols)) {
    // What is left stays compiled, and predicted.
    if (settings.interrupted && *settings.interrupted)
      return;
    // A rewritten kernel may race or read what nobody wrote and yet give the
    // right result on a device; the emulator sees both.
    bool isEmulated = settings.emulate || candidate.proposal.rewrite;
    JobResult result =
        settings.run(jobFor(symbol, candidate.n, chip, isEmulated));
    if (isEmulated && !settings.emulate &&
        result.status == RunStatus::Verified) {
      isEmulated = false;
      result = settings.run(jobFor(symbol, candidate.n, chip, isEmulated));
    }
    // A worker that Ctrl-C ended says nothing about its kernel.
    if (settings.interrupted && *settings.interrupted &&
        result.status != RunStatus::Verified)
      return;
    candidate.status = candidateStatus(result.status);
    if (result.status != RunStatus::Verified) {
      candidate.message = (isEmulated ? "emulator: " : "") +
                          name(result.status).str() + ": " + result.message;
      if (candidate.status == CandidateStatus::WrongResult)
        candidate.mismatch = result.message;
    }
    for (const Measurement &measurement : result.measurements)
      if (measurement.n == candidate.n) {
        candidate.microseconds = measurement.kernel.median;
        candidate.denseMicroseconds = measurement.dense();
        candidate.floorMicroseconds = measurement.floorMicroseconds;
      }
    if (candidate.status == CandidateStatus::Verified && !settings.emulate &&
        !(candidate.microseconds > 0)) {
      candidate.status = CandidateStatus::Crashed;
      candidate.message = "the worker checked it and gave no time";
    }
    if (candidate.microseconds > 0)
      addCounters(candidate, jobFor(symbol, candidate.n, chip,
                                    /*isEmulated=*/false));
  }
}

llvm::Expected<Evaluator::Pair>
JobEvaluator::compare(const Candidate &challenger, const Candidate *incumbent,
                      const Chip &chip) {
  if (times(chip) == TimeSource::Predicted)
    return Evaluator::compare(challenger, incumbent, chip);
  std::vector<const Candidate *> both = {&challenger};
  if (incumbent)
    both.push_back(incumbent);
  auto symbols = stage(both, chip);
  if (!symbols)
    return symbols.takeError();
  Job job = jobFor(symbols->front(), challenger.n, chip, /*isEmulated=*/false);
  // Checked in full already; here it is checked beside the timing.
  job.onlyGivenN = true;
  job.allVariants = false;
  if (incumbent)
    job.rival = symbols->back();
  const JobResult result = settings.run(job);
  if (result.status != RunStatus::Verified)
    return makeError("{0}: {1}", name(result.status), result.message);
  if (result.measurements.size() != 1 ||
      result.rivals.size() != (incumbent ? 1 : 0))
    return makeError("the worker gave no times");
  Pair pair;
  pair.challenger = result.measurements.front().kernel.median;
  pair.dense = result.measurements.front().dense();
  if (incumbent) {
    pair.incumbent = result.rivals.front().kernel.median;
    // Of both, so that neither has a dense of its own.
    pair.dense = (pair.dense + result.rivals.front().dense()) / 2;
  }
  return pair;
}
