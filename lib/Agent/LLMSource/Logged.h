//===- Logged.h - A provider whose turns are events -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLMSOURCE_LOGGED_H
#define SPARSEDITTO_LIB_AGENT_LLMSOURCE_LOGGED_H

#include "sparseditto/Agent/Chat.h"
#include "sparseditto/Agent/EventSink.h"

namespace sparseditto {

/// Writes each turn as "request" and "reply", repairs included. A request has
/// the messages that the one before had not; "restart" says that it has all.
class LoggedProvider : public ChatProvider {
public:
  /// `provider` and `sink` (which may be null) outlive this.
  LoggedProvider(ChatProvider &provider, EventSink *sink, unsigned round,
                 int64_t n)
      : provider(provider), sink(sink), round(round), n(n) {}

  std::string name() const override { return provider.name(); }
  llvm::Expected<ChatReply> complete(const ChatRequest &request,
                                     const ChatControl &control) override;
  std::vector<std::string> lessons() const override {
    return provider.lessons();
  }

private:
  void writeRequest(const ChatRequest &request);
  void writeReply(const ChatReply &reply);

  ChatProvider &provider;
  EventSink *sink;
  unsigned round;
  int64_t n;
  std::vector<std::string> written; ///< Text of the messages so far.
};

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_AGENT_LLMSOURCE_LOGGED_H
