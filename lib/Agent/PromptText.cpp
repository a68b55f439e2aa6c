//===- PromptText.cpp - Text of others in a prompt ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/PromptText.h"
#include "sparseditto/Kernels/Family.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace sparseditto;

static std::string escape(llvm::StringRef text, size_t limit, bool quotes) {
  std::string result;
  size_t cut = 0; // Where dots still fit.
  for (const unsigned char c : text) {
    std::string piece;
    if (c == '\n')
      piece = "\\n";
    else if (c == '\t')
      piece = "\\t";
    else if (c < 0x20 || c >= 0x7f)
      piece = "\\x" + llvm::utohexstr(c, /*LowerCase=*/true, /*Width=*/2);
    else if (quotes && (c == '"' || c == '\\'))
      piece = {'\\', char(c)};
    else
      piece = char(c);
    result += piece;
    if (result.size() > limit)
      return result.substr(0, cut) + "...";
    if (result.size() + 3 <= limit)
      cut = result.size();
  }
  return result;
}

std::string sparseditto::escaped(llvm::StringRef text, size_t limit) {
  return escape(text, limit, /*quotes=*/false);
}

std::string sparseditto::quoted(llvm::StringRef text, size_t limit) {
  return "\"" + escape(text, limit, /*quotes=*/true) + "\"";
}

std::string sparseditto::dataBlock(llvm::StringRef text, unsigned maxLines,
                                   size_t columns) {
  std::string result;
  text = text.rtrim();
  for (unsigned i = 0; !text.empty(); ++i) {
    if (i == maxLines) {
      result += "| (" + std::to_string(text.count('\n') + 1) + " lines more)\n";
      break;
    }
    auto [line, rest] = text.split('\n');
    line.consume_back("\r");
    result += "| " + escaped(line, columns) + "\n";
    text = rest;
  }
  return result;
}

int64_t sparseditto::estimatePromptTokens(llvm::StringRef text) {
  int64_t tokens = 0;
  while (!text.empty()) {
    const char c = text.front();
    size_t length = 1;
    if (llvm::isAlpha(c)) {
      length = text.take_while(llvm::isAlpha).size();
      // What is longer than a word is no word.
      constexpr size_t word = 12;
      tokens += 1 + int64_t(std::min(length, word) - 1) / 6 +
                int64_t(length - std::min(length, word) + 1) / 2;
    } else if (llvm::isDigit(c)) {
      length = text.take_while(llvm::isDigit).size();
      tokens += int64_t(length + 1) / 2;
    } else if (c == ' ') {
      // One blank belongs to the word behind it.
      length = text.take_while([](char d) { return d == ' '; }).size();
      tokens += length > 1;
    } else {
      ++tokens;
    }
    text = text.drop_front(length);
  }
  return tokens;
}

static std::string valueText(const KnobDeclaration *knob, int64_t value) {
  if (knob && !knob->valueNames.empty())
    for (auto [i, legal] : llvm::enumerate(knob->values))
      if (legal == value)
        return knob->valueNames[i];
  return std::to_string(value);
}

std::string sparseditto::shortText(const Strategy &strategy) {
  const KernelFamily *family = findFamily(strategy.family);
  std::string result = escaped(strategy.family, 40);
  std::string knobs;
  for (const auto &[name, value] : strategy.knobs) {
    const KnobDeclaration *knob =
        family ? family->declaration().find(name) : nullptr;
    if (knob && knob->defaultValue == value)
      continue;
    knobs += (knobs.empty() ? "" : ", ") + escaped(name, 40) + "=" +
             valueText(knob, value);
  }
  return knobs.empty() ? result : result + "(" + knobs + ")";
}

std::string sparseditto::shortText(const Proposal &proposal) {
  if (proposal.useLibrary)
    return "library";
  if (!proposal.rewrite)
    return shortText(proposal.strategy);
  // The hash at the end of the key, shortened: two rewrites of one base.
  const std::string key = proposal.key();
  return "rewrite of " + shortText(proposal.rewrite->base) + " +" +
         llvm::StringRef(key).rsplit('+').second.take_front(8).str();
}
