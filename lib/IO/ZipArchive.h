//===- ZipArchive.h - Members of a zip file ---------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the central directory, with its 64-bit extension, and the data of
// stored and deflated members. Messages have no path.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_ZIPARCHIVE_H
#define SPARSEDITTO_LIB_IO_ZIPARCHIVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

struct z_stream_s;

namespace sparseditto {

struct ZipMember {
  llvm::StringRef name;
  uint16_t method = 0;          ///< 0 stored, 8 deflated.
  uint32_t crc = 0;             ///< Of the uncompressed bytes.
  uint64_t size = 0;            ///< Uncompressed.
  llvm::ArrayRef<uint8_t> data; ///< As stored in the archive.

  bool isStored() const { return method == 0; }
};

/// All members, in the order of the directory. Their names, ranges, methods
/// and sizes are checked; names are not repeated.
llvm::Expected<std::vector<ZipMember>>
readZipDirectory(llvm::ArrayRef<uint8_t> file);

/// Fails unless the checksum of a stored member agrees.
llvm::Error checkStoredMember(const ZipMember &member);

/// Produces the uncompressed bytes of one member in order.
class ZipStream {
public:
  explicit ZipStream(const ZipMember &member);
  ~ZipStream();

  /// Fills `dst` with the next `count` bytes; fails if there are fewer.
  llvm::Error read(uint8_t *dst, uint64_t count);
  /// Fails unless the member ends here and its checksum agrees.
  llvm::Error finish();

private:
  const ZipMember &member;
  std::unique_ptr<z_stream_s> inflater;
  uint64_t produced = 0;
  uint32_t crc = 0;
};

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_ZIPARCHIVE_H
