//===- ProviderConfig.cpp - From file, environment and options ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/ProviderConfig.h"
#include "Fail.h"
#include "Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

using namespace sparseditto;
using namespace sparseditto::chat;

const ChatPrice *ProviderConfig::price() const {
  auto it = prices.find(model);
  if (it == prices.end())
    it = prices.find("*");
  return it == prices.end() ? nullptr : &it->second;
}

namespace {
/// One field: what sets it, and what it wants when that fails.
struct Field {
  const char *name;
  const char *wanted;
  bool (*set)(ProviderConfig &config, const Json &value);
};
} // namespace

static bool setText(std::string &out, const Json &value) {
  const std::string *text = value.get_ptr<const std::string *>();
  if (text)
    out = *text;
  return text != nullptr;
}

template <typename T>
static bool setNumber(T &out, const Json &value, double least, double most) {
  if (!value.is_number())
    return false;
  double number = value.get<double>();
  if (!(number >= least && number <= most) ||
      (std::is_integral_v<T> && !value.is_number_integer()))
    return false;
  out = T(number);
  return true;
}

static bool setFlag(bool &out, const Json &value) {
  if (!value.is_boolean())
    return false;
  out = value.get<bool>();
  return true;
}

template <typename T>
static bool setWord(T &out, const Json &value,
                    std::initializer_list<std::pair<const char *, T>> words) {
  for (const auto &[word, meaning] : words)
    if (value == Json(word)) {
      out = meaning;
      return true;
    }
  return false;
}

static bool setHeaders(ProviderConfig &config, const Json &value) {
  if (!value.is_object())
    return false;
  config.headers.clear();
  for (const auto &[name, text] : value.items()) {
    if (!text.is_string())
      return false;
    config.headers.emplace_back(name, asText(text));
  }
  return true;
}

static bool setParameters(ProviderConfig &config, const Json &value) {
  config.extraParameters = dump(value);
  return value.is_object();
}

static constexpr size_t maxFileBytes = size_t(1) << 20;
static constexpr double many = 1e15, year = 3.2e7;

using Config = ProviderConfig;
static const Field fields[] = {
    {"endpoint", "a string",
     [](Config &c, const Json &v) { return setText(c.endpoint, v); }},
    {"dialect", "auto, openai or anthropic",
     [](Config &c, const Json &v) {
       return setWord(c.dialect, v,
                      {{"auto", ChatDialect::Auto},
                       {"openai", ChatDialect::OpenAI},
                       {"anthropic", ChatDialect::Anthropic}});
     }},
    {"model", "a string",
     [](Config &c, const Json &v) { return setText(c.model, v); }},
    {"api_key_env", "a string",
     [](Config &c, const Json &v) { return setText(c.keyVariable, v); }},
    {"api_key_file", "a string",
     [](Config &c, const Json &v) { return setText(c.keyFile, v); }},
    {"key_header", "a string",
     [](Config &c, const Json &v) { return setText(c.keyHeader, v); }},
    {"headers", "an object of strings", setHeaders},
    {"parameters", "an object", setParameters},
    {"structured", "auto, json_schema, json_object_schema, json_object or text",
     [](Config &c, const Json &v) {
       return setWord(c.structured, v,
                      {{"auto", StructuredMode::Auto},
                       {"json_schema", StructuredMode::JSONSchema},
                       {"json_object_schema", StructuredMode::JSONObjectSchema},
                       {"json_object", StructuredMode::JSONObject},
                       {"text", StructuredMode::Text}});
     }},
    {"tools", "auto, native or actions",
     [](Config &c, const Json &v) {
       return setWord(c.tools, v,
                      {{"auto", ToolMode::Auto},
                       {"native", ToolMode::Native},
                       {"actions", ToolMode::JSONActions}});
     }},
    {"allow_plain_http", "true or false",
     [](Config &c, const Json &v) { return setFlag(c.allowPlainHTTP, v); }},
    {"ca_file", "a string",
     [](Config &c, const Json &v) { return setText(c.caFile, v); }},
    {"max_calls", "a count",
     [](Config &c, const Json &v) {
       return setNumber(c.limits.calls, v, 0, many);
     }},
    {"max_tokens", "a count",
     [](Config &c, const Json &v) {
       return setNumber(c.limits.tokens, v, 0, many);
     }},
    {"max_money", "an amount",
     [](Config &c, const Json &v) {
       return setNumber(c.limits.money, v, 0, many);
     }},
    {"max_seconds", "a number of seconds",
     [](Config &c, const Json &v) {
       return setNumber(c.limits.seconds, v, 0, year);
     }},
    {"max_attempts", "a count from 1 to 20",
     [](Config &c, const Json &v) {
       return setNumber(c.maxAttempts, v, 1, 20);
     }},
    {"request_seconds", "a number of seconds from 0.1",
     [](Config &c, const Json &v) {
       return setNumber(c.requestSeconds, v, 0.1, year);
     }},
    {"connect_seconds", "a number of seconds from 0.1 to 600",
     [](Config &c, const Json &v) {
       return setNumber(c.connectSeconds, v, 0.1, 600);
     }},
    {"stall_seconds", "a number of seconds from 0.1",
     [](Config &c, const Json &v) {
       return setNumber(c.stallSeconds, v, 0.1, year);
     }},
    {"backoff_seconds", "a number of seconds up to 8",
     [](Config &c, const Json &v) {
       return setNumber(c.backoffSeconds, v, 0, 8);
     }},
    {"max_wait_seconds", "a number of seconds",
     [](Config &c, const Json &v) {
       return setNumber(c.maxWaitSeconds, v, 0, year);
     }},
    {"max_reply_bytes", "a count from 1024 to 1073741824",
     [](Config &c, const Json &v) {
       return setNumber(c.maxReplyBytes, v, 1024, 1 << 30);
     }},
    {"max_output_tokens", "a count from 1",
     [](Config &c, const Json &v) {
       return setNumber(c.maxOutputTokens, v, 1, 1e9);
     }},
};

