//===- HttpProvider.cpp - A model behind HTTP -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dialect.h"
#include "Fail.h"
#include "FileProtocol.h"
#include "Providers.h"
#include "Turn.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <ctime>
#include <random>

using namespace sparseditto;
using namespace sparseditto::chat;

/// Redirects on the same host that are followed.
static constexpr unsigned maxRedirects = 3;
/// Attempts to connect; longer outages are for people to look at.
static constexpr unsigned maxConnects = 3;

namespace {
class HttpProvider : public ChatProvider {
public:
  HttpProvider(const ProviderConfig &config, ChatDialect dialectName,
               const Url &endpoint, Secret secret,
               std::unique_ptr<HttpClient> client)
      : config(config), secret(std::move(secret)),
        dialect(dialectName == ChatDialect::Anthropic ? createAnthropicDialect()
                                                      : createOpenAIDialect()),
        target(dialect->target(endpoint)), learned(config, dialectName),
        client(std::move(client)), jitter(std::random_device{}()) {}

  std::string name() const override {
    return (dialect->name() + " " + config.model + " at ").str() +
           target.shown();
  }

  std::vector<std::string> lessons() const override { return learned.lessons; }

  llvm::Expected<ChatReply> complete(const ChatRequest &request,
                                     const ChatControl &control) override;

private:
  OrderedJson bodyFor(const Prepared &prepared, int64_t cap) const;
  HttpResponse post(const std::string &text, Turn &turn,
                    const ChatControl &control);
  /// One request. No reply means: once more, with what was learnt or after a
  /// wait.
  llvm::Expected<std::optional<ChatReply>> attempt(const ChatRequest &request,
                                                   int64_t cap, Turn &turn,
                                                   const ChatControl &control);
  // Success means: once more.
  llvm::Error afterFailure(const HttpFailure &failure, Turn &turn);
  llvm::Error afterStatus(const HttpResponse &response, const OrderedJson &sent,
                          Turn &turn);
  /// Waits for the next attempt; an error of `kind` if there is none.
  llvm::Error retry(ChatErrorKind kind, const std::string &message,
                    std::optional<double> requested, unsigned most, Turn &turn);
  void compareUsage(const Prepared &prepared, const ChatUsage &usage);

  ProviderConfig config;
  Secret secret;
  std::unique_ptr<Dialect> dialect;
  Url target;
  Learned learned;
  std::unique_ptr<HttpClient> client;
  std::minstd_rand jitter;
  unsigned failures = 0; ///< Of this turn.
  bool shortPromptNoted = false;
};
} // namespace

OrderedJson HttpProvider::bodyFor(const Prepared &prepared, int64_t cap) const {
  OrderedJson body = dialect->body(prepared, learned, config.model, cap);
  if (!config.extraParameters.empty()) {
    OrderedJson extra =
        llvm::cantFail(parseOrderedJson(config.extraParameters));
    for (const char *ours : {"model", "messages", "stream"})
      extra.erase(ours);
    body.merge_patch(extra);
  }
  for (const std::string &key : learned.dropped)
    body.erase(key);
  return body;
}

