//===- SafetensorsWriter.cpp - Write named buffers ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/IO/SafetensorsWriter.h"
#include "AtomicFile.h"
#include "ReaderSupport.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <tuple>

using namespace sparseditto;

static constexpr uint64_t dataAlignment = 64;

llvm::StringRef sparseditto::safetensorsName(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return "F64";
  case ElementType::F32:
    return "F32";
  case ElementType::F16:
    return "F16";
  case ElementType::BF16:
    return "BF16";
  case ElementType::F8E4M3:
    return "F8_E4M3";
  case ElementType::F8E5M2:
    return "F8_E5M2";
  case ElementType::I64:
    return "I64";
  case ElementType::I32:
    return "I32";
  case ElementType::I16:
    return "I16";
  case ElementType::I8:
    return "I8";
  case ElementType::U64:
    return "U64";
  case ElementType::U32:
    return "U32";
  case ElementType::U16:
    return "U16";
  case ElementType::U8:
    return "U8";
  case ElementType::Bool:
    return "BOOL";
  }
  llvm_unreachable("unknown element type");
}

static llvm::Error checkEntries(llvm::StringRef path,
                                llvm::ArrayRef<SafetensorsEntry> entries) {
  llvm::StringSet<> names;
  for (const SafetensorsEntry &entry : entries) {
    auto fail = [&](const llvm::Twine &message) {
      return readError(path, "cannot write tensor '" + printable(entry.name) +
                                 "': " + message);
    };
    if (entry.name == "__metadata__" || !llvm::json::isUTF8(entry.name))
      return fail("name is reserved or not UTF-8");
    if (!names.insert(entry.name).second)
      return fail("name occurs twice");
    TensorInfo info;
    info.type = entry.type;
    info.shape = entry.shape;
    if (llvm::any_of(entry.shape, [](int64_t d) { return d < 0; }) ||
        !flattenShape(info))
      return fail("shape " + shapeText(entry.shape) +
                  " is negative or overflows");
    if (info.numBytes() != entry.bytes.size())
      return fail(llvm::formatv("got {0} bytes, but shape {1} of {2} takes {3}",
                                entry.bytes.size(), shapeText(entry.shape),
                                safetensorsName(entry.type), info.numBytes()));
  }
  return llvm::Error::success();
}

/// The header text, padded with spaces so that the data after it is aligned.
static std::string
makeHeader(llvm::ArrayRef<const SafetensorsEntry *> entries,
           const std::map<std::string, std::string> &metadata) {
  std::string header;
  llvm::raw_string_ostream os(header);
  llvm::json::OStream json(os);
  json.object([&] {
    if (!metadata.empty())
      json.attributeObject("__metadata__", [&] {
        for (const auto &[key, value] : metadata)
          json.attribute(key, value);
      });
    uint64_t offset = 0;
    for (const SafetensorsEntry *entry : entries)
      json.attributeObject(entry->name, [&] {
        json.attribute("dtype", safetensorsName(entry->type));
        json.attributeArray("shape", [&] {
          for (int64_t dimension : entry->shape)
            json.value(dimension);
        });
        json.attributeArray("data_offsets", [&] {
          json.value(offset);
          offset += entry->bytes.size();
          json.value(offset);
        });
      });
  });
  header.resize(llvm::alignTo(8 + header.size(), dataAlignment) - 8, ' ');
  return header;
}

llvm::Error sparseditto::writeSafetensors(
    llvm::StringRef path, llvm::ArrayRef<SafetensorsEntry> entries,
    const std::map<std::string, std::string> &metadata) {
  if (llvm::Error error = checkEntries(path, entries))
    return error;
  for (const auto &[key, value] : metadata)
    if (!llvm::json::isUTF8(key) || !llvm::json::isUTF8(value))
      return readErrorV(path, "metadata '{0}' is not UTF-8", printable(key));

  std::vector<const SafetensorsEntry *> order;
  for (const SafetensorsEntry &entry : entries)
    order.push_back(&entry);
  llvm::sort(order, [](const SafetensorsEntry *a, const SafetensorsEntry *b) {
    auto key = [](const SafetensorsEntry *entry) {
      return std::make_tuple(entry->bytes.size() % dataAlignment != 0,
                             -int(byteSize(entry->type)),
                             llvm::StringRef(entry->name));
    };
    return key(a) < key(b);
  });
  std::string header = makeHeader(order, metadata);

  return writeFileAtomically(path, [&](llvm::raw_ostream &os) {
    char length[8];
    llvm::support::endian::write64le(length, header.size());
    os.write(length, sizeof(length));
    os << header;
    for (const SafetensorsEntry *entry : order)
      os.write(reinterpret_cast<const char *>(entry->bytes.data()),
               entry->bytes.size());
  });
}
