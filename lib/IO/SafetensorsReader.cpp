//===- SafetensorsReader.cpp - .safetensors files -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layout: u64 little-endian header length, a JSON object of that length, data.
// Each member is {"dtype": ..., "shape": [...], "data_offsets": [begin, end]},
// offsets counted from the start of the data; "__metadata__" maps strings to
// strings. The tensors must cover the data exactly.
//
//===----------------------------------------------------------------------===//

#include "ReaderSupport.h"
#include "sparseditto/IO/SafetensorsWriter.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include <numeric>
#include <tuple>

using namespace sparseditto;

namespace {

constexpr uint64_t maxHeaderBytes = 100'000'000;
/// The header object, a tensor's object, its arrays.
constexpr unsigned maxNesting = 3;

class SafetensorsFile final : public TensorFile {
public:
  SafetensorsFile(std::shared_ptr<FileBytes> bytes, const ReadOptions &options)
      : TensorFile(bytes->path(), FileFormat::Safetensors, options),
        file(std::move(bytes)) {}

  llvm::Error readHeader();

  void dropPages(size_t index) override {
    file->dropPages(begins[index], ends[index] - begins[index]);
  }

protected:
  llvm::Expected<Matrix> read(size_t index) override {
    if (llvm::Error error = file->checkUnchanged())
      return error;
    return borrowMatrix(file, infos[index],
                        file->bytes().data() + begins[index]);
  }

private:
  llvm::Error addTensor(llvm::StringRef name, const llvm::json::Value &value);
  llvm::Error addMetadata(const llvm::json::Value &value);
  llvm::Error sortAndCheckCoverage();

  std::shared_ptr<FileBytes> file;
  uint64_t dataStart = 0;
  std::vector<uint64_t> begins, ends; ///< In the file, parallel to infos.
};

} // namespace

namespace {
/// What the parsed header cannot tell: how deep it nests, which must be known
/// before a recursive parser sees it, and members that a later one replaced.
struct HeaderScan {
  unsigned depth = 0;
  size_t members = 0;
  std::vector<llvm::StringRef> topKeys; ///< As spelled, without quotes.
};
} // namespace

static HeaderScan scanHeader(llvm::StringRef json) {
  HeaderScan scan;
  unsigned depth = 0;
  llvm::StringRef lastString;
  for (size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
    case '"': {
      size_t begin = ++i;
      while (i < json.size() && json[i] != '"')
        i += json[i] == '\\' ? 2 : 1;
      lastString = json.slice(begin, i);
      break;
    }
    case '{':
    case '[':
      scan.depth = std::max(scan.depth, ++depth);
      break;
    case '}':
    case ']':
      depth -= depth > 0;
      break;
    case ':':
      ++scan.members;
      if (depth == 1)
        scan.topKeys.push_back(lastString);
      break;
    }
  }
  return scan;
}

static size_t countMembers(const llvm::json::Value &value) {
  size_t count = 0;
  if (const llvm::json::Object *object = value.getAsObject()) {
    count = object->size();
    for (const auto &member : *object)
      count += countMembers(member.second);
  } else if (const llvm::json::Array *array = value.getAsArray()) {
    for (const llvm::json::Value &element : *array)
      count += countMembers(element);
  }
  return count;
}

/// The type that a header names. The spelling is exact: no aliases.
static std::optional<ElementType> parseDtype(llvm::StringRef text) {
  std::optional<ElementType> type = parseElementType(text);
  if (type && safetensorsName(*type) == text)
    return type;
  return std::nullopt;
}

llvm::Error SafetensorsFile::addTensor(llvm::StringRef name,
                                       const llvm::json::Value &value) {
  auto fail = [&](const llvm::Twine &message) {
    return readError(filePath, "tensor '" + printable(name) + "': " + message);
  };
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("header entry is not an object");
  std::optional<llvm::StringRef> dtype = object->getString("dtype");
  if (!dtype)
    return fail("header entry has no string 'dtype'");
  const llvm::json::Array *offsets = object->getArray("data_offsets");
  if (!offsets || offsets->size() != 2)
    return fail("header entry has no 'data_offsets' of two numbers");
  std::optional<uint64_t> begin = (*offsets)[0].getAsUINT64();
  std::optional<uint64_t> end = (*offsets)[1].getAsUINT64();
  if (!begin || !end)
    return fail("'data_offsets' are not two non-negative integers");
  const uint64_t dataSize = file->size() - dataStart;
  if (*begin > *end || *end > dataSize)
    return fail(llvm::formatv("data_offsets [{0}, {1}] are not a range within "
                              "the {2} bytes of data that the file holds",
                              *begin, *end, dataSize));
  const llvm::json::Array *shape = object->getArray("shape");
  if (!shape)
    return fail("header entry has no array 'shape'");

  TensorInfo info;
  info.name = name.str();
  for (const llvm::json::Value &dimension : *shape) {
    std::optional<int64_t> size = dimension.getAsInteger();
    if (!size || *size < 0)
      return fail("'shape' is not an array of non-negative integers");
    info.shape.push_back(*size);
  }
  if (std::optional<ElementType> type = parseDtype(*dtype)) {
    info.type = *type;
    if (!flattenShape(info))
      return fail("size of shape " + shapeText(info.shape) + " overflows");
    if (info.numBytes() != *end - *begin)
      return fail(llvm::formatv("data_offsets [{0}, {1}] span {2} bytes, but "
                                "shape {3} of {4} takes {5}",
                                *begin, *end, *end - *begin,
                                shapeText(info.shape), *dtype,
                                info.numBytes()));
  } else {
    // One tensor of a type that came after us must not hide the others.
    info.rows = info.cols = 0;
    info.unsupported =
        llvm::formatv("dtype '{0}' (data at byte {1}) is not supported; want "
                      "F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32, I16, "
                      "I8, U64, U32, U16, U8 or BOOL",
                      printable(*dtype), dataStart + *begin)
            .str();
  }
  infos.push_back(std::move(info));
  begins.push_back(dataStart + *begin);
  ends.push_back(dataStart + *end);
  return llvm::Error::success();
}

