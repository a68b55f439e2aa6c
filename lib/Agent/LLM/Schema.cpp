//===- Schema.cpp - JSON Schema, the part that we emit --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schema.h"
#include "sparseditto/Agent/StructuredReply.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace sparseditto;
using namespace sparseditto::chat;

/// The array has this element. (llvm::is_contained would ask the array for a
/// key of that name.)
template <typename J> static bool holds(const J &array, const J &value) {
  return std::find(array.begin(), array.end(), value) != array.end();
}

//===----------------------------------------------------------------------===//
// The schema itself
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral typeNames[] = {
    "object", "array", "string", "integer", "number", "boolean", "null"};

static bool isCount(const Json &value) {
  return value.is_number_integer() && value.get<double>() >= 0;
}

static bool isTypeList(const Json &value) {
  auto known = [](const Json &item) {
    return item.is_string() && llvm::is_contained(typeNames, asText(item));
  };
  if (!value.is_array())
    return known(value);
  return !value.empty() && llvm::all_of(value, known);
}

static llvm::Error check(const Json &schema, const std::string &path) {
  if (!schema.is_object())
    return makeError("schema at {0}: not an object", path);
  for (const auto &[key, value] : schema.items()) {
    auto wrong = [&, name = key](const char *wanted) {
      return makeError("schema at {0}: \"{1}\" is not {2}", path, name, wanted);
    };
    if (key == "type") {
      if (!isTypeList(value))
        return wrong("a type or a list of types");
    } else if (key == "enum") {
      if (!value.is_array() || value.empty())
        return wrong("a list of values");
    } else if (key == "properties") {
      if (!value.is_object())
        return wrong("an object");
      for (const auto &[name, property] : value.items())
        if (llvm::Error error = check(property, path + "/" + name))
          return error;
    } else if (key == "required") {
      if (!value.is_array() ||
          !llvm::all_of(value, [](const Json &v) { return v.is_string(); }))
        return wrong("a list of names");
    } else if (key == "additionalProperties") {
      if (!value.is_boolean())
        if (llvm::Error error = check(value, path + "/*"))
          return error;
    } else if (key == "items") {
      if (llvm::Error error = check(value, path + "/0"))
        return error;
    } else if (key == "anyOf") {
      if (!value.is_array() || value.empty())
        return wrong("a list of schemas");
      for (const Json &branch : value)
        if (llvm::Error error = check(branch, path))
          return error;
    } else if (key == "minItems" || key == "maxItems" || key == "minLength" ||
               key == "maxLength") {
      if (!isCount(value))
        return wrong("a count");
    } else if (key == "minimum" || key == "maximum") {
      if (!value.is_number())
        return wrong("a number");
    } else if (key != "const" && key != "title" && key != "description" &&
               key != "default") {
      return makeError("schema at {0}: unknown keyword \"{1}\"", path, key);
    }
  }
  return llvm::Error::success();
}

llvm::Error chat::checkSchema(const Json &schema) { return check(schema, "/"); }

//===----------------------------------------------------------------------===//
// A value
//===----------------------------------------------------------------------===//

static bool isInteger(const Json &value) {
  if (value.is_number_integer())
    return true;
  // 4.0 is an integer in JSON Schema.
  return value.is_number_float() && value.get<double>() >= -9e15 &&
         value.get<double>() <= 9e15 &&
         value.get<double>() == double(int64_t(value.get<double>()));
}

static bool hasType(const Json &value, llvm::StringRef type) {
  return (type == "object" && value.is_object()) ||
         (type == "array" && value.is_array()) ||
         (type == "string" && value.is_string()) ||
         (type == "integer" && isInteger(value)) ||
         (type == "number" && value.is_number()) ||
         (type == "boolean" && value.is_boolean()) ||
         (type == "null" && value.is_null());
}

/// "an object", ...: what the value is, for people.
static std::string describe(const Json &value) {
  if (value.is_object())
    return "an object";
  if (value.is_array())
    return "an array of " + std::to_string(value.size());
  return oneLine(dump(value), 60);
}

static std::string listed(const Json &values) {
  std::string text;
  for (const Json &value : values)
    text += (text.empty() ? "" : ", ") + dump(value);
  return oneLine(text, 400);
}

namespace {
/// An error, and what tells which branch of an anyOf was meant: the one whose
/// constants fit, else the one whose error is deepest in the value.
struct Finding {
  std::string text;
  size_t depth = 0;
  bool constant = false;

  bool isNearerThan(const Finding &other) const {
    return constant != other.constant ? !constant : depth > other.depth;
  }
};
} // namespace

static Finding visit(const Json &schema, const Json &value,
                     const std::string &path, size_t depth);

