//===- Dialect.h - Requests and replies of one kind of server ---*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_DIALECT_H
#define SPARSEDITTO_LIB_AGENT_LLM_DIALECT_H

#include "Actions.h"
#include "Url.h"
#include <memory>

namespace sparseditto::chat {

class Dialect {
public:
  virtual ~Dialect();
  virtual llvm::StringRef name() const = 0;
  /// Where to post, from the endpoint that the user gave.
  virtual Url target(Url endpoint) const = 0;
  /// "name: value" that carries the key.
  virtual std::string keyHeader(const std::string &key) const = 0;
  virtual std::vector<std::string> headers() const { return {}; }
  /// The body, with `cap` as the output limit, before extra parameters.
  virtual OrderedJson body(const Prepared &prepared, const Learned &learned,
                           const std::string &model, int64_t cap) const = 0;
  /// Message, reasoning, stop reason, model and usage (zeros where the server
  /// is silent). The error is a ChatError of kind Malformed.
  virtual llvm::Expected<ChatReply> read(const Json &body) const = 0;
};

std::unique_ptr<Dialect> createOpenAIDialect();
std::unique_ptr<Dialect> createAnthropicDialect();

/// A response's text as JSON: keep-alive blanks and comment lines before it are
/// skipped.
llvm::Expected<Json> parseResponse(llvm::StringRef text);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_DIALECT_H
