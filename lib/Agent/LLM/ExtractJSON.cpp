//===- ExtractJSON.cpp - Finding JSON in a model's text -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExtractJSON.h"
#include "sparseditto/Agent/StructuredReply.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"

using namespace sparseditto;
using namespace sparseditto::chat;

/// More objects than this are not tried.
static constexpr size_t maxObjects = 8;
/// Opening braces from which a match is looked for, each at the cost of a scan.
static constexpr size_t maxStarts = 64;
/// An answer of more is no answer; scanning it over and over would take long.
static constexpr size_t maxScanned = size_t(1) << 20;

/// The contents of ``` and ~~~ blocks. One without an end reaches to the end of
/// the text.
static std::vector<llvm::StringRef> fencedBlocks(llvm::StringRef text) {
  std::vector<llvm::StringRef> blocks;
  size_t start = llvm::StringRef::npos;
  llvm::StringRef fence;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    llvm::StringRef line = text.slice(at, end).trim();
    size_t next = std::min(end + 1, text.size());
    if (start == llvm::StringRef::npos) {
      for (llvm::StringRef mark : {"```", "~~~"})
        if (line.starts_with(mark)) {
          fence = mark;
          start = next;
        }
    } else if (line.starts_with(fence)) {
      blocks.push_back(text.slice(start, at));
      start = llvm::StringRef::npos;
    }
    at = next;
    if (next == text.size())
      break;
  }
  if (start != llvm::StringRef::npos)
    blocks.push_back(text.substr(start));
  return blocks;
}

/// Length of the object that begins `text`; 0 if its brace is never closed.
static size_t balancedLength(llvm::StringRef text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

static std::vector<llvm::StringRef> balancedSpans(llvm::StringRef text) {
  std::vector<llvm::StringRef> spans;
  size_t at = text.find('{');
  for (size_t starts = 0; at != llvm::StringRef::npos && starts < maxStarts;
       ++starts) {
    size_t length = balancedLength(text.substr(at));
    if (length != 0)
      spans.push_back(text.substr(at, length));
    at = text.find('{', at + std::max<size_t>(length, 1));
  }
  return spans;
}

std::vector<Json> chat::findObjects(llvm::StringRef text, std::string &error) {
  std::vector<Json> objects;
  text = text.trim();
  bool truncated = text.size() > maxScanned;
  if (truncated)
    text = text.take_back(maxScanned);
  auto attempt = [&](llvm::StringRef span) {
    if (objects.size() >= maxObjects)
      return;
    llvm::Expected<Json> value = parseJson(span);
    if (!value) {
      std::string problem = llvm::toString(value.takeError());
      if (error.empty())
        error = problem;
      return;
    }
    if (value->is_object() && !llvm::is_contained(objects, *value))
      objects.push_back(std::move(*value));
  };
  if (text.starts_with("{"))
    attempt(text);
  std::vector<llvm::StringRef> blocks = fencedBlocks(text);
  for (llvm::StringRef block : llvm::reverse(blocks))
    if (block.trim().starts_with("{"))
      attempt(block);
  std::vector<llvm::StringRef> spans = balancedSpans(text);
  for (llvm::StringRef span : llvm::reverse(spans))
    attempt(span);
  if (objects.empty() && error.empty())
    error = text.empty()         ? "the answer is empty"
            : text.contains('{') ? "the JSON object is not closed"
                                 : "there is no JSON object in the answer";
  return objects;
}

llvm::Expected<std::string> sparseditto::extractJSON(llvm::StringRef text) {
  std::string error;
  std::vector<Json> objects = findObjects(text, error);
  if (objects.empty())
    return makeError("{0}", error);
  return dump(objects.front());
}
