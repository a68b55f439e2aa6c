//===- Transcript.cpp - The record of a run, as JSON lines ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Transcript.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/JSONFields.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sparseditto;
namespace json = llvm::json;

static constexpr uint64_t maxFileBytes = uint64_t(256) << 20;
static constexpr size_t maxLineBytes = size_t(16) << 20;
static constexpr unsigned maxEvents = 1'000'000;

EventSink::~EventSink() = default;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Replies of others may hold anything; JSON holds only UTF-8.
static json::Value repaired(const json::Value &value) {
  if (std::optional<llvm::StringRef> text = value.getAsString())
    return json::fixUTF8(*text);
  if (const json::Array *items = value.getAsArray()) {
    json::Array result;
    for (const json::Value &item : *items)
      result.push_back(repaired(item));
    return result;
  }
  if (const json::Object *object = value.getAsObject()) {
    json::Object result;
    for (const auto &[key, field] : *object)
      result[json::fixUTF8(key)] = repaired(field);
    return result;
  }
  return value;
}

llvm::Expected<std::unique_ptr<TranscriptWriter>>
TranscriptWriter::create(llvm::StringRef path, llvm::StringRef tool,
                         json::Object fields) {
  std::error_code error;
  std::unique_ptr<TranscriptWriter> writer(new TranscriptWriter(path, error));
  if (error)
    return makeError("transcript '{0}': {1}", path, error.message());
  fields["schema"] = transcriptSchema;
  fields["version"] = SPARSEDITTO_VERSION;
  fields["tool"] = tool;
  writer->event("header", std::move(fields));
  return writer;
}

void TranscriptWriter::event(llvm::StringRef type, json::Object fields) {
  fields["event"] = type;
  std::lock_guard<std::mutex> lock(mutex);
  os << repaired(json::Value(std::move(fields))) << "\n";
  os.flush();
}

llvm::Error TranscriptWriter::finish() {
  std::lock_guard<std::mutex> lock(mutex);
  os.close();
  if (!os.has_error())
    return llvm::Error::success();
  std::error_code failed = os.error();
  os.clear_error();
  return makeError("transcript '{0}': {1}", path, failed.message());
}

void EventBuffer::event(llvm::StringRef type, json::Object fields) {
  events.emplace_back(type.str(), std::move(fields));
}

void EventBuffer::flushTo(EventSink &sink) {
  for (auto &[type, fields] : events)
    sink.event(type, std::move(fields));
  events.clear();
}

void TaggedSink::event(llvm::StringRef type, json::Object fields) {
  for (const auto &[key, value] : tags)
    fields.try_emplace(key, value);
  next.event(type, std::move(fields));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The first line: what it has to say before anything else is believed.
static llvm::Error readHeader(Transcript &transcript, json::Object fields) {
  // Before its other fields, which another version may not have.
  std::optional<int64_t> schema = fields.getInteger("schema");
  if (!schema)
    return makeError("transcript '{0}': the header has no schema version",
                     transcript.path);
  if (*schema != transcriptSchema)
    return makeError("transcript '{0}': schema version {1}, this is version "
                     "{2}",
                     transcript.path, *schema, transcriptSchema);
  json::Value value(std::move(fields));
  JSONFields header(value, "transcript '" + transcript.path + "': the header");
  header.string("version", transcript.version);
  header.string("tool", transcript.tool);
  header.string("agent", transcript.agent);
  if (llvm::Error error = header.finish())
    return error;
  transcript.header = std::move(*value.getAsObject());
  return llvm::Error::success();
}

llvm::Expected<Transcript> Transcript::parse(llvm::StringRef text,
                                             llvm::StringRef path) {
  Transcript transcript;
  transcript.path = path.str();
  unsigned line = 0;
  bool hasHeader = false;
  while (!text.empty()) {
    const bool isComplete = text.contains('\n');
    auto [current, rest] = text.split('\n');
    text = rest;
    ++line;
    if (current.trim().empty())
      continue;
    if (current.size() > maxLineBytes)
      return makeError("transcript '{0}', line {1}: {2} bytes, at most {3} are "
                       "read",
                       path, line, current.size(), maxLineBytes);
    if (transcript.events.size() == maxEvents)
      return makeError("transcript '{0}': more than {1} events", path,
                       maxEvents);
    llvm::Expected<json::Value> value = parseJSON(
        current, llvm::formatv("transcript '{0}', line {1}", path, line).str());
    if (!value) {
      // A run that was killed leaves half a line; what is before it counts.
      if (!isComplete && hasHeader) {
        llvm::consumeError(value.takeError());
        transcript.isTorn = true;
        break;
      }
      return value.takeError();
    }
    json::Object *object = value->getAsObject();
    std::optional<llvm::StringRef> type =
        object ? object->getString("event") : std::nullopt;
    if (!type)
      return makeError("transcript '{0}', line {1}: not an object with "
                       "\"event\"",
                       path, line);
    if (*type == "header" && !hasHeader) {
      hasHeader = true;
      if (llvm::Error error = readHeader(transcript, std::move(*object)))
        return error;
      continue;
    }
    if (!hasHeader)
      return makeError(
          "transcript '{0}', line {1}: begins with '{2}', expected "
          "'header'",
          path, line, *type);
    Event event;
    event.line = line;
    event.type = type->str();
    event.fields = std::move(*object);
    transcript.events.push_back(std::move(event));
  }
  if (!hasHeader)
    return makeError("transcript '{0}': empty", path);
  return transcript;
}

llvm::Expected<Transcript> Transcript::read(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return makeError("transcript '{0}': {1}", path, code.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return makeError("transcript '{0}': not a regular file", path);
  if (status.getSize() > maxFileBytes)
    return makeError("transcript '{0}': {1} bytes, at most {2} are read", path,
                     status.getSize(), maxFileBytes);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError("transcript '{0}': {1}", path,
                     buffer.getError().message());
  return parse((*buffer)->getBuffer(), path);
}