static Finding mismatch(const std::string &path, size_t depth,
                        const std::string &got, const std::string &wanted) {
  return {"at " + (path.empty() ? "/" : path) + ": got " + got + ", wanted " +
              wanted,
          depth};
}

static Finding visitObject(const Json &schema, const Json &value,
                           const std::string &path, size_t depth) {
  const Json *properties = find(schema, "properties");
  if (const Json *required = find(schema, "required"))
    for (const Json &name : *required)
      if (!value.contains(asText(name)))
        return mismatch(path, depth,
                        "an object without \"" + asText(name) + "\"",
                        "all of " + listed(*required));
  // First the constants, which tell the branches of an anyOf apart.
  for (const auto &[name, member] : value.items())
    if (const Json *property = properties ? find(*properties, name) : nullptr)
      if (property->contains("const"))
        if (Finding finding = visit(*property, member,
                                    path + "/" + oneLine(name, 60), depth + 1);
            !finding.text.empty())
          return finding;
  const Json *additional = find(schema, "additionalProperties");
  for (const auto &[name, member] : value.items()) {
    std::string memberPath = path + "/" + oneLine(name, 60);
    const Json *property = properties ? find(*properties, name) : nullptr;
    if (!property && additional) {
      if (additional->is_object()) {
        property = additional;
      } else if (!additional->get<bool>()) {
        std::vector<std::string> names;
        if (properties)
          for (const auto &item : properties->items())
            names.push_back("\"" + item.key() + "\"");
        return mismatch(path, depth, "\"" + oneLine(name, 60) + "\"",
                        names.empty() ? "nothing"
                                      : "only " + llvm::join(names, ", "));
      }
    }
    if (property)
      if (Finding finding = visit(*property, member, memberPath, depth + 1);
          !finding.text.empty())
        return finding;
  }
  return {};
}

static Finding visitArray(const Json &schema, const Json &value,
                          const std::string &path, size_t depth) {
  const Json *least = find(schema, "minItems");
  const Json *most = find(schema, "maxItems");
  if (least && value.size() < least->get<size_t>())
    return mismatch(path, depth, describe(value),
                    "at least " + dump(*least) + " items");
  if (most && value.size() > most->get<size_t>())
    return mismatch(path, depth, describe(value),
                    "at most " + dump(*most) + " items");
  if (const Json *items = find(schema, "items"))
    for (size_t i = 0; i < value.size(); ++i)
      if (Finding finding = visit(*items, value[i],
                                  path + "/" + std::to_string(i), depth + 1);
          !finding.text.empty())
        return finding;
  return {};
}

