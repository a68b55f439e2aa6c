//===- KernelFacts.cpp - What a built kernel tells -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFacts.h"
#include "sparseditto/Target/SassFacts.h"
#include "sparseditto/Tuning/Loop.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/xxhash.h"

using namespace sparseditto;

static std::string without(llvm::StringRef text, llvm::StringRef symbol) {
  std::string result;
  while (true) {
    size_t at = text.find(symbol);
    result += text.substr(0, at).str();
    if (at == llvm::StringRef::npos)
      return result;
    text = text.substr(at + symbol.size());
  }
}

/// Sections of a cubin that a launch depends on; nothing if it is no ELF file.
static std::string codeOf(llvm::StringRef cubin, llvm::StringRef symbol) {
  std::string code;
  auto file = llvm::object::ELFFile<llvm::object::ELF64LE>::create(cubin);
  if (!file) {
    llvm::consumeError(file.takeError());
    return "";
  }
  auto sections = file->sections();
  if (!sections) {
    llvm::consumeError(sections.takeError());
    return "";
  }
  for (const auto &section : *sections) {
    auto name = file->getSectionName(section);
    if (!name) {
      llvm::consumeError(name.takeError());
      return "";
    }
    if (!name->starts_with(".text.") && !name->starts_with(".nv.constant") &&
        !name->starts_with(".nv.shared") && !name->starts_with(".nv.info."))
      continue;
    code += without(*name, symbol) + ":" + std::to_string(section.sh_size) +
            ":" + std::to_string(section.sh_flags) + ":";
    if (section.sh_type == llvm::ELF::SHT_NOBITS)
      continue;
    auto bytes = file->getSectionContents(section);
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return "";
    }
    code.append(bytes->begin(), bytes->end());
  }
  return code;
}

std::string sparseditto::binaryHash(const CachedKernel &kernel) {
  const KernelManifest &manifest = kernel.manifest;
  std::string key = codeOf(kernel.cubin, manifest.symbol);
  if (key.empty())
    key = without(kernel.ptx, manifest.symbol);
  llvm::raw_string_ostream os(key);
  for (const GridDim &dim : manifest.grid)
    os << '|' << dim.factor << '/' << dim.divisor;
  for (unsigned threads : manifest.block)
    os << '|' << threads;
  // Another packed copy is another operand.
  os << '|' << manifest.dynamicSharedBytes << '|'
     << packingKey(manifest.custom ? manifest.custom->base : manifest.strategy);
  return llvm::utohexstr(llvm::xxh3_64bits(llvm::StringRef(key)),
                         /*LowerCase=*/true, /*Width=*/16);
}

KernelFacts sparseditto::collectFacts(const CachedKernel &kernel,
                                      const PtxasReport &report,
                                      bool readSass) {
  KernelFacts facts;
  const KernelResources &used = kernel.resources;
  facts.registers = used.registers;
  facts.spillBytes = used.spillStoreBytes + used.spillLoadBytes;
  facts.staticSharedBytes = used.sharedBytes;
  facts.sharedBytes = used.sharedBytes + kernel.manifest.dynamicSharedBytes;
  for (const PtxasMessage &message : report.messages)
    if (message.severity != PtxasSeverity::Info)
      facts.advisories.push_back(message.code.empty()
                                     ? message.text
                                     : message.code + ": " + message.text);
  facts.binaryHash = binaryHash(kernel);
  if (!readSass || kernel.cubin.empty())
    return facts;
  auto sass = sassFactsOfCubin(kernel.cubin, kernel.manifest);
  if (sass)
    facts.sass = std::move(*sass);
  else
    facts.sass.push_back("no facts: " + llvm::toString(sass.takeError()));
  return facts;
}
