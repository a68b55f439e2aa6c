//===- Evaluators.h - Compiling, emulating, measuring -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_EVALUATORS_H
#define SPARSEDITTO_TUNING_EVALUATORS_H

#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/NcuReport.h"
#include "sparseditto/Tuning/CandidateBuilder.h"
#include "sparseditto/Tuning/Evaluator.h"
#include <atomic>
#include <functional>

namespace sparseditto {

/// MLIR to PTX to ptxas, times by the machine model: needs no GPU.
class CompiledEvaluator : public Evaluator {
public:
  /// `builder` outlives this. `threads` kernels are compiled at a time.
  CompiledEvaluator(const Problem &problem, CandidateBuilder &builder,
                    unsigned threads = 1)
      : problem(problem), builder(builder), threads(threads) {}
  std::vector<Candidate> prepare(llvm::ArrayRef<Proposal> proposals, int64_t n,
                                 const Chip &chip) override;
  llvm::Expected<std::string> kernelText(const Strategy &strategy,
                                         AgentTools::Text what, int64_t n,
                                         const Chip &chip) override;

protected:
  const Problem problem;
  CandidateBuilder &builder;

private:
  const unsigned threads;
};

struct JobSettings {
  /// Does the job, runJob() with a worker.
  std::function<JobResult(const Job &)> run;
  /// On the CPU: truth without times.
  bool emulate = false;
  int device = 0;
  /// Whether code for the chip runs on the device; unused if emulating.
  std::function<bool(const Chip &)> runs;
  const std::atomic<bool> *interrupted = nullptr;
  /// Reads the profiler's counters of a kernel that was measured, profileJob()
  /// with a worker. Empty: none are read.
  std::function<llvm::Expected<NcuKernel>(const Job &)> profile;
};

/// Checks what compiles in worker processes, and times it there beside dense
/// and the floor, or emulates it. A rewritten kernel is emulated first either
/// way. Chips that the device does not run are only compiled.
class JobEvaluator : public CompiledEvaluator {
public:
  /// `weight` and `builder` outlive this.
  JobEvaluator(const Matrix &weight, const Problem &problem,
               CandidateBuilder &builder, JobSettings settings,
               unsigned threads = 1)
      : CompiledEvaluator(problem, builder, threads), weight(weight),
        settings(std::move(settings)) {}
  ~JobEvaluator() override;

  TimeSource times(const Chip &chip) const override;
  void judge(llvm::MutableArrayRef<Candidate> candidates,
             const Chip &chip) override;
  llvm::Expected<Pair> compare(const Candidate &challenger,
                               const Candidate *incumbent,
                               const Chip &chip) override;

private:
  /// A package of these kernels, replacing the last; the symbols in order.
  llvm::Expected<std::vector<std::string>>
  stage(llvm::ArrayRef<const Candidate *> candidates, const Chip &chip);
  std::string packagePath() const { return directory + "/package"; }
  Job jobFor(const std::string &symbol, int64_t n, const Chip &chip,
             bool isEmulated) const;
  void addCounters(Candidate &candidate, const Job &job);

  const Matrix &weight;
  JobSettings settings;
  std::string directory;   ///< Of the package; empty until there is one.
  bool saidAbsent = false; ///< Which counters there are not.
};

/// What became of a candidate whose job ended so.
CandidateStatus candidateStatus(RunStatus status);

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_EVALUATORS_H
