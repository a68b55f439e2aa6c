//===- KernelOutline.cpp - The structure of a kernel's MLIR ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel has 500 to 3000 lines, most of them address arithmetic. What an
// author has to see first is the order of everything else.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Prompt.h"
#include "sparseditto/Agent/PromptText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;

/// Operations that make the structure.
static constexpr llvm::StringLiteral kinds[] = {
    "gpu.func",        "scf.for",       "scf.while",
    "scf.if",          "gpu.barrier",   "nvvm.barrier",
    "nvvm.cp.async",   "nvvm.mbarrier", "nvvm.griddepcontrol",
    "nvvm.ldmatrix",   "nvvm.mma",      "nvvm.wgmma",
    "nvvm.shfl",       "llvm.load",     "llvm.store",
    "llvm.inline_asm", "memref.load",   "memref.store",
    "vector.load",     "vector.store",  "math.fma",
    "gpu.return",
};

static llvm::StringRef kindOf(llvm::StringRef line) {
  for (llvm::StringRef kind : kinds)
    if (line.contains(kind))
      return kind;
  return "";
}

/// Which memory an access is to: loads of one kind that differ in it are not
/// one run.
static llvm::StringRef spaceOf(llvm::StringRef line) {
  return line.contains("ptr<3>") ? "shared" : "";
}

std::string sparseditto::kernelOutline(llvm::StringRef listing,
                                       int64_t maxTokens) {
  std::string result;
  int64_t tokens = 0;
  unsigned repeated = 0;
  llvm::StringRef lastKind, lastSpace;
  bool isFull = false;
  auto append = [&](const std::string &line) {
    int64_t cost = estimatePromptTokens(line);
    // Room for the last line.
    isFull |= tokens + cost + 16 > maxTokens;
    if (isFull)
      return;
    result += line;
    tokens += cost;
  };
  auto endRun = [&] {
    if (repeated > 0)
      append("|   (" + std::to_string(repeated) + " more like it)\n");
    repeated = 0;
  };
  llvm::SmallVector<llvm::StringRef> lines;
  listing.split(lines, '\n');
  size_t shown = 0;
  for (llvm::StringRef line : lines) {
    llvm::StringRef kind = kindOf(line);
    if (kind.empty())
      continue;
    llvm::StringRef space = spaceOf(line);
    const bool isLoop = kind.starts_with("scf.") || kind.starts_with("gpu.");
    if (!isLoop && kind == lastKind && space == lastSpace) {
      ++repeated;
      continue;
    }
    endRun();
    lastKind = kind;
    lastSpace = space;
    // A signature is long and tells the parameters.
    append("| " + escaped(line.rtrim(), kind == "gpu.func" ? 400 : 120) + "\n");
    if (isFull)
      break;
    ++shown;
  }
  endRun();
  if (isFull)
    result += "| (cut here)\n";
  return shown == 0 ? "" : result;
}
