//===- Learned.h - What a server turned out not to support ------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_LEARNED_H
#define SPARSEDITTO_LIB_AGENT_LLM_LEARNED_H

#include "HttpStatus.h"
#include "sparseditto/Agent/ProviderConfig.h"
#include <set>

namespace sparseditto::chat {

/// Starts from the configuration and is changed by the server's objections.
/// Each change takes something away or swaps it once, so that learning ends.
struct Learned {
  ChatDialect dialect;       ///< Never Auto.
  StructuredMode structured; ///< Never Auto.
  ToolMode tools;            ///< Never Auto.
  bool systemRole = true;    ///< False: system text goes to the user.
  std::string capName;       ///< "max_tokens" or "max_completion_tokens".
  bool capSwapped = false;
  int64_t maxCap = INT64_MAX;       ///< Largest output limit that it takes.
  std::set<std::string> dropped;    ///< Parameters that are left out.
  std::vector<std::string> lessons; ///< One line each.

  Learned(const ProviderConfig &config, ChatDialect dialect);

  /// Changes what the error objects to; false if nothing that was sent can be
  /// left out, so that sending again would be pointless.
  bool learn(int status, const ServerError &error, const OrderedJson &sent);

private:
  bool learnCap(llvm::StringRef message, const OrderedJson &sent);
  bool learnStructured();
  bool learnTools();

  bool fixedStructured, fixedTools;
};

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_LEARNED_H
