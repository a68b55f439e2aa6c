//===- MutateTokens.cpp - Mutations of text in tokens ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutators.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <random>
#include <vector>

using namespace sparseditto;
using Random = std::minstd_rand;

/// Given by libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

static size_t below(Random &random, size_t bound) { return random() % bound; }

/// Words and numbers, strings, runs of blanks, single other characters.
static std::vector<std::string> tokenize(llvm::StringRef text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    size_t length = 1;
    auto run = [&](auto matches) { return text.take_while(matches).size(); };
    if (size_t word = run([](char c) {
          return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
        }))
      length = word;
    else if (size_t blanks = run(llvm::isSpace))
      length = blanks;
    else if (text.front() == '"')
      length = std::min(text.find('"', 1), text.size() - 1) + 1;
    tokens.push_back(text.take_front(length).str());
    text = text.drop_front(length);
  }
  return tokens;
}

size_t fuzz::mutateTokens(uint8_t *data, size_t size, size_t maxSize,
                          unsigned seed,
                          llvm::ArrayRef<llvm::StringRef> words) {
  Random random(seed);
  std::vector<std::string> tokens =
      tokenize({reinterpret_cast<const char *>(data), size});
  if (tokens.empty() || below(random, 8) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  for (size_t i = 0, changes = 1 + below(random, 3); i < changes; ++i) {
    if (tokens.empty())
      break;
    const size_t at = below(random, tokens.size());
    std::string fresh;
    switch (below(random, 3)) {
    case 0:
      fresh = tokens[below(random, tokens.size())];
      break;
    case 1:
      fresh = words[below(random, words.size())].str();
      break;
    default:
      fresh = std::to_string(fuzz::hostileIntegers[below(
          random, std::size(fuzz::hostileIntegers))]);
    }
    switch (below(random, 6)) {
    case 0: {
      const size_t length = std::min(1 + below(random, 4), tokens.size() - at);
      tokens.erase(tokens.begin() + at, tokens.begin() + at + length);
      break;
    }
    case 1: {
      // A stretch of the text once more, elsewhere.
      const size_t length = std::min(1 + below(random, 24), tokens.size() - at);
      std::vector<std::string> stretch(tokens.begin() + at,
                                       tokens.begin() + at + length);
      tokens.insert(tokens.begin() + below(random, tokens.size()),
                    stretch.begin(), stretch.end());
      break;
    }
    case 2:
      tokens.insert(tokens.begin() + at, fresh);
      break;
    default:
      tokens[at] = fresh;
    }
  }
  std::string changed = llvm::join(tokens, "");
  if (changed.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
