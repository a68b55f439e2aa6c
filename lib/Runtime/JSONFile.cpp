//===- JSONFile.cpp - JSON files that nobody vouches for ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/JSONFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;

static constexpr unsigned maxDepth = 64;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Deepest nesting of brackets outside strings.
static unsigned nestingDepth(llvm::StringRef text) {
  unsigned depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

llvm::Expected<llvm::json::Value>
sparseditto::parseJSON(llvm::StringRef text, llvm::StringRef where) {
  if (unsigned depth = nestingDepth(text); depth > maxDepth)
    return fail(where + ": JSON nested " + llvm::Twine(depth) +
                " deep, at most " + llvm::Twine(maxDepth) + " is read");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return fail(where + ": " + llvm::toString(value.takeError()));
  return value;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
sparseditto::readRegularFile(llvm::StringRef path, uint64_t maxBytes) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return fail(path + ": " + code.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return fail(path + ": not a regular file");
  if (status.getSize() > maxBytes)
    return fail(path + ": " + llvm::Twine(status.getSize()) +
                " bytes, at most " + llvm::Twine(maxBytes) + " are read");
  // Volatile: read, not mapped, as a mapped file that shrinks ends the process.
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/true,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return fail(path + ": " + buffer.getError().message());
  return std::move(*buffer);
}

llvm::Expected<llvm::json::Value>
sparseditto::readJSONFile(llvm::StringRef path, uint64_t maxBytes) {
  auto buffer = readRegularFile(path, maxBytes);
  if (!buffer)
    return buffer.takeError();
  return parseJSON((*buffer)->getBuffer(), path);
}

llvm::Error sparseditto::writeJSONFile(llvm::StringRef path,
                                       const llvm::json::Value &value) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    os << llvm::formatv("{0:2}", value) << '\n';
    return llvm::Error::success();
  });
}
