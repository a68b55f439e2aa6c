//===- Url.h - Endpoints ----------------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_URL_H
#define SPARSEDITTO_LIB_AGENT_LLM_URL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace sparseditto::chat {

/// An http or https URL, split strictly: what is not plain (user names, odd
/// characters in the host) is refused, so that libcurl, which gets the URL put
/// together again from the parts, reads the same host as we do.
struct Url {
  bool tls = true;
  std::string host; ///< Lower case; IPv6 with its brackets.
  unsigned port = 443;
  std::string path;  ///< Empty or begins with '/'.
  std::string query; ///< Empty or begins with '?'.

  static llvm::Expected<Url> parse(llvm::StringRef text);

  std::string str() const { return origin() + path + query; }
  /// "https://host", with a port that is not the usual one.
  std::string origin() const;
  /// Without the query, which may hold a secret.
  std::string shown() const { return origin() + path; }
  /// Names this machine: "localhost", 127.0.0.0/8, [::1].
  bool isLoopback() const;
};

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_URL_H