llvm::Error SafetensorsFile::addMetadata(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return readError(filePath, "'__metadata__' is not an object");
  for (const auto &member : *object) {
    std::optional<llvm::StringRef> text = member.second.getAsString();
    if (!text)
      return readErrorV(filePath, "'__metadata__' key '{0}' is not a string",
                        printable(member.first));
    extra[member.first.str()] = text->str();
  }
  return llvm::Error::success();
}

/// Sorts the tensors by place, and refuses overlaps, gaps and trailing bytes.
llvm::Error SafetensorsFile::sortAndCheckCoverage() {
  std::vector<size_t> order(infos.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::tie(begins[a], ends[a], infos[a].name) <
           std::tie(begins[b], ends[b], infos[b].name);
  });
  auto reorder = [&](auto &values) {
    std::remove_reference_t<decltype(values)> sorted;
    for (size_t index : order)
      sorted.push_back(std::move(values[index]));
    values = std::move(sorted);
  };
  reorder(infos);
  reorder(begins);
  reorder(ends);

  uint64_t covered = dataStart;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (begins[i] < covered)
      return readErrorV(filePath,
                        "tensor '{0}': data_offsets [{1}, {2}] overlap tensor "
                        "'{3}', which ends at {4}",
                        printable(infos[i].name), begins[i] - dataStart,
                        ends[i] - dataStart, printable(infos[i - 1].name),
                        covered - dataStart);
    if (begins[i] > covered)
      return readErrorV(filePath,
                        "tensor '{0}': {1} bytes before its data, at offset "
                        "{2}, belong to no tensor",
                        printable(infos[i].name), begins[i] - covered,
                        covered - dataStart);
    covered = ends[i];
  }
  if (covered != file->size())
    return readErrorV(filePath,
                      "{0} bytes after the last tensor, at offset {1}, belong "
                      "to no tensor",
                      file->size() - covered, covered - dataStart);
  return llvm::Error::success();
}

llvm::Error SafetensorsFile::readHeader() {
  if (file->size() < 8)
    return readErrorV(filePath,
                      "file has {0} bytes; a safetensors file starts with 8 "
                      "bytes of header length",
                      file->size());
  const uint64_t length = llvm::support::endian::read64le(file->bytes().data());
  if (length > maxHeaderBytes)
    return readErrorV(filePath,
                      "header length {0} is over the limit of {1} bytes; is "
                      "this a safetensors file?",
                      length, maxHeaderBytes);
  if (length > file->size() - 8)
    return readErrorV(filePath,
                      "header length {0} runs past the end of the file, which "
                      "has {1} bytes; truncated?",
                      length, file->size());
  llvm::StringRef header = file->text().substr(8, length);
  dataStart = 8 + length;
  if (!header.starts_with("{"))
    return readErrorV(filePath, "header starts with '{0}'; want '{{'",
                      printable(header, 8));
  HeaderScan scan = scanHeader(header);
  if (scan.depth > maxNesting)
    return readErrorV(filePath,
                      "header nests {0} levels deep; want at most "
                      "{1}",
                      scan.depth, maxNesting);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(header);
  if (!json)
    return readErrorV(filePath, "header is not valid JSON: {0}",
                      printable(llvm::toString(json.takeError()), 200));
  const llvm::json::Object *object = json->getAsObject();
  if (countMembers(*json) != scan.members) {
    llvm::StringSet<> seen;
    for (llvm::StringRef key : scan.topKeys)
      if (!seen.insert(key).second)
        return readErrorV(filePath, "header names tensor '{0}' twice",
                          printable(key));
    return readError(filePath, "header repeats a key");
  }
  for (const auto &member : *object) {
    llvm::StringRef name = member.first;
    if (llvm::Error error = name == "__metadata__"
                                ? addMetadata(member.second)
                                : addTensor(name, member.second))
      return error;
  }
  return sortAndCheckCoverage();
}

OpenedFile sparseditto::openSafetensors(std::shared_ptr<FileBytes> file,
                                        const ReadOptions &options) {
  auto result = std::make_unique<SafetensorsFile>(std::move(file), options);
  if (llvm::Error error = result->readHeader())
    return error;
  return result;
}
