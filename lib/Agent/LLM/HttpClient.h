//===- HttpClient.h - POST with limits --------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_HTTPCLIENT_H
#define SPARSEDITTO_LIB_AGENT_LLM_HTTPCLIENT_H

#include "Curl.h"
#include "Url.h"
#include "sparseditto/Agent/Chat.h"
#include <memory>

namespace sparseditto::chat {

/// In the order received, names in lower case.
class HttpHeaders {
public:
  void clear() { fields.clear(); }
  void add(llvm::StringRef line);
  /// The last one of this name; empty if there is none.
  llvm::StringRef find(llvm::StringRef name) const;

private:
  std::vector<std::pair<std::string, std::string>> fields;
};

struct HttpLimits {
  double seconds = 600; ///< All of it.
  double connectSeconds = 15;
  double stallSeconds = 30; ///< Without progress once the body has begun.
  uint64_t maxBytes = uint64_t(16) << 20;
};

/// Why there is no complete response.
struct HttpFailure {
  ChatErrorKind kind;
  std::string message; ///< One line.
  bool retry = false;
  /// False: the request cannot have reached the server.
  bool sent = true;
};

struct HttpResponse {
  std::optional<HttpFailure> failure;
  int status = 0;
  HttpHeaders headers;
  std::string body;
  std::string redirect; ///< Where a 3xx points, as an absolute URL.
  double seconds = 0;
};

/// Keeps connections for the next request. Follows no redirects, checks
/// certificates, and takes proxies from the environment except for loopback.
class HttpClient {
public:
  /// `caFile` may be empty.
  static llvm::Expected<std::unique_ptr<HttpClient>> create(std::string caFile);
  ~HttpClient();

  /// `headers` are "name: value".
  HttpResponse post(const Url &url, const std::vector<std::string> &headers,
                    const std::string &body, const HttpLimits &limits,
                    const ChatControl &control);

private:
  HttpClient(const Curl &curl, std::string caFile)
      : curl(curl), caFile(std::move(caFile)) {}

  const Curl &curl;
  std::string caFile;
  CURL *easy = nullptr;
  CURLM *multi = nullptr;
};

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_HTTPCLIENT_H
