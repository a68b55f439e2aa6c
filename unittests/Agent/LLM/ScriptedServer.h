//===- ScriptedServer.h - An HTTP server that plays a script ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_AGENT_LLM_SCRIPTEDSERVER_H
#define SPARSEDITTO_UNITTESTS_AGENT_LLM_SCRIPTEDSERVER_H

#include "sparseditto/Agent/ProviderConfig.h"
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sparseditto::test {

struct ReceivedRequest {
  std::string method, target;
  std::map<std::string, std::string> headers; ///< Names in lower case.
  std::string body;
};

/// Answers the n-th request with the n-th step and closes the connection. More
/// requests than steps get status 599. Listens on 127.0.0.1, a free port.
class ScriptedServer {
public:
  /// What is done with the connection once the request is read.
  using Step = std::function<void(int connection)>;

  explicit ScriptedServer(std::vector<Step> script);
  ~ScriptedServer();

  unsigned port() const { return boundPort; }
  std::string url(const std::string &path = "") const {
    return "http://127.0.0.1:" + std::to_string(boundPort) + path;
  }
  std::vector<ReceivedRequest> requests() const;

  /// A response with its length.
  static Step reply(int status, std::string body,
                    std::vector<std::string> headers = {});
  /// These bytes, and the end of the connection.
  static Step raw(std::string bytes);
  /// `before` at once, then nothing until the client goes away.
  static Step hang(std::string before = "");
  /// `bytes` one at a time with pauses in between, until the client goes away.
  static Step dribble(std::string bytes, unsigned milliseconds);

private:
  void serve();

  std::vector<Step> script;
  int listener = -1;
  unsigned boundPort = 0;
  std::atomic<bool> stopping = false;
  mutable std::mutex mutex;
  std::vector<ReceivedRequest> received;
  std::thread thread;
};

/// A chat completion whose message has this content (JSON text of it).
std::string completion(const std::string &content,
                       const std::string &finish = "stop");
/// With quotes and escapes.
std::string quoted(const std::string &text);

/// A configuration for the server that does not wait between attempts.
ProviderConfig configFor(const ScriptedServer &server);
std::unique_ptr<ChatProvider> providerFor(const ProviderConfig &config);
/// One user message.
ChatRequest ask(std::string text = "hello");

/// The typed error in `error`; fails the test for any other.
ChatError typedError(llvm::Error error);
/// The same of a reply that should not be.
ChatError failure(llvm::Expected<ChatReply> reply);
/// A reply that has to be.
ChatReply success(llvm::Expected<ChatReply> reply);

/// Sets a variable for the life of the object.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const std::string &value);
  ~ScopedVariable();

private:
  const char *name;
  std::string before;
  bool wasSet;
};

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_AGENT_LLM_SCRIPTEDSERVER_H
