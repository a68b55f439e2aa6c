//===- HttpStatus.cpp - What a response that is no reply means ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HttpStatus.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>

using namespace sparseditto;
using namespace sparseditto::chat;

static bool mentions(llvm::StringRef text,
                     std::initializer_list<llvm::StringRef> phrases) {
  return llvm::any_of(phrases, [&](llvm::StringRef phrase) {
    return text.contains_insensitive(phrase);
  });
}

/// FastAPI's {"detail": [{"loc": ["body", "seed"], "msg": ...}]}.
static void readDetail(const Json &detail, ServerError &error) {
  if (!detail.is_array() || detail.empty()) {
    error.message = asText(detail);
    return;
  }
  const Json &first = detail.front();
  error.message = stringAt(first, "msg");
  if (const Json *where = find(first, "loc"); where && where->is_array())
    for (const Json &part : *where)
      if (part.is_string() && part != "body" && error.parameter.empty())
        error.parameter = asText(part);
}

/// Message, code and parameter, in any of the shapes that servers use.
static ServerError describe(const Json &body) {
  ServerError error;
  const Json *inner = find(body, "error");
  if (inner && inner->is_object()) {
    error.message = stringAt(*inner, "message");
    if (const Json *code = find(*inner, "code"))
      error.code = asText(*code);
    if (error.code.empty() || llvm::isDigit(error.code[0]))
      if (const Json *type = find(*inner, "type"))
        error.code = asText(*type);
    error.parameter = stringAt(*inner, "param");
  } else if (inner) {
    error.message = asText(*inner);
  } else if (const Json *detail = find(body, "detail")) {
    readDetail(*detail, error);
  } else {
    error.message = stringAt(body, "message");
    error.code = stringAt(body, "type");
    error.parameter = stringAt(body, "param");
  }
  // "response_format.json_schema" is about response_format.
  error.parameter =
      error.parameter.substr(0, error.parameter.find_first_of(".["));
  return error;
}

static void judge(int status, ServerError &error) {
  llvm::StringRef code = error.code, message = error.message;
  bool money =
      mentions(code, {"insufficient_quota", "credit_balance", "spend_limit",
                      "billing", "insufficient_credits"}) ||
      mentions(message, {"credit balance", "exceeded your current quota",
                         "insufficient credits", "insufficient balance"});
  bool context =
      mentions(code, {"context_length", "exceed_context_size"}) ||
      mentions(message, {"prompt is too long", "maximum context length",
                         "context window", "context size"});
  if (status == 402 || (money && status >= 400 && status < 500)) {
    error.kind = ChatErrorKind::OutOfMoney;
  } else if (status == 401 || status == 403) {
    error.kind = ChatErrorKind::Auth;
  } else if (status == 404 || mentions(code, {"model_not_found"})) {
    error.kind = ChatErrorKind::NotFound;
  } else if (status == 429) {
    error.kind = ChatErrorKind::RateLimited;
    error.retry = true;
  } else if (status == 408) {
    error.kind = ChatErrorKind::Timeout;
    error.retry = true;
  } else if (status == 409 || status == 425 ||
             (status >= 500 && status != 501 && status != 505)) {
    error.kind = ChatErrorKind::Server;
    error.retry = true;
  } else if (status == 413 || context) {
    error.kind = ChatErrorKind::ContextTooLong;
  } else {
    error.kind = ChatErrorKind::BadRequest;
  }
}

ServerError chat::classify(int status, const HttpHeaders &headers,
                           llvm::StringRef body) {
  ServerError error;
  llvm::Expected<Json> json = parseJson(body.trim());
  if (json) {
    error = describe(*json);
  } else {
    // A proxy's page: its first words may help, all of it would not.
    llvm::consumeError(json.takeError());
    error.message = oneLine(body, 120);
  }
  judge(status, error);
  llvm::StringRef should = headers.find("x-should-retry");
  if (should == "true")
    error.retry = true;
  else if (should == "false")
    error.retry = false;
  error.message = oneLine(error.message);
  return error;
}

std::optional<ServerError> chat::errorInside(const Json &body) {
  if (!find(body, "error"))
    return std::nullopt;
  ServerError error = describe(body);
  int64_t status = countAt(*find(body, "error"), "code");
  judge(status >= 400 && status <= 599 ? int(status) : 500, error);
  error.message = oneLine(error.message);
  return error;
}

/// A finite number that is not negative.
static bool readNumber(llvm::StringRef text, double &value) {
  // to_float takes an empty text for 0.
  return !text.empty() && llvm::to_float(text, value) && std::isfinite(value) &&
         value >= 0;
}

/// "6m0s", "1.5s", "20ms", "3" (seconds).
static std::optional<double> duration(llvm::StringRef text) {
  static constexpr std::pair<llvm::StringLiteral, double> units[] = {
      {"ms", 1e-3}, {"h", 3600}, {"m", 60}, {"s", 1}};
  double total = 0;
  if (text.empty())
    return std::nullopt;
  while (!text.empty()) {
    llvm::StringRef number =
        text.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
    double value;
    if (!readNumber(number, value))
      return std::nullopt;
    text = text.drop_front(number.size());
    if (text.empty()) {
      total += value;
      break;
    }
    const auto *unit = llvm::find_if(units, [&](const auto &entry) {
      return text.consume_front(entry.first);
    });
    if (unit == std::end(units))
      return std::nullopt;
    total += value * unit->second;
  }
  return total;
}

static std::optional<double> httpDate(llvm::StringRef text, std::time_t now) {
  std::tm parts = {};
  std::string copy = text.str();
  const char *end = strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (!end || *end)
    return std::nullopt;
  return std::max(0.0, std::difftime(timegm(&parts), now));
}

std::optional<double> chat::requestedWait(const HttpHeaders &headers,
                                          std::time_t now) {
  double value;
  if (readNumber(headers.find("retry-after-ms"), value))
    return value * 1e-3;
  llvm::StringRef after = headers.find("retry-after");
  if (readNumber(after, value))
    return value;
  if (std::optional<double> seconds = httpDate(after, now))
    return seconds;
  std::optional<double> wait;
  for (llvm::StringRef what : {"requests", "tokens"}) {
    if (headers.find(("x-ratelimit-remaining-" + what).str()) != "0")
      continue;
    if (std::optional<double> reset =
            duration(headers.find(("x-ratelimit-reset-" + what).str())))
      wait = std::max(wait.value_or(0), *reset);
  }
  return wait;
}

double chat::backoffSeconds(unsigned attempt, double first, double jitter) {
  double wait = first * std::exp2(double(std::min(attempt, 20u)) - 1);
  return std::min(wait, 8.0) * (1 - 0.25 * jitter);
}
