//===- Turn.cpp - Accounts of one turn ------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Turn.h"
#include "Fail.h"
#include "Schema.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <thread>

using namespace sparseditto;
using namespace sparseditto::chat;

llvm::Error Turn::charge(llvm::StringRef input, int64_t cap) {
  pending = {};
  pending.input = estimateTokens(input);
  pending.output = cap;
  if (!control.budget)
    return llvm::Error::success();
  llvm::Expected<ChatBudget::Charge> charge =
      control.budget->charge(pending, config.price());
  if (!charge)
    return fail(charge.takeError());
  charged = *charge;
  return llvm::Error::success();
}

void Turn::settle(ChatUsage usage, llvm::StringRef output) {
  if (usage.input <= 0 || usage.output <= 0) {
    usage.input = std::max(usage.input, pending.input);
    usage.output = std::max(usage.output,
                            std::min(pending.output, estimateTokens(output)));
    usage.estimated = true;
  }
  used += usage;
  if (charged)
    control.budget->settle(*charged, usage, config.price());
  charged.reset();
}

void Turn::refund() {
  if (charged)
    control.budget->refund(*charged);
  charged.reset();
}

void Turn::keep() {
  ChatUsage usage = pending;
  usage.estimated = true;
  used += usage;
  if (charged)
    control.budget->keep(*charged);
  charged.reset();
}

void Turn::record(int status, std::string outcome, double seconds) {
  attempts.push_back({status, secret.redact(outcome), seconds, 0});
}

ChatControl::Clock::time_point Turn::deadline() const {
  return control.budget ? std::min(control.deadline, control.budget->deadline())
                        : control.deadline;
}

double Turn::secondsLeft() const {
  return std::chrono::duration<double>(deadline() - Clock::now()).count();
}

bool Turn::wait(double seconds) {
  if (seconds >= secondsLeft())
    return false;
  if (!attempts.empty())
    attempts.back().waitSeconds = seconds;
  Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(seconds));
  while (Clock::now() < end) {
    if (cancelled())
      return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(
        end - Clock::now(), std::chrono::milliseconds(50)));
  }
  return true;
}

llvm::Error Turn::fail(ChatErrorKind kind, std::string message) {
  auto error =
      std::make_unique<ChatError>(kind, secret.redact(oneLine(message, 600)));
  error->usage = used;
  error->attempts = attempts;
  if (const ChatPrice *price = config.price())
    error->cost = price->cost(used);
  return llvm::Error(std::move(error));
}

llvm::Error Turn::fail(llvm::Error error, ChatErrorKind kind) {
  std::string message;
  llvm::handleAllErrors(
      std::move(error),
      [&](const ChatError &typed) {
        kind = typed.kind;
        message = typed.message;
      },
      [&](const llvm::ErrorInfoBase &other) { message = other.message(); });
  return fail(kind, std::move(message));
}

ChatReply Turn::finish(ChatReply reply) {
  reply.usage = used;
  if (const ChatPrice *price = config.price())
    reply.cost = price->cost(used);
  reply.attempts = attempts;
  reply.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return reply;
}

static bool isName(llvm::StringRef name) {
  return !name.empty() && name.size() <= 64 && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '-';
  });
}

static llvm::Error checkNamed(llvm::StringRef what, llvm::StringRef name,
                              llvm::StringRef schemaText) {
  if (!isName(name))
    return fail(ChatErrorKind::Config,
                "{0} '{1}': a name has 1 to 64 letters, digits, '_' or '-'",
                what, name);
  llvm::Expected<Json> schema = parseJson(schemaText);
  if (!schema)
    return fail(ChatErrorKind::Config, "schema of {0} '{1}': {2}", what, name,
                llvm::toString(schema.takeError()));
  if (llvm::Error error = checkSchema(*schema))
    return fail(ChatErrorKind::Config, "{0} '{1}': {2}", what, name,
                llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Error chat::checkRequest(const ChatRequest &request) {
  if (request.messages.empty())
    return fail(ChatErrorKind::Config, "a request needs a message");
  if (request.maxOutputTokens < 1)
    return fail(ChatErrorKind::Config,
                "a request's limit is at least one token, got {0}",
                request.maxOutputTokens);
  for (const ToolDeclaration &tool : request.tools)
    if (llvm::Error error = checkNamed("tool", tool.name, tool.schema))
      return error;
  if (request.response)
    return checkNamed("answer", request.response->name,
                      request.response->schema);
  return llvm::Error::success();
}
