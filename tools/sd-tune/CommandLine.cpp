//===- CommandLine.cpp - Options of one subcommand ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace sparseditto::tool;

void CommandLine::flag(llvm::StringRef name, bool &target,
                       llvm::StringRef help) {
  options.push_back({name.str(), "", help.str(), &target});
}

void CommandLine::value(llvm::StringRef name, llvm::StringRef placeholder,
                        std::string &target, llvm::StringRef help) {
  options.push_back({name.str(), placeholder.str(), help.str(), &target});
}

void CommandLine::value(llvm::StringRef name, llvm::StringRef placeholder,
                        unsigned &target, llvm::StringRef help) {
  options.push_back({name.str(), placeholder.str(), help.str(), &target});
}

void CommandLine::values(llvm::StringRef name, llvm::StringRef placeholder,
                         std::vector<std::string> &target,
                         llvm::StringRef help) {
  options.push_back({name.str(), placeholder.str(), help.str(), &target});
}

std::optional<int> CommandLine::parse(llvm::ArrayRef<const char *> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    llvm::StringRef arg = args[i];
    if (arg == "--") {
      positional.insert(positional.end(), args.begin() + i + 1, args.end());
      break;
    }
    if (!arg.starts_with("-") || arg == "-") {
      positional.push_back(arg.str());
      continue;
    }
    if (arg == "--help" || arg == "-h") {
      printHelp();
      return 0;
    }
    auto [name, inlineValue] = arg.split('=');
    const bool hasInlineValue = arg.contains('=');
    auto option = llvm::find_if(
        options, [&, name = name](const Option &o) { return name == o.name; });
    if (option == options.end())
      return usageError("unknown option '" + name + "'");
    if (auto *flag = std::get_if<bool *>(&option->target)) {
      if (hasInlineValue)
        return usageError("option '" + name + "' takes no value");
      **flag = true;
      continue;
    }
    if (!hasInlineValue && i + 1 == args.size())
      return usageError("option '" + name + "' expects " + option->placeholder);
    llvm::StringRef text = hasInlineValue ? inlineValue : args[++i];
    if (auto *string = std::get_if<std::string *>(&option->target)) {
      **string = text.str();
    } else if (auto *strings =
                   std::get_if<std::vector<std::string> *>(&option->target)) {
      (*strings)->push_back(text.str());
    } else if (text.getAsInteger(10,
                                 **std::get_if<unsigned *>(&option->target))) {
      return usageError("option '" + name + "' expects a number, got '" + text +
                        "'");
    }
  }
  return std::nullopt;
}

int CommandLine::fail(const llvm::Twine &message, int code) const {
  llvm::errs() << "sd-tune " << subcommand << ": error: " << message << "\n";
  return code;
}

int CommandLine::fail(llvm::Error error, int code) const {
  return fail(llvm::toString(std::move(error)), code);
}

int CommandLine::usageError(const llvm::Twine &message) const {
  return fail(message + "; see 'sd-tune " + subcommand + " --help'", 2);
}

void CommandLine::printHelp() const {
  llvm::raw_ostream &os = llvm::outs();
  os << "usage: sd-tune " << subcommand << " " << operands << " [options]\n\n"
     << summary << "\n\noptions:\n";
  size_t width = 6;
  for (const Option &option : options)
    width = std::max(width, option.name.size() + option.placeholder.size() + 1);
  auto line = [&](llvm::StringRef spelling, llvm::StringRef help) {
    os << "  " << llvm::left_justify(spelling, unsigned(width)) << "  " << help
       << "\n";
  };
  for (const Option &option : options)
    line(option.placeholder.empty() ? option.name
                                    : option.name + " " + option.placeholder,
         option.help);
  line("--help", "print this text");
}
