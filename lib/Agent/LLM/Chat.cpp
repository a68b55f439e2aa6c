//===- Chat.cpp - Names, sums and errors ----------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Chat.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace sparseditto;

char ChatError::ID;

ChatProvider::~ChatProvider() = default;

llvm::StringRef sparseditto::name(ChatRole role) {
  switch (role) {
  case ChatRole::System:
    return "system";
  case ChatRole::User:
    return "user";
  case ChatRole::Assistant:
    return "assistant";
  case ChatRole::Tool:
    return "tool";
  }
  llvm_unreachable("unknown role");
}

llvm::StringRef sparseditto::name(StopReason reason) {
  switch (reason) {
  case StopReason::End:
    return "end";
  case StopReason::Length:
    return "length";
  case StopReason::ToolUse:
    return "tool_use";
  case StopReason::Refusal:
    return "refusal";
  case StopReason::ContentFilter:
    return "content_filter";
  case StopReason::Other:
    return "other";
  }
  llvm_unreachable("unknown stop reason");
}

llvm::StringRef sparseditto::name(ChatErrorKind kind) {
  switch (kind) {
  case ChatErrorKind::Config:
    return "config";
  case ChatErrorKind::Auth:
    return "auth";
  case ChatErrorKind::NotFound:
    return "not_found";
  case ChatErrorKind::Unreachable:
    return "unreachable";
  case ChatErrorKind::Tls:
    return "tls";
  case ChatErrorKind::RateLimited:
    return "rate_limited";
  case ChatErrorKind::OutOfMoney:
    return "out_of_money";
  case ChatErrorKind::Server:
    return "server";
  case ChatErrorKind::Timeout:
    return "timeout";
  case ChatErrorKind::Malformed:
    return "malformed";
  case ChatErrorKind::TooLarge:
    return "too_large";
  case ChatErrorKind::RefusedRedirect:
    return "refused_redirect";
  case ChatErrorKind::BadRequest:
    return "bad_request";
  case ChatErrorKind::ContextTooLong:
    return "context_too_long";
  case ChatErrorKind::Truncated:
    return "truncated";
  case ChatErrorKind::Refused:
    return "refused";
  case ChatErrorKind::InvalidReply:
    return "invalid_reply";
  case ChatErrorKind::CommandFailed:
    return "command_failed";
  case ChatErrorKind::Budget:
    return "budget";
  case ChatErrorKind::Cancelled:
    return "cancelled";
  }
  llvm_unreachable("unknown kind of error");
}

ChatUsage &ChatUsage::operator+=(const ChatUsage &other) {
  input += other.input;
  cachedInput += other.cachedInput;
  cacheWrite += other.cacheWrite;
  output += other.output;
  reasoning += other.reasoning;
  estimated |= other.estimated;
  return *this;
}

double ChatPrice::cost(const ChatUsage &usage) const {
  int64_t plain =
      std::max<int64_t>(0, usage.input - usage.cachedInput - usage.cacheWrite);
  return (double(plain) * input +
          double(usage.cachedInput) * cachedInput.value_or(input) +
          double(usage.cacheWrite) * cacheWrite.value_or(input) +
          double(usage.output) * output) *
         1e-6;
}

ChatControl ChatControl::within(double seconds) {
  ChatControl control;
  // Beyond a year there is no deadline, and no sum of durations overflows.
  if (!(seconds < 365.0 * 24 * 3600))
    return control;
  control.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(seconds));
  return control;
}

void ChatError::log(llvm::raw_ostream &os) const { os << message; }

std::error_code ChatError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}
