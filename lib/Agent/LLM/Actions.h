//===- Actions.h - Tools and schemas as text --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For models and servers without native tool calls or schemas: the same request
// in words, and the calls read from the words of the reply.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_ACTIONS_H
#define SPARSEDITTO_LIB_AGENT_LLM_ACTIONS_H

#include "Learned.h"

namespace sparseditto::chat {

/// What the server is to see, given what it supports.
struct Prepared {
  ChatRequest request;       ///< Without tools and schema that became text.
  StructuredMode structured; ///< How request.response is asked for.
};
Prepared prepare(const ChatRequest &request, const Learned &learned);

/// Turns {"action": NAME, "arguments": {...}} in the text of a reply into a
/// tool call if NAME is a declared tool and there is no native call.
void readActions(const ChatRequest &request, ChatReply &reply);

/// Moves a leading <think>...</think> from the text to the reasoning.
void splitThinking(ChatReply &reply);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_ACTIONS_H
