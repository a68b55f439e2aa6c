//===- CommandProvider.cpp - A model behind a command ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fail.h"
#include "FileProtocol.h"
#include "Providers.h"
#include "Turn.h"
#include "sparseditto/Support/Process.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/StringSaver.h"
#include <algorithm>

using namespace sparseditto;
using namespace sparseditto::chat;

namespace {
class CommandProvider : public ChatProvider {
public:
  CommandProvider(const ProviderConfig &config, std::vector<std::string> args)
      : config(config), args(std::move(args)),
        learned(config, ChatDialect::OpenAI) {
    // The request says all in its own fields; words only where asked for.
    if (config.structured == StructuredMode::Auto)
      learned.structured = StructuredMode::JSONSchema;
  }

  std::string name() const override { return "command " + args.front(); }

  llvm::Expected<ChatReply> complete(const ChatRequest &request,
                                     const ChatControl &control) override;

private:
  ProviderConfig config;
  std::vector<std::string> args;
  Learned learned;
  Secret noSecret;
};
} // namespace

/// The last line with something on it: tracebacks end with what happened.
static std::string lastLine(llvm::StringRef text) {
  text = text.rtrim();
  return oneLine(text.substr(text.find_last_of('\n') + 1));
}

llvm::Expected<ChatReply>
CommandProvider::complete(const ChatRequest &request,
                          const ChatControl &control) {
  Turn turn(config, noSecret, control);
  if (llvm::Error error = checkRequest(request))
    return turn.fail(std::move(error));
  Prepared prepared = prepare(request, learned);
  std::string text = requestText(prepared.request, config.model);
  if (llvm::Error error = turn.charge(text, request.maxOutputTokens))
    return error;
  ProcessOptions options;
  options.input = text;
  options.separateErrors = true;
  options.cancelled = control.cancelled;
  options.maxOutput = config.maxReplyBytes;
  options.timeoutSeconds =
      std::max(0.001, std::min(config.requestSeconds, turn.secondsLeft()));
  llvm::Expected<ProcessResult> result = runProcess(args, options);
  if (!result) {
    turn.refund();
    return turn.fail(result.takeError(), ChatErrorKind::CommandFailed);
  }
  auto failed = [&](ChatErrorKind kind, std::string message) {
    turn.record(result->exitCode, message, result->seconds);
    turn.keep();
    return turn.fail(kind, "'" + args.front() + "' " + message);
  };
  if (result->cancelled)
    return failed(ChatErrorKind::Cancelled, "was cancelled");
  if (result->timedOut)
    return failed(
        ChatErrorKind::Timeout,
        llvm::formatv("gave no reply within {0:f1} s", options.timeoutSeconds)
            .str());
  std::string said = lastLine(result->errors);
  if (!said.empty())
    said = ": " + said;
  if (result->signal != 0)
    return failed(ChatErrorKind::CommandFailed,
                  "was killed by signal " + std::to_string(result->signal) +
                      said);
  if (result->exitCode != 0)
    return failed(ChatErrorKind::CommandFailed,
                  "exited with " + std::to_string(result->exitCode) + said);
  if (result->truncated)
    return failed(
        ChatErrorKind::TooLarge,
        llvm::formatv("wrote more than {0} bytes", config.maxReplyBytes).str());
  llvm::Expected<ChatReply> reply = readReply(result->output);
  if (!reply) {
    ChatErrorKind kind = ChatErrorKind::Malformed;
    std::string message;
    llvm::handleAllErrors(reply.takeError(), [&](const ChatError &error) {
      kind = error.kind;
      message = error.message;
    });
    return failed(kind, "answered: " + message);
  }
  turn.settle(reply->usage, writtenText(*reply));
  turn.record(0, "ok", result->seconds);
  if (reply->stop == StopReason::Length)
    return turn.fail(ChatErrorKind::Truncated,
                     "'" + args.front() + "' says that its answer was cut");
  splitThinking(*reply);
  readActions(request, *reply);
  return turn.finish(std::move(*reply));
}

llvm::Expected<std::unique_ptr<ChatProvider>>
chat::createCommandProvider(const ProviderConfig &config,
                            llvm::StringRef commandLine) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  llvm::SmallVector<const char *, 8> words;
  llvm::cl::TokenizeGNUCommandLine(commandLine, saver, words);
  if (words.empty())
    return fail(ChatErrorKind::Config, "endpoint 'command:' names no program");
  std::vector<std::string> args(words.begin(), words.end());
  llvm::ErrorOr<std::string> program =
      llvm::sys::findProgramByName(args.front());
  if (!program)
    return fail(ChatErrorKind::Config,
                "endpoint 'command:': '{0}' is not a "
                "program: {1}",
                args.front(), program.getError().message());
  args.front() = *program;
  return std::make_unique<CommandProvider>(config, std::move(args));
}
