//===- Table.cpp - Columns of text ----------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/Table.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Unicode.h"
#include <algorithm>

using namespace sparseditto;

static unsigned columnWidth(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? unsigned(text.size()) : unsigned(width);
}

Table::Table(std::vector<std::string> header) : right(header.size(), false) {
  row(std::move(header));
}

void Table::row(std::vector<std::string> cells) {
  for (std::string &cell : cells)
    std::replace_if(
        cell.begin(), cell.end(),
        [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  rows.push_back(std::move(cells));
}

void Table::print(llvm::raw_ostream &os) const {
  std::vector<unsigned> widths(right.size(), 0);
  for (const std::vector<std::string> &row : rows)
    for (size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], columnWidth(row[c]));
  for (const std::vector<std::string> &row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      unsigned padding = widths[c] - columnWidth(row[c]);
      // No trailing blanks.
      if (right[c])
        os.indent(padding) << row[c];
      else if (c + 1 == row.size())
        os << row[c];
      else
        os << row[c], os.indent(padding);
      os << (c + 1 == row.size() ? "\n" : "  ");
    }
  }
}
