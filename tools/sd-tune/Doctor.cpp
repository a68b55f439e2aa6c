//===- Doctor.cpp - What this machine can do ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Doctor.h"
#include "CommandLine.h"
#include "Subcommands.h"
#include "sparseditto/Support/Table.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;

int tool::doctorMain(llvm::ArrayRef<const char *> args) {
  bool json = false, measure = false;
  CommandLine commandLine("doctor", "",
                          "say what this machine has and what it enables");
  commandLine.flag("--json", json, "print one JSON object");
  commandLine.flag("--measure", measure,
                   "measure the memory floor of the GPU (takes a minute)");
  if (std::optional<int> code = commandLine.parse(args))
    return *code;
  if (!commandLine.positional.empty())
    return commandLine.usageError("unexpected argument '" +
                                  commandLine.positional[0] + "'");
  Diagnosis diagnosis = diagnose(measure);
  if (json) {
    llvm::outs() << llvm::formatv("{0:2}", diagnosis.toJSON()) << "\n";
    return 0;
  }
  Table table({"", "found", "what", "enables"});
  for (const Finding &finding : diagnosis.findings)
    table.row({finding.title, finding.found ? "yes" : "no", finding.detail,
               finding.enables});
  table.print(llvm::outs());
  if (diagnosis.floor) {
    Table curve({"MB", "us"});
    curve.alignRight(0);
    curve.alignRight(1);
    for (const FloorPoint &point : diagnosis.floor->points())
      curve.row({llvm::formatv("{0:f2}", point.bytes / 1e6).str(),
                 llvm::formatv("{0:f2}", point.microseconds).str()});
    llvm::outs() << "\ncold read of one launch on " << diagnosis.floor->device()
                 << "\n";
    curve.print(llvm::outs());
  }
  return 0;
}
