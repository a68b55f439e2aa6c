//===- MutateJSON.cpp - Mutations of JSON ---------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutators.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <random>

using namespace sparseditto;
namespace json = llvm::json;
using Random = std::minstd_rand;

/// Given by libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

static size_t below(Random &random, size_t bound) { return random() % bound; }

static void collect(json::Value &value, std::vector<json::Value *> &nodes) {
  nodes.push_back(&value);
  if (json::Array *items = value.getAsArray())
    for (json::Value &item : *items)
      collect(item, nodes);
  else if (json::Object *object = value.getAsObject())
    for (auto &member : *object)
      collect(member.second, nodes);
}

static json::Value hostileScalar(Random &random) {
  static const double numbers[] = {0.5, -0.0, 1e-320, 1e308, -1e308, 1e19, 2.5};
  static const char *const strings[] = {
      "",     "a",       "a\nb",      "\x01\x7f",    "\xc3\xa9",
      "%s%n", "../a",    "a/../../b", "/etc/passwd", "a\\b",
      "\"",   "kernels", "-1",        "null"};
  switch (below(random, 8)) {
  case 0:
    return nullptr;
  case 1:
    return below(random, 2) == 0;
  case 2:
    return numbers[below(random, std::size(numbers))];
  case 3:
    return std::string(below(random, 600), 'a');
  case 4:
    return below(random, 2) ? json::Value(json::Array()) : json::Object();
  case 5:
    return strings[below(random, std::size(strings))];
  default:
    return fuzz::hostileIntegers[below(random,
                                       std::size(fuzz::hostileIntegers))];
  }
}

static void changeScalar(json::Value &node, Random &random) {
  if (std::optional<int64_t> integer = node.getAsInteger()) {
    // Near what it was, to stay within a range or to leave it just so.
    const uint64_t value = uint64_t(*integer);
    const uint64_t near[] = {value + 1, value - 1,  value * 2,
                             value / 2, ~value + 1, value + below(random, 64)};
    node = int64_t(near[below(random, std::size(near))]);
  } else if (std::optional<llvm::StringRef> text = node.getAsString()) {
    std::string bytes = text->str();
    const size_t size = bytes.size();
    bytes.resize(size + 16);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(bytes.data()),
                                  size, bytes.size()));
    node = json::fixUTF8(bytes);
  } else if (std::optional<bool> flag = node.getAsBoolean()) {
    node = !*flag;
  } else {
    node = hostileScalar(random);
  }
}

static void changeItems(json::Array &items, const json::Value &other,
                        Random &random) {
  const size_t at = below(random, items.size() + 1);
  if (items.empty() || below(random, 4) == 0) {
    items.insert(items.begin() + at, other);
    return;
  }
  const size_t from = at % items.size(), to = below(random, items.size());
  switch (below(random, 3)) {
  case 0:
    items.erase(items.begin() + from);
    break;
  case 1:
    items.insert(items.begin() + to, json::Value(items[from]));
    break;
  default:
    std::swap(items[from], items[to]);
  }
}

static void changeMembers(json::Object &object, const json::Value &other,
                          Random &random) {
  if (object.empty()) {
    object["a"] = other;
    return;
  }
  auto pick = [&] {
    return std::next(object.begin(), below(random, object.size()));
  };
  auto chosen = pick();
  const std::string name = chosen->first.str();
  switch (below(random, 3)) {
  case 0:
    object.erase(name);
    break;
  case 1: {
    json::Value copy = pick()->second;
    object[name] = std::move(copy);
    break;
  }
  default:
    object[name + "x"] = other;
  }
}

/// A change of a single place.
static void changeOnce(json::Value &root, Random &random) {
  std::vector<json::Value *> nodes;
  collect(root, nodes);
  json::Value &node = *nodes[below(random, nodes.size())];
  const json::Value other = *nodes[below(random, nodes.size())];
  switch (below(random, 4)) {
  case 0:
    node = hostileScalar(random);
    return;
  case 1:
    node = other;
    return;
  default:
    if (json::Array *items = node.getAsArray())
      changeItems(*items, other, random);
    else if (json::Object *object = node.getAsObject())
      changeMembers(*object, other, random);
    else
      changeScalar(node, random);
  }
}

size_t fuzz::mutateJSON(uint8_t *data, size_t size, size_t maxSize,
                        unsigned seed) {
  Random random(seed);
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<json::Value> root = parseJSON(text, "input");
  if (!root) {
    llvm::consumeError(root.takeError());
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  if (below(random, 8) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  for (size_t i = 0, changes = 1 + below(random, 3); i < changes; ++i)
    changeOnce(*root, random);
  std::string changed;
  llvm::raw_string_ostream(changed) << *root;
  if (changed.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
