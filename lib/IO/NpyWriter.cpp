//===- NpyWriter.cpp - Write one array ------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/IO/NpyWriter.h"
#include "AtomicFile.h"
#include "ReaderSupport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace sparseditto;

/// Multiple that the header is padded to.
static constexpr uint64_t headerAlignment = 64;

/// numpy's name; empty for types without one.
static llvm::StringRef npyName(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return "<f8";
  case ElementType::F32:
    return "<f4";
  case ElementType::F16:
    return "<f2";
  case ElementType::I64:
    return "<i8";
  case ElementType::I32:
    return "<i4";
  case ElementType::I16:
    return "<i2";
  case ElementType::I8:
    return "|i1";
  case ElementType::U64:
    return "<u8";
  case ElementType::U32:
    return "<u4";
  case ElementType::U16:
    return "<u2";
  case ElementType::U8:
    return "|u1";
  case ElementType::Bool:
    return "|b1";
  case ElementType::BF16:
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return "";
  }
  return "";
}

llvm::Error sparseditto::writeNpy(llvm::StringRef path, ElementType type,
                                  llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<uint8_t> bytes) {
  if (npyName(type).empty())
    return readErrorV(path,
                      "cannot write: numpy has no name for {0}; a "
                      ".safetensors file can hold it",
                      name(type));
  TensorInfo info;
  info.type = type;
  info.shape.assign(shape.begin(), shape.end());
  if (llvm::any_of(shape, [](int64_t side) { return side < 0; }) ||
      !flattenShape(info) || info.numBytes() != bytes.size())
    return readErrorV(path, "cannot write: got {0} bytes for shape {1} of {2}",
                      bytes.size(), shapeText(info.shape), name(type));
  std::string header = "{'descr': '" + npyName(type).str() +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t side : shape)
    header += std::to_string(side) + ", ";
  header += "), }";
  // Magic, version and a 16-bit length come before, a line feed ends it.
  constexpr size_t start = 10;
  size_t total = llvm::alignTo(start + header.size() + 1, headerAlignment);
  header.resize(total - start - 1, ' ');
  header += '\n';
  return writeFileAtomically(path, [&](llvm::raw_ostream &os) {
    os << llvm::StringRef("\x93NUMPY\x01\x00", 8);
    os << char(header.size() & 0xff) << char(header.size() >> 8) << header;
    os.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  });
}