HttpResponse HttpProvider::post(const std::string &text, Turn &turn,
                                const ChatControl &control) {
  std::vector<std::string> headers = dialect->headers();
  headers.push_back("Content-Type: application/json");
  headers.push_back("Accept: application/json");
  headers.push_back("User-Agent: sparseditto");
  for (const auto &[name, value] : config.headers)
    headers.push_back(name + ": " + value);
  if (!secret.empty())
    headers.push_back(config.keyHeader.empty()
                          ? dialect->keyHeader(secret.reveal())
                          : config.keyHeader + ": " + secret.reveal());
  HttpLimits limits = {config.requestSeconds, config.connectSeconds,
                       config.stallSeconds, config.maxReplyBytes};
  ChatControl bounded = control;
  bounded.deadline = turn.deadline();
  Url url = target;
  for (unsigned followed = 0;; ++followed) {
    HttpResponse response = client->post(url, headers, text, limits, bounded);
    // 307 and 308 keep the method and the body; the key goes nowhere else.
    bool redirects =
        !response.failure && response.status >= 300 && response.status < 400;
    if (!redirects)
      return response;
    llvm::Expected<Url> next = Url::parse(response.redirect);
    std::string where = "nowhere";
    if (next)
      where = next->origin();
    else
      llvm::consumeError(next.takeError());
    if (!next || next->origin() != target.origin() ||
        (response.status != 307 && response.status != 308) ||
        followed == maxRedirects) {
      response.failure = HttpFailure{
          ChatErrorKind::RefusedRedirect,
          llvm::formatv(
              "redirected with HTTP {0} to {1}, which is not followed",
              response.status, where)
              .str(),
          false, false};
      return response;
    }
    url = *next;
  }
}

llvm::Error HttpProvider::retry(ChatErrorKind kind, const std::string &message,
                                std::optional<double> requested, unsigned most,
                                Turn &turn) {
  if (++failures >= most)
    return turn.fail(kind, llvm::formatv("{0}: {1} ({2} attempts)", target.host,
                                         message, failures)
                               .str());
  double fraction =
      double(jitter() - jitter.min()) / double(jitter.max() - jitter.min());
  double wait = requested.value_or(
      backoffSeconds(failures, config.backoffSeconds, fraction));
  if (wait > config.maxWaitSeconds || wait >= turn.secondsLeft())
    return turn.fail(
        kind, llvm::formatv("{0}: {1} (the next attempt would be in {2:f1} s)",
                            target.host, message, wait)
                  .str());
  if (!turn.wait(wait))
    return turn.fail(ChatErrorKind::Cancelled, "cancelled");
  return llvm::Error::success();
}

llvm::Error HttpProvider::afterFailure(const HttpFailure &failure, Turn &turn) {
  if (failure.sent)
    turn.keep();
  else
    turn.refund();
  if (failure.retry)
    return retry(failure.kind, failure.message, std::nullopt,
                 failure.sent ? config.maxAttempts
                              : std::min(config.maxAttempts, maxConnects),
                 turn);
  return turn.fail(failure.kind, target.host + ": " + failure.message);
}

llvm::Error HttpProvider::afterStatus(const HttpResponse &response,
                                      const OrderedJson &sent, Turn &turn) {
  ServerError problem =
      classify(response.status, response.headers, response.body);
  turn.refund();
  if (learned.learn(response.status, problem, sent))
    return llvm::Error::success();
  std::string message = "HTTP " + std::to_string(response.status);
  if (!problem.message.empty())
    message += ": " + problem.message;
  if (problem.kind == ChatErrorKind::Auth && secret.empty())
    message += " (no key was sent)";
  if (problem.kind == ChatErrorKind::NotFound)
    message += " (model '" + config.model + "', path " + target.path + ")";
  if (problem.retry)
    return retry(problem.kind, message,
                 requestedWait(response.headers, std::time(nullptr)),
                 config.maxAttempts, turn);
  return turn.fail(problem.kind, target.host + ": " + message);
}

/// Some servers cut a prompt that is too long and say nothing.
void HttpProvider::compareUsage(const Prepared &prepared,
                                const ChatUsage &usage) {
  size_t letters = 0;
  for (const ChatMessage &message : prepared.request.messages)
    letters += size_t(
        llvm::count_if(message.text, [](char c) { return uint8_t(c) > ' '; }));
  // No tokenizer puts ten letters into a token on average.
  if (shortPromptNoted || usage.estimated || usage.input <= 0 ||
      letters < 4096 || double(letters) < 10 * double(usage.input))
    return;
  shortPromptNoted = true;
  learned.lessons.push_back(
      llvm::formatv("the server counts {0} tokens in a prompt of {1} letters: "
                    "it may have cut the prompt (raise its context size)",
                    usage.input, letters)
          .str());
}

