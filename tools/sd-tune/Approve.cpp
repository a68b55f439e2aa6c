//===- Approve.cpp - Kernels that an agent wrote, before a person ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Subcommands.h"
#include "sparseditto/Agent/PromptText.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/Review.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace sparseditto;
using namespace sparseditto::tool;
namespace json = llvm::json;

static constexpr size_t maxLine = 400;

/// What was measured, in words: the record with the kernel's id.
static std::string recordText(llvm::StringRef records,
                              const KernelManifest &kernel) {
  llvm::SmallVector<llvm::StringRef> lines;
  records.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    auto value = parseJSON(line, "records.jsonl");
    if (!value) {
      llvm::consumeError(value.takeError());
      continue;
    }
    const json::Object *record = value->getAsObject();
    if (!record || kernel.recordId.empty() ||
        record->getString("id") != kernel.recordId)
      continue;
    std::string text = kernel.recordId;
    if (auto status = record->getString("status"))
      text += ", " + escaped(*status, maxLine);
    if (auto n = record->getInteger("n"))
      text += ", N = " + std::to_string(*n);
    auto time = [&](llvm::StringRef key, llvm::StringRef label) {
      if (auto us = record->getNumber(key); us && *us > 0)
        text += llvm::formatv(", {0} {1:F2} us", label, *us);
    };
    time("us", "measured");
    time("dense_us", "dense");
    time("floor_us", "floor");
    time("predicted_us", "predicted");
    return text;
  }
  return kernel.recordId.empty() ? "none" : kernel.recordId + ", not found";
}

/// Text of an agent goes to the terminal escaped.
static void printLines(llvm::raw_ostream &os, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.rtrim().split(lines, '\n');
  for (llvm::StringRef line : lines)
    os << "  | " << escaped(line, maxLine) << "\n";
}

static llvm::Error printList(const Package &package, llvm::raw_ostream &os) {
  std::string records;
  if (auto text = readPackageFile(package, "records.jsonl"))
    records = std::move(*text);
  else // A package may be without.
    llvm::consumeError(text.takeError());
  unsigned count = 0;
  for (const PackageLayer &layer : package.layers)
    for (const KernelManifest &kernel : layer.kernels) {
      auto review = reviewOf(package, kernel);
      if (!review)
        return review.takeError();
      if (*review == Review::NotNeeded)
        continue;
      ++count;
      os << kernel.symbol << " (layer " << quoted(layer.name, maxLine) << ", "
         << kernel.chip << "): " << name(*review);
      if (!kernel.custom) {
        os << ", of unknown origin\n";
        continue;
      }
      const CustomKernel &custom = *kernel.custom;
      if (*review == Review::Approved)
        os << " by " << custom.approvedBy;
      if (*review == Review::Changed)
        os << " since " << custom.approvedBy << " approved it";
      os << "\n  base: " << custom.base.str()
         << "\n  reason: " << quoted(custom.reason, maxLine)
         << "\n  record: " << recordText(records, kernel)
         << "\n  text: " << kernel.mlirFile << "\n  diff: " << custom.diffFile
         << "\n";
      auto diff = readPackageFile(package, custom.diffFile);
      if (!diff)
        return diff.takeError();
      printLines(os, *diff);
    }
  if (count == 0)
    os << "no kernel of the package was written by an agent\n";
  return llvm::Error::success();
}

int tool::approveMain(llvm::ArrayRef<const char *> args) {
  bool list = false;
  std::string by;
  CommandLine commandLine("approve", "PACKAGE [KERNEL]",
                          "vouch for a kernel that an agent wrote: what it is "
                          "now is approved, a later change is not");
  commandLine.flag("--list", list,
                   "print the kernels that need a person: base, reason, "
                   "record, what was changed");
  commandLine.value("--by", "NAME", by,
                    "who approves (default: $USER, the user who runs this)");
  if (std::optional<int> code = commandLine.parse(args))
    return *code;
  if (commandLine.positional.size() != (list ? 1 : 2))
    return commandLine.usageError(list ? "--list expects one PACKAGE"
                                       : "expected PACKAGE and KERNEL");
  const std::string &directory = commandLine.positional[0];
  if (list) {
    // A package that may not be used yet can be looked at.
    auto package = readPackage(directory, "", PackageUse::Review);
    if (!package)
      return commandLine.fail(package.takeError());
    if (llvm::Error error = printList(*package, llvm::outs()))
      return commandLine.fail(std::move(error));
    return 0;
  }
  if (by.empty())
    if (const char *user = std::getenv("USER"))
      by = user;
  if (by.empty())
    return commandLine.usageError("--by NAME is missing and $USER is not set");
  const std::string &symbol = commandLine.positional[1];
  auto approved = approveKernel(directory, symbol, by);
  if (!approved)
    return commandLine.fail(approved.takeError());
  llvm::outs() << symbol << ": approved by " << by;
  if (*approved > 1)
    llvm::outs() << ", " << *approved << " kernels";
  llvm::outs() << "\n";
  return 0;
}
