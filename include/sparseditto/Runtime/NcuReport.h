//===- NcuReport.h - Counters from Nsight Compute ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what `ncu --csv` prints, as its details page (a row a metric, by title
// or by name) or as its raw page (a row a launch), amid whatever else the
// program printed.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_NCUREPORT_H
#define SPARSEDITTO_RUNTIME_NCUREPORT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace sparseditto {

struct NcuKernel {
  std::string name; ///< As ncu prints it, arguments included.
  /// By the names of Support/Counters.h; what the report has not is absent.
  std::map<std::string, double> counters;
  double microseconds = 0; ///< Under the profiler; 0 if not told.
};

struct NcuReport {
  std::vector<NcuKernel> kernels; ///< In the order of launches.
  /// ncu's own "==ERROR==" and "==WARNING==" lines.
  std::vector<std::string> messages;

  /// The last launch of a kernel with this name (or this name and arguments);
  /// null if there is none.
  const NcuKernel *find(llvm::StringRef symbol) const;
};

/// Untrusted text: an error if there is no table in it, if a quote does not
/// end, or if it holds more than 10000 launches; the error repeats ncu's.
llvm::Expected<NcuReport> parseNcuCsv(llvm::StringRef text);

/// Names of counters (Support/Counters.h) that `kernel` lacks; "stall reasons"
/// where it has none of those.
std::vector<std::string> absentCounters(const NcuKernel &kernel);

/// The metrics to ask for, for --metrics.
std::string ncuMetrics();

/// $SPARSEDITTO_NCU, else ncu where findToolkitProgram looks. Empty if there is
/// none.
std::string findNcu();

/// What ncu and its program wrote.
struct NcuOutput {
  std::string text;
  int exitCode = 0;
};
/// Runs a program behind these arguments, of which the first is ncu.
using NcuRun = llvm::function_ref<llvm::Expected<NcuOutput>(
    std::vector<std::string> arguments)>;

/// profile() of whatever `run` runs, which is called again with fewer metrics
/// where the chip lacks some.
llvm::Expected<NcuReport> profileWith(NcuRun run, llvm::StringRef symbol,
                                      unsigned skip);

/// Runs `command` (such as sd-tune worker JOB RESULT) under ncu and reads the
/// counters of its launches of `symbol`, of which `skip` are passed over first:
/// the profiler replays a launch many times and its times are not to be used.
/// Clocks are left alone. An error if ncu is missing or fails, with what it
/// said.
llvm::Expected<NcuReport> profile(llvm::ArrayRef<std::string> command,
                                  llvm::StringRef symbol, unsigned skip,
                                  unsigned timeoutSeconds);

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_NCUREPORT_H
