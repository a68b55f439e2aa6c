//===- Subcommands.h - What sd-tune can do ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file a subcommand; the table is in sd-tune.cpp. A subcommand gets the
// arguments after its name and returns the exit code: 0 for success, 1 for bad
// input, 2 for a bad command line.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TOOLS_SDTUNE_SUBCOMMANDS_H
#define SPARSEDITTO_TOOLS_SDTUNE_SUBCOMMANDS_H

#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace sparseditto::tool {

int analyzeMain(llvm::ArrayRef<const char *> args);
int compileMain(llvm::ArrayRef<const char *> args);
int tuneMain(llvm::ArrayRef<const char *> args);
int explainMain(llvm::ArrayRef<const char *> args);
/// Also 3: there is no GPU and none was done without.
int runMain(llvm::ArrayRef<const char *> args);
int approveMain(llvm::ArrayRef<const char *> args);
int doctorMain(llvm::ArrayRef<const char *> args);
/// Also 3, as runMain.
int selftestMain(llvm::ArrayRef<const char *> args);
int workerMain(llvm::ArrayRef<const char *> args);

/// The path of this program, to start workers with.
std::string programPath();

} // namespace sparseditto::tool

#endif // SPARSEDITTO_TOOLS_SDTUNE_SUBCOMMANDS_H
