//===- CreateProvider.cpp - From a configuration to a provider ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fail.h"
#include "Json.h"
#include "Providers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::chat;

/// Longest key that is read; real ones have 20 to 200 characters.
static constexpr size_t maxKeyBytes = 8192;

static llvm::Expected<std::string>
readKeyFile(const std::string &path, std::vector<std::string> &warnings) {
  auto cannot = [&](const char *why) {
    return fail(ChatErrorKind::Config, "key file '{0}': {1}", path, why);
  };
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return cannot(std::strerror(errno));
  struct stat status = {};
  std::string text(maxKeyBytes + 1, '\0');
  bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  ssize_t n = regular ? read(fd, text.data(), text.size()) : -1;
  close(fd);
  if (!regular)
    return cannot("it is not a regular file");
  if (n < 0 || size_t(n) > maxKeyBytes)
    return cannot("it cannot be read as a key");
  text.resize(size_t(n));
  if (status.st_mode & 077)
    warnings.push_back(
        llvm::formatv("key file '{0}' is open to others (mode "
                      "{1}); chmod 600 closes it",
                      path, llvm::format("%03o", status.st_mode & 0777))
            .str());
  return text;
}

static llvm::Expected<Secret> readKey(const ProviderConfig &config,
                                      std::vector<std::string> &warnings) {
  if (!config.keyVariable.empty() && !config.keyFile.empty())
    return fail(ChatErrorKind::Config,
                "give one of api_key_env and api_key_file");
  std::string source, text;
  if (!config.keyVariable.empty()) {
    source = "variable '" + config.keyVariable + "'";
    const char *value = std::getenv(config.keyVariable.c_str());
    if (!value)
      return fail(ChatErrorKind::Config, "key {0} is not set", source);
    text = value;
  } else if (!config.keyFile.empty()) {
    source = "file '" + config.keyFile + "'";
    llvm::Expected<std::string> read = readKeyFile(config.keyFile, warnings);
    if (!read)
      return read.takeError();
    text = std::move(*read);
  } else {
    return Secret();
  }
  llvm::StringRef key = llvm::StringRef(text).trim();
  if (key.empty())
    return fail(ChatErrorKind::Config, "key {0} is empty", source);
  if (llvm::any_of(
          key, [](char c) { return uint8_t(c) <= ' ' || uint8_t(c) >= 0x7f; }))
    return fail(ChatErrorKind::Config,
                "key {0} holds more than one line of printable characters",
                source);
  return Secret(key.str());
}

static llvm::Error checkHeaders(const ProviderConfig &config) {
  auto isToken = [](llvm::StringRef name) {
    return !name.empty() && llvm::all_of(name, [](char c) {
      return llvm::isAlnum(c) || c == '-' || c == '_';
    });
  };
  if (!config.keyHeader.empty() && !isToken(config.keyHeader))
    return fail(ChatErrorKind::Config, "key_header is not a header's name");
  for (const auto &[name, value] : config.headers) {
    if (!isToken(name) || llvm::any_of(value, [](char c) {
          return uint8_t(c) < ' ' || uint8_t(c) >= 0x7f;
        }))
      return fail(ChatErrorKind::Config, "header '{0}' is not valid",
                  oneLine(name, 60));
    std::string lower = llvm::StringRef(name).lower();
    for (const char *secret :
         {"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie",
          "proxy-authorization"})
      if (lower == secret)
        return fail(ChatErrorKind::Config,
                    "header '{0}' carries a key; use key_header with "
                    "api_key_file or api_key_env",
                    name);
  }
  return llvm::Error::success();
}

static ChatDialect dialectOf(const ProviderConfig &config, const Url &url) {
  if (config.dialect != ChatDialect::Auto)
    return config.dialect;
  llvm::StringRef path = llvm::StringRef(url.path).rtrim('/');
  return llvm::StringRef(url.host).ends_with("anthropic.com") ||
                 path.ends_with("/messages")
             ? ChatDialect::Anthropic
             : ChatDialect::OpenAI;
}

static llvm::Expected<std::unique_ptr<ChatProvider>>
createHttp(const ProviderConfig &config, std::vector<std::string> &warnings) {
  llvm::Expected<Url> url = Url::parse(config.endpoint);
  if (!url)
    return fail(ChatErrorKind::Config, "{0}", llvm::toString(url.takeError()));
  if (config.model.empty())
    return fail(ChatErrorKind::Config,
                "no model is named for {0}; set SPARSEDITTO_LLM_MODEL or the "
                "option model",
                url->shown());
  if (!url->tls && !url->isLoopback() && !config.allowPlainHTTP)
    return fail(ChatErrorKind::Config,
                "{0} is neither https nor this machine; allow_plain_http "
                "permits it",
                url->shown());
  if (llvm::Error error = checkHeaders(config))
    return error;
  if (!config.extraParameters.empty()) {
    llvm::Expected<OrderedJson> extra =
        parseOrderedJson(config.extraParameters);
    std::string problem;
    if (!extra)
      problem = llvm::toString(extra.takeError());
    else if (!extra->is_object())
      problem = "not an object";
    if (!problem.empty())
      return fail(ChatErrorKind::Config, "parameters: {0}", problem);
  }
  llvm::Expected<Secret> secret = readKey(config, warnings);
  if (!secret)
    return secret.takeError();
  ChatDialect dialect = dialectOf(config, *url);
  // These two serve nobody without one; others may.
  if (secret->empty() &&
      (url->host == "api.openai.com" || url->host == "api.anthropic.com"))
    return fail(ChatErrorKind::Config,
                "{0} needs a key; set SPARSEDITTO_LLM_API_KEY_FILE or "
                "SPARSEDITTO_LLM_API_KEY",
                url->host);
  if (!secret->empty() && !url->tls && !url->isLoopback())
    warnings.push_back("the key is sent to " + url->host +
                       " without encryption");
  return createHttpProvider(config, dialect, *url, std::move(*secret));
}

llvm::Expected<std::unique_ptr<ChatProvider>>
sparseditto::createChatProvider(const ProviderConfig &config,
                                std::vector<std::string> &warnings) {
  llvm::StringRef endpoint = config.endpoint;
  if (endpoint.empty())
    return fail(ChatErrorKind::Config,
                "no endpoint is set; set SPARSEDITTO_LLM_ENDPOINT or the "
                "option endpoint");
  if (config.limits.money > 0 && !config.price())
    return fail(ChatErrorKind::Config,
                "max_money needs the price of model '{0}' in the table of "
                "prices",
                config.model);
  if (endpoint.consume_front("command:"))
    return createCommandProvider(config, endpoint);
  if (endpoint.consume_front("mailbox:"))
    return createMailboxProvider(config, endpoint);
  return createHttp(config, warnings);
}
