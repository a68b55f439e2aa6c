//===- ZipArchive.cpp - Members of a zip file -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ZipArchive.h"
#include "ReaderSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include <zlib.h>

using namespace sparseditto;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;

template <typename... Ts>
static llvm::Error fail(const char *format, Ts &&...values) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Ts>(values)...));
}

// Signatures and fixed sizes of the format's records.
static constexpr llvm::StringLiteral endMagic("PK\x05\x06");
static constexpr llvm::StringLiteral end64Magic("PK\x06\x06");
static constexpr llvm::StringLiteral locator64Magic("PK\x06\x07");
static constexpr llvm::StringLiteral directoryMagic("PK\x01\x02");
static constexpr llvm::StringLiteral localMagic("PK\x03\x04");
static constexpr uint64_t endSize = 22, end64Size = 56, locator64Size = 20;
static constexpr uint64_t directoryEntrySize = 46, localSize = 30;
static constexpr uint64_t maxComment = 65535;

namespace {
/// Where the central directory is.
struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};
} // namespace

/// Finds the record at the end of the file, whose comment must reach exactly
/// to the end.
static llvm::Expected<uint64_t> findEnd(llvm::ArrayRef<uint8_t> file) {
  llvm::StringRef text = llvm::toStringRef(file);
  for (uint64_t tail = endSize;
       tail <= std::min<uint64_t>(file.size(), endSize + maxComment); ++tail) {
    uint64_t at = file.size() - tail;
    if (text.substr(at).starts_with(endMagic) &&
        read16le(file.data() + at + 20) == tail - endSize)
      return at;
  }
  return fail("zip directory not found at the end of the file; truncated?");
}

static llvm::Expected<Directory> findDirectory(llvm::ArrayRef<uint8_t> file) {
  llvm::Expected<uint64_t> end = findEnd(file);
  if (!end)
    return end.takeError();
  const uint8_t *record = file.data() + *end;
  if (read16le(record + 4) != 0 || read16le(record + 6) != 0)
    return fail("zip archive has several parts; want one file");
  Directory directory;
  directory.entries = read16le(record + 10);
  directory.size = read32le(record + 12);
  directory.offset = read32le(record + 16);
  uint64_t limit = *end;

  llvm::StringRef text = llvm::toStringRef(file);
  if (*end >= locator64Size &&
      text.substr(*end - locator64Size).starts_with(locator64Magic)) {
    uint64_t at = read64le(file.data() + *end - locator64Size + 8);
    if (*end < locator64Size + end64Size ||
        at > *end - locator64Size - end64Size ||
        !text.substr(at).starts_with(end64Magic))
      return fail("zip64 record expected at byte {0} is not there", at);
    directory.entries = read64le(file.data() + at + 32);
    directory.size = read64le(file.data() + at + 40);
    directory.offset = read64le(file.data() + at + 48);
    limit = at;
  }
  if (directory.offset > limit || directory.size != limit - directory.offset)
    return fail("zip directory of {0} bytes at {1} does not reach its end "
                "record at {2}",
                directory.size, directory.offset, limit);
  return directory;
}

/// Replaces the fields that are all ones by their 64-bit values, which the
/// extra field with id 1 holds in this order.
static llvm::Error readZip64(llvm::ArrayRef<uint8_t> extra,
                             llvm::ArrayRef<uint64_t *> fields) {
  constexpr uint64_t inExtra = 0xffffffff;
  if (llvm::none_of(fields, [](uint64_t *f) { return *f == inExtra; }))
    return llvm::Error::success();
  while (extra.size() >= 4) {
    const unsigned id = read16le(extra.data());
    const size_t size = read16le(extra.data() + 2);
    extra = extra.drop_front(4);
    if (size > extra.size())
      break;
    if (id == 1) {
      llvm::ArrayRef<uint8_t> values = extra.take_front(size);
      for (uint64_t *field : fields) {
        if (*field != inExtra)
          continue;
        if (values.size() < 8)
          return fail("zip64 sizes are cut off");
        *field = read64le(values.data());
        values = values.drop_front(8);
      }
      return llvm::Error::success();
    }
    extra = extra.drop_front(size);
  }
  // A size of exactly 2^32 - 1 needs no extension; ranges are checked next.
  return llvm::Error::success();
}

/// The compressed bytes, found through the member's own header.
static llvm::Expected<llvm::ArrayRef<uint8_t>>
locateData(llvm::ArrayRef<uint8_t> file, uint64_t offset, uint64_t size,
           uint64_t limit) {
  if (offset > limit || limit - offset < localSize ||
      !llvm::toStringRef(file).substr(offset).starts_with(localMagic))
    return fail("no member header at byte {0}", offset);
  uint64_t start = offset + localSize + read16le(file.data() + offset + 26) +
                   read16le(file.data() + offset + 28);
  if (start > limit || size > limit - start)
    return fail("{0} bytes of data at byte {1} run into the directory", size,
                start);
  return file.slice(start, size);
}