/// Sets one field; `where` begins the message of the error.
static llvm::Error setField(ProviderConfig &config, llvm::StringRef name,
                            const Json &value, const std::string &where) {
  if (name == "api_key" || name == "key")
    return fail(ChatErrorKind::Config,
                "{0}: a key has no place in a configuration; name a file with "
                "api_key_file or a variable with api_key_env",
                where);
  const Field *field = llvm::find_if(
      fields, [&](const Field &candidate) { return candidate.name == name; });
  if (field == std::end(fields)) {
    std::vector<std::string> names;
    for (const Field &known : fields)
      names.push_back(known.name);
    return fail(ChatErrorKind::Config, "{0}: unknown field '{1}', expected {2}",
                where, oneLine(name, 60), llvm::join(names, ", "));
  }
  if (!field->set(config, value))
    return fail(ChatErrorKind::Config, "{0}: '{1}' is not {2}", where, name,
                field->wanted);
  // The stronger source's key is the only one.
  if (name == "api_key_env")
    config.keyFile.clear();
  if (name == "api_key_file")
    config.keyVariable.clear();
  return llvm::Error::success();
}

static llvm::Error readPrices(const Json &table, const std::string &where,
                              ProviderConfig &config) {
  if (!table.is_object())
    return fail(ChatErrorKind::Config, "{0}: 'prices' is not an object", where);
  for (const auto &[model, entry] : table.items()) {
    ChatPrice price;
    bool good = entry.is_object();
    for (const auto &[key, value] : entry.items()) {
      double amount = 0;
      good &= setNumber(amount, value, 0, 1e6);
      if (key == "input")
        price.input = amount;
      else if (key == "output")
        price.output = amount;
      else if (key == "cached_input")
        price.cachedInput = amount;
      else if (key == "cache_write")
        price.cacheWrite = amount;
      else
        good = false;
    }
    if (!good || !entry.contains("input") || !entry.contains("output"))
      return fail(ChatErrorKind::Config,
                  "{0}: the price of '{1}' is not an object of input, output, "
                  "cached_input and cache_write, each the money for a million "
                  "tokens",
                  where, oneLine(model, 60));
    config.prices[model] = price;
  }
  return llvm::Error::success();
}

