//===- SafetensorsWriter.h - Write named buffers ----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes .safetensors files: packed weights, and models of the examples.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_IO_SAFETENSORSWRITER_H
#define SPARSEDITTO_IO_SAFETENSORSWRITER_H

#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace sparseditto {

/// A buffer to write. The bytes are borrowed.
struct SafetensorsEntry {
  std::string name;
  ElementType type = ElementType::U8;
  std::vector<int64_t> shape;
  llvm::ArrayRef<uint8_t> bytes; ///< product(shape) * byteSize(type) bytes.
};

/// The type's name in a safetensors header: "F16", "F8_E4M3", "BOOL", ...
llvm::StringRef safetensorsName(ElementType type);

/// Writes the entries to `path`. The file appears complete or not at all.
///
/// The bytes written depend only on the arguments, not on the order of
/// `entries`. The data starts at a multiple of 64 bytes. The format allows no
/// gaps between tensors, so those whose size is a multiple of 64 come first and
/// are all aligned to 64 bytes; the others follow, largest element type first,
/// and are aligned to their element size.
///
/// Fails on names that repeat or are reserved, sizes that disagree with the
/// shape, and on what the file system refuses.
llvm::Error
writeSafetensors(llvm::StringRef path, llvm::ArrayRef<SafetensorsEntry> entries,
                 const std::map<std::string, std::string> &metadata = {});

} // namespace sparseditto

#endif // SPARSEDITTO_IO_SAFETENSORSWRITER_H
