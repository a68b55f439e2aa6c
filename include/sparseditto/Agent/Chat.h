//===- Chat.h - One turn with a language model ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every provider of language models has in common: messages, tools, a
// reply with its usage, and typed errors. JSON crosses this interface as text,
// so that it binds nobody to a JSON library. Providers are made by
// createChatProvider (ProviderConfig.h).
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_AGENT_CHAT_H
#define SPARSEDITTO_AGENT_CHAT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sparseditto {

class ChatBudget;

/// A function that the model may ask us to call.
struct ToolDeclaration {
  std::string name;        ///< At most 64 of [A-Za-z0-9_-].
  std::string description; ///< What it does, for the model.
  std::string schema;      ///< JSON Schema of its arguments, an object.
};

/// The model's wish to call a tool.
struct ToolCall {
  std::string id;        ///< Unique within the conversation.
  std::string name;      ///< Not necessarily a declared tool: check.
  std::string arguments; ///< JSON text, not necessarily valid: check.
};

enum class ChatRole : uint8_t { System, User, Assistant, Tool };
llvm::StringRef name(ChatRole role); ///< "system", ...

struct ChatMessage {
  ChatRole role = ChatRole::User;
  std::string text;
  std::vector<ToolCall> toolCalls; ///< Assistant only.
  std::string toolCallId;          ///< Tool only: the call it answers.
  /// Assistant only: the provider's own form of this message (Anthropic's
  /// thinking blocks), a JSON array. A reply's message put into the next
  /// request unchanged carries it back; other providers ignore it.
  std::string providerBlocks;

  static ChatMessage system(std::string text) {
    return {ChatRole::System, std::move(text), {}, {}, {}};
  }
  static ChatMessage user(std::string text) {
    return {ChatRole::User, std::move(text), {}, {}, {}};
  }
  static ChatMessage toolResult(std::string id, std::string text) {
    return {ChatRole::Tool, std::move(text), {}, std::move(id), {}};
  }
};

/// JSON Schema that the final answer has to match. Servers are asked to enforce
/// it and are not believed: see completeStructured (StructuredReply.h).
struct ResponseSchema {
  std::string name;   ///< At most 64 of [A-Za-z0-9_-].
  std::string schema; ///< JSON text; the root is an object.
};

struct ChatRequest {
  std::vector<ChatMessage> messages;
  std::vector<ToolDeclaration> tools;
  std::optional<ResponseSchema> response;
  int64_t maxOutputTokens = 4096; ///< Reasoning included.
  std::optional<double> temperature;
  std::optional<int64_t> seed;
};

/// Tokens, as the provider counts them.
struct ChatUsage {
  int64_t input = 0;       ///< All of the prompt, cached or not.
  int64_t cachedInput = 0; ///< Part of `input` read from the provider's cache.
  int64_t cacheWrite = 0;  ///< Part of `input` written to it at a higher price.
  int64_t output = 0;      ///< Reasoning included.
  int64_t reasoning = 0;   ///< Part of `output`, where the provider says.
  /// The provider said nothing: an upper estimate from bytes.
  bool estimated = false;

  ChatUsage &operator+=(const ChatUsage &other);
};

/// Money for a million tokens, in the currency of the price table.
struct ChatPrice {
  double input = 0, output = 0;
  std::optional<double> cachedInput, cacheWrite; ///< Else as `input`.

  double cost(const ChatUsage &usage) const;
};

enum class StopReason : uint8_t {
  End,
  Length, ///< Never in a reply: a ChatError of kind Truncated instead.
  ToolUse,
  Refusal,
  ContentFilter,
  Other,
};
llvm::StringRef name(StopReason reason); ///< "end", "tool_use", ...

/// One request as it went over the wire, for transcripts.
struct ChatAttempt {
  int status = 0;         ///< HTTP status or exit code; 0: none was had.
  std::string outcome;    ///< "ok", or one line of what went wrong.
  double seconds = 0;     ///< Duration.
  double waitSeconds = 0; ///< Waited afterwards, before the next.
};

struct ChatReply {
  ChatMessage message;   ///< Role assistant.
  std::string reasoning; ///< Kept apart; never sent back as text.
  StopReason stop = StopReason::End;
  ChatUsage usage; ///< Of all attempts of this turn.
  /// Of all attempts; none where there is no price.
  std::optional<double> cost;
  std::string model; ///< As the provider names what answered.
  std::vector<ChatAttempt> attempts;
  double seconds = 0; ///< Waiting included.
};

enum class ChatErrorKind : uint8_t {
  Config,          ///< Missing key, bad endpoint, unreadable file.
  Auth,            ///< 401, 403.
  NotFound,        ///< No such model or path.
  Unreachable,     ///< Name, connection, or a connection that broke.
  Tls,             ///< Certificate or handshake.
  RateLimited,     ///< Still after all attempts, or too long a wait asked for.
  OutOfMoney,      ///< The account's quota; waiting does not help.
  Server,          ///< 5xx after all attempts.
  Timeout,         ///< Deadline, or a reply that stalled.
  Malformed,       ///< Not what the protocol says.
  TooLarge,        ///< A reply over the size limit.
  RefusedRedirect, ///< To another host.
  BadRequest,      ///< 4xx that dropping parameters does not cure.
  ContextTooLong,  ///< The prompt does not fit the model.
  Truncated,       ///< Hit the output limit even after it was raised.
  Refused,         ///< The model or a filter declined to answer.
  InvalidReply,    ///< Not the JSON that was asked for, after one repair.
  CommandFailed,   ///< The command's exit code.
  Budget,          ///< Our own budget does not allow the call.
  Cancelled,
};
llvm::StringRef name(ChatErrorKind kind); ///< "auth", "not_found", ...

/// Why a turn failed. The message is one line and holds no key.
class ChatError : public llvm::ErrorInfo<ChatError> {
public:
  static char ID;

  ChatError(ChatErrorKind kind, std::string message)
      : kind(kind), message(std::move(message)) {}

  ChatErrorKind kind;
  std::string message;
  ChatUsage usage; ///< Already charged, for the turn that failed.
  std::optional<double> cost;
  std::vector<ChatAttempt> attempts;

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

/// Limits of one turn. All members may be left as they are.
struct ChatControl {
  using Clock = std::chrono::steady_clock;
  /// Attempts, waits and the command end here at the latest.
  Clock::time_point deadline = Clock::time_point::max();
  /// Looked at several times a second.
  const std::atomic<bool> *cancelled = nullptr;
  /// Charged before each attempt and settled after it.
  ChatBudget *budget = nullptr;

  static ChatControl within(double seconds);
};

/// Someone who answers. Not thread-safe: one object a thread.
class ChatProvider {
public:
  virtual ~ChatProvider();
  /// For people: "openai gpt-5 at https://api.openai.com/v1". Holds no key.
  virtual std::string name() const = 0;
  /// One turn: retries, dropped parameters and a raised output limit included.
  /// Errors are ChatErrors.
  virtual llvm::Expected<ChatReply> complete(const ChatRequest &request,
                                             const ChatControl &control) = 0;
  /// What was learnt about the other side, one line each ("temperature is not
  /// supported"), for transcripts.
  virtual std::vector<std::string> lessons() const { return {}; }
};

} // namespace sparseditto

#endif // SPARSEDITTO_AGENT_CHAT_H
