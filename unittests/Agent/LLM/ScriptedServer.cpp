//===- ScriptedServer.cpp - A local HTTP server that plays a script -------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScriptedServer.h"
#include "Json.h"
#include "gtest/gtest.h"
#include <arpa/inet.h>
#include <cstdlib>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::test;

ScriptedServer::ScriptedServer(std::vector<Step> steps)
    : script(std::move(steps)) {
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto *generic = reinterpret_cast<sockaddr *>(&address);
  if (listener < 0 || bind(listener, generic, length) != 0 ||
      listen(listener, 16) != 0 || getsockname(listener, generic, &length) != 0)
    std::abort();
  boundPort = ntohs(address.sin_port);
  thread = std::thread([this] { serve(); });
}

ScriptedServer::~ScriptedServer() {
  stopping = true;
  thread.join();
  close(listener);
}

std::vector<ReceivedRequest> ScriptedServer::requests() const {
  std::lock_guard<std::mutex> lock(mutex);
  return received;
}

static void sendAll(int connection, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t n = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0)
      return;
    bytes = bytes.drop_front(size_t(n));
  }
}

static ReceivedRequest readRequest(int connection) {
  ReceivedRequest request;
  std::string bytes;
  size_t end;
  char buffer[1 << 16];
  auto more = [&] {
    ssize_t n = recv(connection, buffer, sizeof(buffer), 0);
    if (n > 0)
      bytes.append(buffer, size_t(n));
    return n > 0;
  };
  while ((end = bytes.find("\r\n\r\n")) == std::string::npos)
    if (!more())
      return request;
  auto [line, rest] = llvm::StringRef(bytes).take_front(end).split("\r\n");
  request.method = line.split(' ').first.str();
  request.target = line.split(' ').second.split(' ').first.str();
  while (!rest.empty()) {
    auto [field, next] = rest.split("\r\n");
    auto [name, value] = field.split(':');
    request.headers[name.trim().lower()] = value.trim().str();
    rest = next;
  }
  size_t length =
      std::strtoul(request.headers["content-length"].c_str(), nullptr, 10);
  while (bytes.size() < end + 4 + length)
    if (!more())
      break;
  request.body = bytes.substr(end + 4);
  return request;
}

void ScriptedServer::serve() {
  while (!stopping) {
    pollfd poller = {listener, POLLIN, 0};
    if (poll(&poller, 1, /*milliseconds=*/10) <= 0)
      continue;
    int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0)
      continue;
    // A client that never sends must not keep the test from ending.
    timeval patience = {10, 0};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience,
               sizeof(patience));
    ReceivedRequest request = readRequest(connection);
    size_t index;
    {
      std::lock_guard<std::mutex> lock(mutex);
      index = received.size();
      received.push_back(std::move(request));
    }
    if (index < script.size())
      script[index](connection);
    else
      reply(599, "not in the script")(connection);
    close(connection);
  }
}

ScriptedServer::Step ScriptedServer::reply(int status, std::string body,
                                           std::vector<std::string> headers) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n";
  for (const std::string &header : headers)
    text += header + "\r\n";
  text += "Content-Type: application/json\r\nConnection: close\r\n"
          "Content-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body;
  return raw(std::move(text));
}

ScriptedServer::Step ScriptedServer::raw(std::string bytes) {
  return [bytes](int connection) { sendAll(connection, bytes); };
}

static bool clientIsGone(int connection, int milliseconds) {
  pollfd poller = {connection, POLLIN, 0};
  char byte;
  return poll(&poller, 1, milliseconds) > 0 &&
         recv(connection, &byte, 1, MSG_DONTWAIT) <= 0;
}

ScriptedServer::Step ScriptedServer::hang(std::string before) {
  return [before](int connection) {
    sendAll(connection, before);
    clientIsGone(connection, /*milliseconds=*/20000);
  };
}

ScriptedServer::Step ScriptedServer::dribble(std::string bytes,
                                             unsigned milliseconds) {
  return [bytes, milliseconds](int connection) {
    for (char byte : bytes) {
      sendAll(connection, llvm::StringRef(&byte, 1));
      if (clientIsGone(connection, int(milliseconds)))
        return;
    }
  };
}

std::string test::quoted(const std::string &text) {
  return chat::dump(chat::Json(text));
}

std::string test::completion(const std::string &content,
                             const std::string &finish) {
  return R"({"model": "scripted-1", "choices": [{"message": {"role": )"
         R"("assistant", "content": )" +
         content + R"(}, "finish_reason": ")" + finish +
         R"("}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})";
}

ProviderConfig test::configFor(const ScriptedServer &server) {
  ProviderConfig config;
  config.endpoint = server.url();
  config.model = "scripted";
  config.backoffSeconds = 0.001;
  return config;
}

std::unique_ptr<ChatProvider> test::providerFor(const ProviderConfig &config) {
  std::vector<std::string> warnings;
  auto provider = createChatProvider(config, warnings);
  if (!provider) {
    ADD_FAILURE() << llvm::toString(provider.takeError());
    return nullptr;
  }
  return std::move(*provider);
}

ChatRequest test::ask(std::string text) {
  ChatRequest request;
  request.messages.push_back(ChatMessage::user(std::move(text)));
  return request;
}

ChatError test::typedError(llvm::Error error) {
  ChatError result(ChatErrorKind::Config, "no error");
  if (!error)
    ADD_FAILURE() << "expected an error";
  llvm::handleAllErrors(
      std::move(error), [&](const ChatError &typed) { result = typed; },
      [](const llvm::ErrorInfoBase &other) {
        ADD_FAILURE() << "not a ChatError: " << other.message();
      });
  return result;
}

ChatError test::failure(llvm::Expected<ChatReply> reply) {
  if (reply) {
    ADD_FAILURE() << "expected an error, got '" << reply->message.text << "'";
    return ChatError(ChatErrorKind::Config, "none");
  }
  return typedError(reply.takeError());
}

ChatReply test::success(llvm::Expected<ChatReply> reply) {
  if (reply)
    return std::move(*reply);
  ADD_FAILURE() << llvm::toString(reply.takeError());
  return {};
}

ScopedVariable::ScopedVariable(const char *name, const std::string &value)
    : name(name) {
  const char *old = std::getenv(name);
  wasSet = old != nullptr;
  before = old ? old : "";
  setenv(name, value.c_str(), 1);
}

ScopedVariable::~ScopedVariable() {
  if (wasSet)
    setenv(name, before.c_str(), 1);
  else
    unsetenv(name);
}
