//===- sd-tune.cpp - Weight files in, kernels out -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subcommands.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto::tool;

namespace {
struct Subcommand {
  llvm::StringRef name, summary;
  int (*main)(llvm::ArrayRef<const char *> args);
};
} // namespace

/// Add a subcommand: a line here, its declaration in Subcommands.h, its file in
/// CMakeLists.txt.
static constexpr Subcommand subcommands[] = {
    {"analyze", "find the sparsity pattern of every tensor of weight files",
     analyzeMain},
    {"compile", "choose and build kernels for weight files, as a package",
     compileMain},
    {"tune", "search, check and time kernels for weight files", tuneMain},
    {"explain", "tell in words what a transcript says", explainMain},
    {"run", "check and time every kernel of a package", runMain},
    {"approve", "look at kernels that an agent wrote, and vouch for them",
     approveMain},
    {"doctor", "say what this machine has and what it enables", doctorMain},
    {"selftest", "show that malicious and broken kernels are refused",
     selftestMain},
    {"worker", "do one job of run in a process of its own", workerMain},
};

std::string sparseditto::tool::programPath() {
  // argv[0] may be relative or a link.
  static int anchor;
  return llvm::sys::fs::getMainExecutable("sd-tune", &anchor);
}

static void printUsage(llvm::raw_ostream &os) {
  os << "usage: sd-tune SUBCOMMAND [arguments]\n\nsubcommands:\n";
  for (const Subcommand &subcommand : subcommands)
    os << "  " << llvm::left_justify(subcommand.name, 10) << subcommand.summary
       << "\n";
  os << "\n'sd-tune SUBCOMMAND --help' lists the options of a subcommand; "
        "--version prints the version.\n";
}

int main(int argc, char **argv) {
  llvm::ArrayRef<const char *> args(argv + 1, size_t(argc > 0 ? argc - 1 : 0));
  if (args.empty()) {
    printUsage(llvm::errs());
    return 2;
  }
  llvm::StringRef first = args[0];
  if (first == "--help" || first == "-h" || first == "help") {
    printUsage(llvm::outs());
    return 0;
  }
  if (first == "--version") {
    llvm::outs() << "sd-tune " SPARSEDITTO_VERSION "\n";
    return 0;
  }
  for (const Subcommand &subcommand : subcommands)
    if (first == subcommand.name)
      return subcommand.main(args.drop_front());
  llvm::errs() << "sd-tune: error: unknown subcommand '" << first
               << "'; see 'sd-tune --help'\n";
  return 2;
}
