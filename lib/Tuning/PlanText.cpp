//===- PlanText.cpp - plan.mlir of a package ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackageText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace sparseditto;

static void printStrategy(llvm::raw_ostream &os, const PlanEntry &entry) {
  if (entry.useLibrary) {
    os << "<library>";
    return;
  }
  os << '<' << entry.strategy.family << ", {";
  llvm::interleaveComma(entry.strategy.knobs, os, [&](const auto &knob) {
    os << knob.first << " = " << knob.second;
  });
  os << "}>";
}

std::string sparseditto::planText(const Package &package) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// Which strategy serves which N, by layer and chip. \"library\" is "
        "the "
        "dense library.\n";
  for (const PackageLayer &layer : package.layers)
    for (const KernelManifest &kernel : layer.kernels)
      if (kernel.custom)
        os << "// " << kernel.symbol << " for " << kernel.chip
           << " is rewritten; its base stands here.\n";
  os << "module attributes {sparsepattern.plans = {\n";
  bool isFirst = true;
  for (const PackageLayer &layer : package.layers) {
    std::map<std::string, std::vector<const PlanEntry *>> byChip;
    for (const PlanEntry &entry : layer.plan)
      byChip[entry.chip].push_back(&entry);
    for (const auto &[chip, entries] : byChip) {
      os << (isFirst ? "  \"" : ",\n  \"");
      isFirst = false;
      llvm::printEscapedString(layer.name + ":" + chip, os);
      os << "\" = #sparsepattern.plan<[";
      llvm::interleaveComma(entries, os, [&](const PlanEntry *entry) {
        if (entry->nMax)
          os << "\"n <= " << entry->nMax << "\" : ";
        else
          os << "else : ";
        printStrategy(os, *entry);
      });
      os << "]>";
    }
  }
  os << "\n}} {\n}\n";
  return text;
}
