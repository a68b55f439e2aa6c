//===- CommandLine.h - Options of one subcommand ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm::cl keeps one global set of options, which the libraries that are linked
// in fill with theirs. Each subcommand declares its own here.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TOOLS_SDTUNE_COMMANDLINE_H
#define SPARSEDITTO_TOOLS_SDTUNE_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sparseditto::tool {

class CommandLine {
public:
  /// `operands` is the usage text of the positional arguments, "FILE...".
  CommandLine(llvm::StringRef subcommand, llvm::StringRef operands,
              llvm::StringRef summary)
      : subcommand(subcommand), operands(operands), summary(summary) {}

  /// Options are spelt with their dashes ("--json", "-o"). The targets outlive
  /// parse().
  void flag(llvm::StringRef name, bool &target, llvm::StringRef help);
  void value(llvm::StringRef name, llvm::StringRef placeholder,
             std::string &target, llvm::StringRef help);
  /// May be given more than once.
  void values(llvm::StringRef name, llvm::StringRef placeholder,
              std::vector<std::string> &target, llvm::StringRef help);
  /// A decimal number >= 0.
  void value(llvm::StringRef name, llvm::StringRef placeholder,
             unsigned &target, llvm::StringRef help);

  /// Sets the targets and `positional`. Accepts `--name value`, `--name=value`
  /// and `--` before operands that begin with a dash. An exit code means that
  /// the program is done: 0 after --help, 2 after an error, which was printed.
  std::optional<int> parse(llvm::ArrayRef<const char *> args);

  std::vector<std::string> positional;

  /// Prints "sd-tune SUBCOMMAND: error: MESSAGE" to stderr, returns `code`.
  int fail(const llvm::Twine &message, int code = 1) const;
  int fail(llvm::Error error, int code = 1) const;
  /// Like fail() with a hint at --help, for wrong command lines.
  int usageError(const llvm::Twine &message) const;

private:
  struct Option {
    std::string name, placeholder, help;
    std::variant<bool *, std::string *, std::vector<std::string> *, unsigned *>
        target;
  };
  void printHelp() const;

  std::string subcommand, operands, summary;
  std::vector<Option> options;
};

} // namespace sparseditto::tool

#endif // SPARSEDITTO_TOOLS_SDTUNE_COMMANDLINE_H
