//===- Packed.cpp - Packed weights ----------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Packed.h"
#include "sparseditto/IO/Matrix.h"
#include "llvm/ADT/STLExtras.h"

using namespace sparseditto;

PackedWeight PackedWeight::start(llvm::StringRef format, int version,
                                 const Matrix &weight) {
  PackedWeight packed;
  packed.format = format.str();
  packed.version = version;
  packed.m = weight.rows;
  packed.k = weight.cols;
  packed.type = weight.type;
  return packed;
}

int64_t PackedWeight::attribute(llvm::StringRef name, int64_t fallback) const {
  for (const auto &[key, value] : attributes)
    if (key == name)
      return value;
  return fallback;
}

void PackedWeight::setAttribute(llvm::StringRef name, int64_t value) {
  auto it = llvm::lower_bound(attributes, name,
                              [](const auto &entry, llvm::StringRef wanted) {
                                return llvm::StringRef(entry.first) < wanted;
                              });
  if (it != attributes.end() && it->first == name)
    it->second = value;
  else
    attributes.insert(it, {name.str(), value});
}

const PackedBuffer *PackedWeight::find(llvm::StringRef name) const {
  for (const PackedBuffer &buffer : buffers)
    if (buffer.name == name)
      return &buffer;
  return nullptr;
}

int64_t PackedWeight::numBytes() const {
  int64_t total = 0;
  for (const PackedBuffer &buffer : buffers)
    total += int64_t(buffer.bytes.size());
  return total;
}
