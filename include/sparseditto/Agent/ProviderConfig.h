//===- ProviderConfig.h - Which model, where, with what limits --*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_PROVIDERCONFIG_H
#define SPARSEDITTO_AGENT_PROVIDERCONFIG_H

#include "sparseditto/Agent/Chat.h"
#include "sparseditto/Agent/ChatBudget.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <memory>
#include <utility>

namespace sparseditto {

enum class ChatDialect : uint8_t { Auto, OpenAI, Anthropic };

/// How the shape of the answer is asked for. Auto starts with the first and
/// moves on when the server refuses.
enum class StructuredMode : uint8_t {
  Auto,
  JSONSchema,       ///< response_format json_schema, output_config.format.
  JSONObjectSchema, ///< {"type":"json_object","schema":...}: llama-cpp-python.
  JSONObject,
  Text, ///< The schema in the prompt.
};

/// How tools are offered. Auto starts with native ones.
enum class ToolMode : uint8_t { Auto, Native, JSONActions };

struct ProviderConfig {
  /// Base URL ("https://api.openai.com/v1", "http://localhost:8080"), or
  /// "command:PROGRAM ARGS", or "mailbox:DIR".
  std::string endpoint;
  ChatDialect dialect = ChatDialect::Auto;
  std::string model;
  /// At most one of these. The name of an environment variable or of a file:
  /// a key itself is no part of a configuration.
  std::string keyVariable, keyFile;
  /// Header that carries the key; empty: the dialect's own.
  std::string keyHeader;
  std::vector<std::pair<std::string, std::string>> headers;
  /// JSON object merged into each request ("reasoning_effort", "thinking").
  std::string extraParameters;
  StructuredMode structured = StructuredMode::Auto;
  ToolMode tools = ToolMode::Auto;
  bool allowPlainHTTP = false; ///< To hosts other than this one.
  std::string caFile; ///< Certificates, else $SSL_CERT_FILE, else the system's.

  /// By the name of the model; "*" serves any other.
  std::map<std::string, ChatPrice> prices;
  ChatLimits limits; ///< For a ChatBudget; the provider does not read them.

  unsigned maxAttempts = 5;
  double requestSeconds = 600; ///< One attempt.
  double connectSeconds = 15;
  double stallSeconds = 30;    ///< Without progress once a reply has begun.
  double backoffSeconds = 0.5; ///< First wait; doubles up to 8 s.
  double maxWaitSeconds = 120; ///< A longer retry-after is an error.
  uint64_t maxReplyBytes = uint64_t(16) << 20;
  /// Most that a truncated answer's limit is raised to.
  int64_t maxOutputTokens = 32768;

  /// Null if there is none for the model.
  const ChatPrice *price() const;
};

/// Name and value pairs: options of a pass or a command line.
using ProviderOptions = std::vector<std::pair<std::string, std::string>>;

/// The configuration named `name` ("llm" where users need not name one), from
/// weak to strong: the file (if `file` is not empty), the environment
/// (SPARSEDITTO_LLM_ENDPOINT, _MODEL, _API_KEY, _API_KEY_FILE; for "llm" only),
/// `options` (keys as in the file). `environment` returns null for an unset
/// variable. Errors are ChatErrors of kind Config and name file and field.
llvm::Expected<ProviderConfig>
loadProviderConfig(llvm::StringRef name, llvm::StringRef file,
                   const ProviderOptions &options,
                   llvm::function_ref<const char *(const char *)> environment);

/// The same with the process's environment.
llvm::Expected<ProviderConfig>
loadProviderConfig(llvm::StringRef name, llvm::StringRef file,
                   const ProviderOptions &options);

/// Checks the configuration, reads the key, touches no network. `warnings`
/// receives one line each ("key.txt can be read by others (mode 644)").
llvm::Expected<std::unique_ptr<ChatProvider>>
createChatProvider(const ProviderConfig &config,
                   std::vector<std::string> &warnings);

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_PROVIDERCONFIG_H