llvm::Expected<std::vector<ZipMember>>
sparseditto::readZipDirectory(llvm::ArrayRef<uint8_t> file) {
  llvm::Expected<Directory> directory = findDirectory(file);
  if (!directory)
    return directory.takeError();
  std::vector<ZipMember> members;
  llvm::StringSet<> names;
  llvm::ArrayRef<uint8_t> rest = file.slice(directory->offset, directory->size);
  while (!rest.empty()) {
    if (rest.size() < directoryEntrySize ||
        !llvm::toStringRef(rest).starts_with(directoryMagic))
      return fail("zip directory entry {0} is damaged", members.size());
    const uint8_t *entry = rest.data();
    const size_t nameSize = read16le(entry + 28);
    const size_t extraSize = read16le(entry + 30);
    const size_t commentSize = read16le(entry + 32);
    if (rest.size() - directoryEntrySize < nameSize + extraSize + commentSize)
      return fail("zip directory entry {0} is cut off", members.size());
    ZipMember member;
    member.name = llvm::toStringRef(rest.slice(directoryEntrySize, nameSize));
    member.method = read16le(entry + 10);
    member.crc = read32le(entry + 16);
    member.size = read32le(entry + 24);
    uint64_t compressed = read32le(entry + 20);
    uint64_t offset = read32le(entry + 42);
    auto failMember = [&](const llvm::Twine &message) {
      return fail("member '{0}': {1}", printable(member.name), message.str());
    };
    if (llvm::Error error =
            readZip64(rest.slice(directoryEntrySize + nameSize, extraSize),
                      {&member.size, &compressed, &offset}))
      return failMember(llvm::toString(std::move(error)));
    if (read16le(entry + 8) & 1)
      return failMember("is encrypted");
    if (member.method != 0 && member.method != 8)
      return failMember("compression method " + llvm::Twine(member.method) +
                        " is not supported; want 0 (stored) or 8 (deflate)");
    // Deflate shrinks nothing to less than 1/1032.
    if (member.isStored() ? member.size != compressed
                          : member.size / 1032 > compressed)
      return failMember(llvm::formatv("{0} bytes cannot come from {1} "
                                      "compressed ones",
                                      member.size, compressed));
    llvm::Expected<llvm::ArrayRef<uint8_t>> data =
        locateData(file, offset, compressed, directory->offset);
    if (!data)
      return failMember(llvm::toString(data.takeError()));
    member.data = *data;
    if (!names.insert(member.name).second)
      return failMember("occurs twice");
    members.push_back(member);
    rest = rest.drop_front(directoryEntrySize + nameSize + extraSize +
                           commentSize);
  }
  if (members.size() != directory->entries)
    return fail("zip directory has {0} members; its end record says {1}",
                members.size(), directory->entries);
  return members;
}

static uint32_t extendCrc(uint32_t crc, llvm::ArrayRef<uint8_t> bytes) {
  while (!bytes.empty()) {
    // zlib counts in 32 bits.
    const size_t part = std::min<size_t>(bytes.size(), 1 << 30);
    crc = uint32_t(::crc32(crc, bytes.data(), unsigned(part)));
    bytes = bytes.drop_front(part);
  }
  return crc;
}

static llvm::Error checkCrc(const ZipMember &member, uint32_t crc) {
  if (crc != member.crc)
    return fail("checksum is {0:x8}; want {1:x8}", crc, member.crc);
  return llvm::Error::success();
}

llvm::Error sparseditto::checkStoredMember(const ZipMember &member) {
  return checkCrc(member, extendCrc(0, member.data));
}

ZipStream::ZipStream(const ZipMember &member) : member(member) {
  if (member.isStored())
    return;
  inflater = std::make_unique<z_stream_s>();
  // Negative: raw deflate data without zlib's own header.
  if (inflateInit2(inflater.get(), -MAX_WBITS) != Z_OK)
    inflater.reset();
}

ZipStream::~ZipStream() {
  if (inflater)
    inflateEnd(inflater.get());
}

llvm::Error ZipStream::read(uint8_t *dst, uint64_t count) {
  if (count > member.size - produced)
    return fail("ends after {0} bytes; want {1} more", member.size,
                count - (member.size - produced));
  if (member.isStored()) {
    std::copy_n(member.data.data() + produced, count, dst);
  } else {
    if (!inflater)
      return fail("cannot allocate the decompressor");
    constexpr uint64_t most = 1 << 30;
    uint64_t filled = 0;
    while (filled < count) {
      const uint64_t consumed = inflater->total_in;
      inflater->next_in = const_cast<uint8_t *>(member.data.data()) + consumed;
      inflater->avail_in =
          unsigned(std::min<uint64_t>(member.data.size() - consumed, most));
      inflater->next_out = dst + filled;
      inflater->avail_out = unsigned(std::min(count - filled, most));
      const unsigned wanted = inflater->avail_out;
      int status = inflate(inflater.get(), Z_NO_FLUSH);
      const unsigned got = wanted - inflater->avail_out;
      filled += got;
      if (status == Z_OK && got)
        continue;
      if (filled < count)
        return fail("compressed data is damaged after {0} bytes",
                    produced + filled);
    }
  }
  crc = extendCrc(crc, {dst, count});
  produced += count;
  return llvm::Error::success();
}

llvm::Error ZipStream::finish() {
  if (produced != member.size)
    return fail("has {0} bytes; want {1}", member.size, produced);
  if (inflater) {
    // The end marker may still be unread; there must be nothing beside it.
    uint8_t extra;
    inflater->next_in =
        const_cast<uint8_t *>(member.data.data()) + inflater->total_in;
    inflater->avail_in = unsigned(
        std::min<uint64_t>(member.data.size() - inflater->total_in, 1 << 30));
    inflater->next_out = &extra;
    inflater->avail_out = 1;
    int status = inflate(inflater.get(), Z_FINISH);
    if (status != Z_STREAM_END || inflater->avail_out != 1 ||
        inflater->total_in != member.data.size())
      return fail("compressed data does not end after {0} bytes", produced);
  }
  return checkCrc(member, crc);
}
