//===- Fail.h - Typed errors from a format string ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_FAIL_H
#define SPARSEDITTO_LIB_AGENT_LLM_FAIL_H

#include "sparseditto/Agent/Chat.h"
#include "llvm/Support/FormatVariadic.h"

namespace sparseditto::chat {

/// A ChatError whose message is llvm::formatv(format, values...).
template <typename... Ts>
llvm::Error fail(ChatErrorKind kind, const char *format, Ts &&...values) {
  return llvm::make_error<ChatError>(
      kind, llvm::formatv(format, std::forward<Ts>(values)...).str());
}

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_FAIL_H
