//===- TextCursor.h - Lines and numbers of text formats ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_TEXTCURSOR_H
#define SPARSEDITTO_LIB_IO_TEXTCURSOR_H

#include "ReaderSupport.h"
#include "llvm/ADT/StringExtras.h"

namespace sparseditto {

/// Walks over the lines of a text, which end in LF, CR LF or CR, and makes
/// errors that name the current one.
class TextCursor {
public:
  TextCursor(llvm::StringRef path, llvm::StringRef text)
      : path(path), rest(text) {}

  /// Moves to the next line; false at the end of the text.
  bool next() {
    if (rest.empty())
      return false;
    size_t end = rest.find_first_of("\r\n");
    current = rest.take_front(end);
    rest = end == llvm::StringRef::npos ? llvm::StringRef() : rest.substr(end);
    if (!rest.consume_front("\r\n"))
      rest = rest.drop_front(rest.empty() ? 0 : 1);
    ++number;
    return true;
  }
  llvm::StringRef line() const { return current; }
  /// The line, 1-based; 0 before the first.
  int64_t lineNumber() const { return number; }
  llvm::StringRef remaining() const { return rest; }

  /// "<path>:<line>: <message>".
  template <typename... Ts>
  llvm::Error error(const char *format, Ts &&...values) const {
    return readError((path + ":" + llvm::Twine(number)).str(),
                     llvm::formatv(format, std::forward<Ts>(values)...));
  }

private:
  llvm::StringRef path, rest, current;
  int64_t number = 0;
};

/// Takes the next token off `line`; empty if there is none.
inline llvm::StringRef takeToken(llvm::StringRef &line,
                                 llvm::StringRef separators = " \t\v\f") {
  line = line.ltrim(separators);
  size_t end = line.find_first_of(separators);
  llvm::StringRef token = line.take_front(end);
  line = line.drop_front(token.size());
  return token;
}

/// A decimal number of digits only that is at most 2^63 - 1.
inline std::optional<int64_t> parseCount(llvm::StringRef token) {
  int64_t value;
  if (token.empty() || !llvm::isDigit(token[0]) ||
      token.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_TEXTCURSOR_H
