//===- EventSink.h - Where the agent says what it does ----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_EVENTSINK_H
#define SPARSEDITTO_AGENT_EVENTSINK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace sparseditto {

/// Receives the events of a transcript as they happen. The loop writes what it
/// decides and measures; a source writes "request", "reply" and "cost" for what
/// it asks of others. Keys and weights never belong in an event.
/// docs/schema/transcript.schema.json describes the fields.
class EventSink {
public:
  virtual ~EventSink();
  /// `fields` without "event", which `type` becomes. Text that is not UTF-8 is
  /// repaired.
  virtual void event(llvm::StringRef type, llvm::json::Object fields) = 0;
};

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_EVENTSINK_H
