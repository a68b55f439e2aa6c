//===- Table.h - Columns of text --------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_TABLE_H
#define SPARSEDITTO_SUPPORT_TABLE_H

#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace sparseditto {

/// Columns as wide as their widest cell, two spaces between. Control characters
/// in cells, which may come from files, are printed as '?'.
class Table {
public:
  explicit Table(std::vector<std::string> header);
  void alignRight(size_t column) { right[column] = true; }
  /// As many cells as the header has.
  void row(std::vector<std::string> cells);
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right;
};

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_TABLE_H
