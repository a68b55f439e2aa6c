//===- NpyBytes.h - Build .npy files ----------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_IO_NPYBYTES_H
#define SPARSEDITTO_UNITTESTS_IO_NPYBYTES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace sparseditto::test {

/// A .npy file: version, the header dict padded as numpy pads it, the data.
inline std::string npyBytes(llvm::StringRef dict, llvm::StringRef data,
                            int version = 1) {
  const size_t prefix = version == 1 ? 10 : 12;
  std::string header = dict.str();
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += char(version);
  bytes += '\0';
  for (size_t i = 0; i < prefix - 8; ++i)
    bytes += char(header.size() >> (8 * i));
  return bytes + header + data.str();
}

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_IO_NPYBYTES_H
