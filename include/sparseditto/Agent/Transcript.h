//===- Transcript.h - The record of a run, as JSON lines --------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One JSON object a line, each with "event". The first is "header". The loop
// and the sources write it; replay and explain read it.
// docs/schema/transcript.schema.json describes every event.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_TRANSCRIPT_H
#define SPARSEDITTO_AGENT_TRANSCRIPT_H

#include "sparseditto/Agent/EventSink.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sparseditto {

/// Version of the format; a reader takes no other.
inline constexpr int transcriptSchema = 1;

/// Writes events to a file as they happen, so that what ran until a crash is
/// there. Thread-safe.
class TranscriptWriter : public EventSink {
public:
  /// Creates the file and writes the header: schema, our version, the tool and
  /// `fields`.
  static llvm::Expected<std::unique_ptr<TranscriptWriter>>
  create(llvm::StringRef path, llvm::StringRef tool, llvm::json::Object fields);
  void event(llvm::StringRef type, llvm::json::Object fields) override;
  /// Closes the file; the first error of all writes.
  llvm::Error finish();

private:
  TranscriptWriter(llvm::StringRef path, std::error_code &error)
      : path(path.str()), os(path, error) {}
  std::string path;
  std::mutex mutex;
  llvm::raw_fd_ostream os;
};

/// Keeps events until they can be written in order, for work in parallel.
class EventBuffer : public EventSink {
public:
  void event(llvm::StringRef type, llvm::json::Object fields) override;
  /// Hands all events on and forgets them.
  void flushTo(EventSink &sink);

private:
  std::vector<std::pair<std::string, llvm::json::Object>> events;
};

/// Adds the same fields to every event, unless the event has them.
class TaggedSink : public EventSink {
public:
  /// `next` outlives this.
  TaggedSink(EventSink &next, llvm::json::Object tags)
      : next(next), tags(std::move(tags)) {}
  void event(llvm::StringRef type, llvm::json::Object fields) override;

private:
  EventSink &next;
  llvm::json::Object tags;
};

/// A transcript that was read. The text comes from elsewhere: fields are what
/// the JSON says and checked by whoever uses them.
struct Transcript {
  struct Event {
    unsigned line = 0; ///< Counted from 1.
    std::string type;
    llvm::json::Object fields;
  };
  std::string path;
  std::string version; ///< SparseDitto version that wrote it.
  std::string tool, agent;
  llvm::json::Object header;
  std::vector<Event> events; ///< Without the header.
  bool isTorn = false;       ///< The last line was cut off and left out.

  /// Fails, with the line, on a file that is too large, a line that is no JSON
  /// object with "event", a missing header or another schema version.
  static llvm::Expected<Transcript> read(llvm::StringRef path);
  static llvm::Expected<Transcript> parse(llvm::StringRef text,
                                          llvm::StringRef path);
  /// "PATH:LINE", for messages.
  std::string place(const Event &event) const {
    return path + ":" + std::to_string(event.line);
  }
};

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_TRANSCRIPT_H