static llvm::Error readFile(llvm::StringRef name, llvm::StringRef file,
                            ProviderConfig &config) {
  std::string where = file.str();
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(ChatErrorKind::Config, "{0}: {1}", where,
                buffer.getError().message());
  if ((*buffer)->getBufferSize() > maxFileBytes)
    return fail(ChatErrorKind::Config, "{0}: larger than {1} bytes", where,
                maxFileBytes);
  llvm::Expected<Json> root = parseJson((*buffer)->getBuffer());
  if (!root)
    return fail(ChatErrorKind::Config, "{0}: {1}", where,
                llvm::toString(root.takeError()));
  if (countAt(*root, "version") != 1)
    return fail(ChatErrorKind::Config, "{0}: \"version\" is not 1", where);
  for (const auto &item : root->items())
    if (item.key() != "version" && item.key() != "providers" &&
        item.key() != "prices")
      return fail(ChatErrorKind::Config,
                  "{0}: unknown field '{1}', expected version, providers, "
                  "prices",
                  where, oneLine(item.key(), 60));
  if (const Json *prices = find(*root, "prices"))
    if (llvm::Error error = readPrices(*prices, where, config))
      return error;
  const Json *providers = find(*root, "providers");
  const Json *provider = providers ? find(*providers, name.str()) : nullptr;
  if (!provider || !provider->is_object()) {
    std::vector<std::string> names;
    if (providers && providers->is_object())
      for (const auto &item : providers->items())
        names.push_back("'" + oneLine(item.key(), 60) + "'");
    return fail(ChatErrorKind::Config, "{0}: no provider '{1}', it has {2}",
                where, name, names.empty() ? "none" : llvm::join(names, ", "));
  }
  std::string whose = where + ": provider '" + name.str() + "'";
  for (const auto &[key, value] : provider->items())
    if (llvm::Error error = setField(config, key, value, whose))
      return error;
  if (provider->contains("api_key_env") && provider->contains("api_key_file"))
    return fail(ChatErrorKind::Config,
                "{0}: give one of api_key_env and api_key_file", whose);
  // Files are beside the configuration, wherever the tool runs.
  for (std::string *path : {&config.keyFile, &config.caFile}) {
    if (path->empty() || llvm::sys::path::is_absolute(*path))
      continue;
    llvm::SmallString<128> full = llvm::sys::path::parent_path(file);
    llvm::sys::path::append(full, *path);
    *path = std::string(full);
  }
  return llvm::Error::success();
}

static llvm::Error
readEnvironment(llvm::function_ref<const char *(const char *)> environment,
                ProviderConfig &config) {
  auto get = [&](const char *variable) {
    const char *value = environment(variable);
    return std::string(value ? value : "");
  };
  if (std::string value = get("SPARSEDITTO_LLM_ENDPOINT"); !value.empty())
    config.endpoint = value;
  if (std::string value = get("SPARSEDITTO_LLM_MODEL"); !value.empty())
    config.model = value;
  bool key = !get("SPARSEDITTO_LLM_API_KEY").empty();
  std::string file = get("SPARSEDITTO_LLM_API_KEY_FILE");
  if (key && !file.empty())
    return fail(ChatErrorKind::Config,
                "SPARSEDITTO_LLM_API_KEY and SPARSEDITTO_LLM_API_KEY_FILE are "
                "both set; unset one");
  if (key) {
    config.keyVariable = "SPARSEDITTO_LLM_API_KEY";
    config.keyFile.clear();
  } else if (!file.empty()) {
    config.keyFile = file;
    config.keyVariable.clear();
  }
  return llvm::Error::success();
}

/// An option's text as the JSON that the file would hold.
static Json optionValue(llvm::StringRef text) {
  llvm::Expected<Json> value = parseJson(text);
  if (value && !value->is_string())
    return std::move(*value);
  llvm::consumeError(value.takeError());
  return Json(text.str());
}

static llvm::Error readOptions(const ProviderOptions &options,
                               ProviderConfig &config) {
  for (const auto &[name, text] : options) {
    // A model may be called "4"; a field that wants text gets the text.
    ProviderConfig trial = config;
    llvm::Error error = setField(trial, name, Json(text), "option");
    if (error) {
      llvm::consumeError(std::move(error));
      if (llvm::Error typed =
              setField(config, name, optionValue(text), "option"))
        return typed;
    } else {
      config = std::move(trial);
    }
  }
  return llvm::Error::success();
}

llvm::Expected<ProviderConfig> sparseditto::loadProviderConfig(
    llvm::StringRef name, llvm::StringRef file, const ProviderOptions &options,
    llvm::function_ref<const char *(const char *)> environment) {
  ProviderConfig config;
  if (!file.empty())
    if (llvm::Error error = readFile(name, file, config))
      return error;
  if (name == "llm")
    if (llvm::Error error = readEnvironment(environment, config))
      return error;
  if (llvm::Error error = readOptions(options, config))
    return error;
  if (const char *caFile = environment("SSL_CERT_FILE");
      caFile && config.caFile.empty())
    config.caFile = caFile;
  return config;
}

llvm::Expected<ProviderConfig>
sparseditto::loadProviderConfig(llvm::StringRef name, llvm::StringRef file,
                                const ProviderOptions &options) {
  return loadProviderConfig(name, file, options, [](const char *variable) {
    return static_cast<const char *>(std::getenv(variable));
  });
}