/// Characters of UTF-8 text.
static size_t characters(const std::string &text) {
  return size_t(
      llvm::count_if(text, [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
}

static Finding visitScalar(const Json &schema, const Json &value,
                           const std::string &path, size_t depth) {
  const Json *low = find(schema, "minimum"), *high = find(schema, "maximum");
  if (value.is_number() &&
      ((low && value.get<double>() < low->get<double>()) ||
       (high && value.get<double>() > high->get<double>())))
    return mismatch(path, depth, describe(value),
                    "a number in [" + (low ? dump(*low) : "-inf") + ", " +
                        (high ? dump(*high) : "inf") + "]");
  const Json *least = find(schema, "minLength");
  const Json *most = find(schema, "maxLength");
  if (const std::string *text = value.get_ptr<const std::string *>()) {
    size_t length = characters(*text);
    if (least && length < least->get<size_t>())
      return mismatch(path, depth, std::to_string(length) + " characters",
                      "at least " + dump(*least));
    if (most && length > most->get<size_t>())
      return mismatch(path, depth, std::to_string(length) + " characters",
                      "at most " + dump(*most));
  }
  return {};
}

static Finding visit(const Json &schema, const Json &value,
                     const std::string &path, size_t depth) {
  if (const Json *type = find(schema, "type")) {
    Json types = type->is_array() ? *type : Json::array({*type});
    if (llvm::none_of(types, [&](const Json &name) {
          return hasType(value, asText(name));
        })) {
      std::vector<std::string> names;
      for (const Json &name : types)
        names.push_back(asText(name));
      return mismatch(path, depth, describe(value), llvm::join(names, " or "));
    }
  }
  if (const Json *options = find(schema, "enum"))
    if (!holds(*options, value))
      return mismatch(path, depth, describe(value),
                      "one of " + listed(*options));
  // A const of null is legal, so no find().
  if (schema.contains("const") && *schema.find("const") != value)
    return {mismatch(path, depth, describe(value), dump(*schema.find("const")))
                .text,
            depth, /*constant=*/true};
  if (const Json *branches = find(schema, "anyOf")) {
    Finding best;
    bool matched = false;
    for (const Json &branch : *branches) {
      Finding finding = visit(branch, value, path, depth);
      matched = finding.text.empty();
      if (matched)
        break;
      if (best.text.empty() || finding.isNearerThan(best))
        best = std::move(finding);
    }
    if (!matched)
      return best;
  }
  if (value.is_object())
    return visitObject(schema, value, path, depth);
  if (value.is_array())
    return visitArray(schema, value, path, depth);
  return visitScalar(schema, value, path, depth);
}

std::string chat::validate(const Json &schema, const Json &value) {
  return visit(schema, value, "", 0).text;
}

llvm::Error sparseditto::validateJSON(llvm::StringRef schemaText,
                                      llvm::StringRef text) {
  llvm::Expected<Json> schema = parseJson(schemaText);
  if (!schema)
    return makeError("schema: {0}", llvm::toString(schema.takeError()));
  if (llvm::Error error = checkSchema(*schema))
    return error;
  llvm::Expected<Json> value = parseJson(text);
  if (!value)
    return value.takeError();
  std::string problem = validate(*schema, *value);
  return problem.empty() ? llvm::Error::success() : makeError("{0}", problem);
}

//===----------------------------------------------------------------------===//
// Strict mode
//===----------------------------------------------------------------------===//

template <typename J>
static bool isRequired(const J &schema, const std::string &name) {
  const J *required = find(schema, "required");
  return required && holds(*required, J(name));
}

void chat::dropNulls(const Json &schema, Json &value) {
  if (const Json *branches = find(schema, "anyOf"))
    for (const Json &branch : *branches) {
      Json trial = value;
      dropNulls(branch, trial);
      if (validate(branch, trial).empty()) {
        value = std::move(trial);
        break;
      }
    }
  if (const Json *items = find(schema, "items"); items && value.is_array())
    for (Json &item : value)
      dropNulls(*items, item);
  const Json *properties = find(schema, "properties");
  if (!properties || !value.is_object())
    return;
  for (const auto &[name, property] : properties->items()) {
    auto member = value.find(name);
    if (member == value.end())
      continue;
    if (member->is_null() && !isRequired(schema, name) &&
        !validate(property, *member).empty())
      value.erase(member);
    else
      dropNulls(property, *member);
  }
}

static std::optional<OrderedJson> nullable(OrderedJson schema) {
  if (find(schema, "enum") || schema.contains("const") ||
      find(schema, "anyOf") || !find(schema, "type"))
    return OrderedJson{
        {"anyOf", OrderedJson::array(
                      {std::move(schema), OrderedJson{{"type", "null"}}})}};
  OrderedJson &type = *schema.find("type");
  if (!type.is_array())
    type = OrderedJson::array({type});
  if (!holds(type, OrderedJson("null")))
    type.push_back("null");
  return schema;
}

std::optional<OrderedJson> chat::strictSchema(const OrderedJson &schema) {
  OrderedJson result = OrderedJson::object();
  for (const auto &[key, value] : schema.items()) {
    if (key == "properties") {
      OrderedJson properties = OrderedJson::object();
      for (const auto &[name, property] : value.items()) {
        std::optional<OrderedJson> strict = strictSchema(property);
        if (strict && !isRequired(schema, name))
          strict = nullable(std::move(*strict));
        if (!strict)
          return std::nullopt;
        properties[name] = std::move(*strict);
      }
      result[key] = std::move(properties);
    } else if (key == "items") {
      std::optional<OrderedJson> strict = strictSchema(value);
      if (!strict)
        return std::nullopt;
      result[key] = std::move(*strict);
    } else if (key == "anyOf") {
      OrderedJson branches = OrderedJson::array();
      for (const OrderedJson &branch : value) {
        std::optional<OrderedJson> strict = strictSchema(branch);
        if (!strict)
          return std::nullopt;
        branches.push_back(std::move(*strict));
      }
      result[key] = std::move(branches);
    } else if (key == "type" || key == "enum" || key == "const" ||
               key == "description") {
      result[key] = value;
    }
  }
  const OrderedJson *type = find(schema, "type");
  if (type && *type == OrderedJson("object")) {
    const OrderedJson *additional = find(schema, "additionalProperties");
    if (!find(schema, "properties") || (additional && additional->is_object()))
      return std::nullopt;
    OrderedJson required = OrderedJson::array();
    for (const auto &item : result["properties"].items())
      required.push_back(item.key());
    result["required"] = std::move(required);
    result["additionalProperties"] = false;
  }
  return result;
}
