//===- CompileSpelling.h - What compile and tune are asked for --*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TOOLS_SDTUNE_COMPILESPELLING_H
#define SPARSEDITTO_TOOLS_SDTUNE_COMPILESPELLING_H

#include "CommandLine.h"
#include "sparseditto/Tuning/Agents.h"
#include "sparseditto/Tuning/Compile.h"
#include <string>

namespace sparseditto::tool {

/// The options that compile and tune share, as they are spelt.
struct CompileSpelling {
  std::string ns = "1,16,512", targets = "sm_90a", output, tensor = "*";
  std::string layout = "token-major", type, agent = "heuristic", families;
  std::string activation = "none";
  unsigned copies = 1, budget = 64, jobs = 0, ptxasTimeout = 60;
  bool json = false, bias = false, residual = false, production = false;

  /// Declares them; `agents` lists who may propose, `budgetName` is the option
  /// that bounds candidates.
  void declare(CommandLine &command, llvm::StringRef budgetName,
               llvm::StringRef agents);
  /// What they mean. Sets the sources, unless the agent is "replay:FILE", whose
  /// transcript is the caller's to read.
  llvm::Expected<CompileOptions> interpret(const CommandLine &command,
                                           AgentOptions agents = {}) const;
};

/// "OPTION: got 'GOT', expected EXPECTED".
llvm::Error invalidOption(llvm::StringRef option, llvm::StringRef got,
                          llvm::StringRef expected);
/// Prints what compile and tune have in common as one JSON object, `more` added
/// to it.
void printCompileJSON(const CompileResult &result, llvm::StringRef package,
                      llvm::json::Object more = {});
/// Prints skipped tensors and notes, a line each.
void printSkipped(llvm::raw_ostream &os, const CompileResult &result);

} // namespace sparseditto::tool

#endif // SPARSEDITTO_TOOLS_SDTUNE_COMPILESPELLING_H
