//===- FileProtocol.h - Requests and replies as files -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a command reads and writes and what lies in a mailbox. docs/Agent.md has
// the format.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_FILEPROTOCOL_H
#define SPARSEDITTO_LIB_AGENT_LLM_FILEPROTOCOL_H

#include "Actions.h"

namespace sparseditto::chat {

/// The request as pretty JSON, the same bytes for the same request.
std::string requestText(const ChatRequest &request, const std::string &model);

/// From a command's output or a reply file: an object with "text" or
/// "tool_calls" and nothing unknown beside it is a reply in our format;
/// anything else is the text of the answer itself. An "error" in the object is
/// a ChatError of kind Server.
llvm::Expected<ChatReply> readReply(llvm::StringRef text);

/// What the model wrote, for estimates of its tokens.
std::string writtenText(const ChatReply &reply);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_FILEPROTOCOL_H