llvm::Expected<std::optional<ChatReply>>
HttpProvider::attempt(const ChatRequest &request, int64_t cap, Turn &turn,
                      const ChatControl &control) {
  Prepared prepared = prepare(request, learned);
  OrderedJson sent = bodyFor(prepared, cap);
  std::string text = dump(sent);
  if (llvm::Error error = turn.charge(text, cap))
    return error;
  HttpResponse response = post(text, turn, control);
  // Before anybody reads it: proxies echo headers.
  response.body = secret.redact(response.body);
  auto record = [&](std::string outcome) {
    turn.record(response.status, std::move(outcome), response.seconds);
  };
  if (response.failure) {
    record(response.failure->message);
    if (llvm::Error error = afterFailure(*response.failure, turn))
      return error;
    return std::nullopt;
  }
  if (response.status < 200 || response.status > 299) {
    record(oneLine(response.body, 200));
    if (llvm::Error error = afterStatus(response, sent, turn))
      return error;
    return std::nullopt;
  }
  auto malformed = [&](llvm::Error error) {
    std::string message = llvm::toString(std::move(error));
    record(message);
    turn.keep();
    return turn.fail(ChatErrorKind::Malformed, target.host + ": " + message);
  };
  llvm::Expected<Json> body = parseResponse(response.body);
  if (!body)
    return malformed(body.takeError());
  if (std::optional<ServerError> inside = errorInside(*body)) {
    record(inside->message);
    turn.keep();
    std::string message = "error in the reply: " + inside->message;
    if (!inside->retry)
      return turn.fail(inside->kind, target.host + ": " + message);
    if (llvm::Error error = retry(inside->kind, message, std::nullopt,
                                  config.maxAttempts, turn))
      return error;
    return std::nullopt;
  }
  llvm::Expected<ChatReply> reply = dialect->read(*body);
  if (!reply)
    return malformed(reply.takeError());
  compareUsage(prepared, reply->usage);
  turn.settle(reply->usage, writtenText(*reply));
  record(reply->stop == StopReason::Length ? "cut at the output limit" : "ok");
  return std::move(*reply);
}

llvm::Expected<ChatReply> HttpProvider::complete(const ChatRequest &request,
                                                 const ChatControl &control) {
  Turn turn(config, secret, control);
  if (llvm::Error error = checkRequest(request))
    return turn.fail(std::move(error));
  failures = 0;
  int64_t cap = request.maxOutputTokens;
  bool raised = false;
  while (true) {
    if (turn.cancelled())
      return turn.fail(ChatErrorKind::Cancelled, "cancelled");
    cap = std::min(cap, learned.maxCap);
    llvm::Expected<std::optional<ChatReply>> reply =
        attempt(request, cap, turn, control);
    if (!reply)
      return reply.takeError();
    if (!*reply)
      continue;
    if ((*reply)->stop != StopReason::Length) {
      splitThinking(**reply);
      readActions(request, **reply);
      return turn.finish(std::move(**reply));
    }
    int64_t higher = std::min(
        {cap * 4, std::max(cap, config.maxOutputTokens), learned.maxCap});
    if (raised || higher <= cap)
      return turn.fail(ChatErrorKind::Truncated,
                       llvm::formatv("{0}: the answer was cut at {1} tokens{2}",
                                     target.host, cap,
                                     (*reply)->message.text.empty()
                                         ? ", all of them spent on reasoning"
                                         : "")
                           .str());
    raised = true;
    cap = higher;
  }
}

llvm::Expected<std::unique_ptr<ChatProvider>>
chat::createHttpProvider(const ProviderConfig &config, ChatDialect dialect,
                         const Url &endpoint, Secret secret) {
  auto client = HttpClient::create(config.caFile);
  if (!client)
    return client.takeError();
  return std::make_unique<HttpProvider>(config, dialect, endpoint,
                                        std::move(secret), std::move(*client));
}
