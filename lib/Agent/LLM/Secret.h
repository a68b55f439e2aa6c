//===- Secret.h - A key that is never shown ---------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_SECRET_H
#define SPARSEDITTO_LIB_AGENT_LLM_SECRET_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace sparseditto::chat {

/// A key and the means to keep it out of texts.
class Secret {
public:
  Secret() = default;
  explicit Secret(std::string key);

  bool empty() const { return key.empty(); }
  /// For the header that carries it, and nothing else.
  const std::string &reveal() const { return key; }

  /// The text with the key, its JSON-escaped form and a server's abbreviation
  /// of it ("sk-ab***cd") replaced by "[redacted]".
  std::string redact(llvm::StringRef text) const;

private:
  std::string key, escaped;
};

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_SECRET_H
