//===- StructuredReply.h - JSON out of a model, checked ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_STRUCTUREDREPLY_H
#define SPARSEDITTO_AGENT_STRUCTUREDREPLY_H

#include "sparseditto/Agent/Chat.h"

namespace sparseditto {

/// Checks JSON text against the subset of JSON Schema that we emit: type
/// (also a list), enum, const, properties, required, additionalProperties,
/// items, minItems, maxItems, minimum, maximum, minLength, maxLength, anyOf.
/// An unknown keyword is an error of the schema, never skipped. The error is
/// one line: where, what was got and what was wanted.
llvm::Error validateJSON(llvm::StringRef schema, llvm::StringRef json);

/// The JSON object in a text: all of it, the last fenced block that parses, or
/// the last balanced {...} that does. The error says why there is none.
llvm::Expected<std::string> extractJSON(llvm::StringRef text);

struct StructuredReply {
  ChatReply reply;  ///< The last turn; usage, cost and attempts of all.
  std::string json; ///< Valid for the schema; empty when tools are called.
  bool repaired = false;
  std::string firstError; ///< Why the first answer needed repair.
};

/// One turn whose answer is JSON that matches `request.response`. Looks in the
/// text, then in the reasoning (some servers put it there). An answer that does
/// not match is sent back once with the error; a second one is a ChatError of
/// kind InvalidReply, a refusal one of kind Refused. Tool calls end the turn
/// like an answer: run them, append the results, call again.
llvm::Expected<StructuredReply> completeStructured(ChatProvider &provider,
                                                   const ChatRequest &request,
                                                   const ChatControl &control);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_STRUCTUREDREPLY_H
