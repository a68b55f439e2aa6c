//===- HttpStatus.h - What a response that is no reply means ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_HTTPSTATUS_H
#define SPARSEDITTO_LIB_AGENT_LLM_HTTPSTATUS_H

#include "HttpClient.h"
#include "Json.h"
#include <ctime>

namespace sparseditto::chat {

/// An error that the server described.
struct ServerError {
  ChatErrorKind kind = ChatErrorKind::Server;
  bool retry = false;
  std::string message;   ///< The server's own, one line.
  std::string code;      ///< "insufficient_quota", "overloaded_error", ...
  std::string parameter; ///< The one it objects to, where it says.
};

/// From a status other than 2xx. `body` may be anything.
ServerError classify(int status, const HttpHeaders &headers,
                     llvm::StringRef body);
/// From an error object in a response with status 200; none if there is none.
std::optional<ServerError> errorInside(const Json &body);

/// Seconds that the server asks to wait: retry-after-ms, retry-after (seconds
/// or a date), or when the exhausted one of its rate limits is reset. `now` is
/// what the date is compared with.
std::optional<double> requestedWait(const HttpHeaders &headers,
                                    std::time_t now);

/// Wait before attempt `attempt` + 1 (from 1) where the server asks for none:
/// doubling from `first`, at most 8 s, shortened by up to a quarter (`jitter`
/// in [0, 1]) so that clients spread.
double backoffSeconds(unsigned attempt, double first, double jitter);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_HTTPSTATUS_H
