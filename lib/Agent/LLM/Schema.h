//===- Schema.h - JSON Schema, the part that we emit ------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_SCHEMA_H
#define SPARSEDITTO_LIB_AGENT_LLM_SCHEMA_H

#include "Json.h"
#include <optional>

namespace sparseditto::chat {

/// An error if the schema uses a keyword that validate() does not know, or one
/// wrongly.
llvm::Error checkSchema(const Json &schema);

/// Empty, or one line: "at /proposals/0/family: got "foo", wanted one of ...".
/// The schema has passed checkSchema.
std::string validate(const Json &schema, const Json &value);

/// Removes nulls that stand for absent optional properties: what strict mode
/// makes of them.
void dropNulls(const Json &schema, Json &value);

/// The schema in the subset that servers enforce strictly: every property
/// required (optional ones may be null), nothing additional, no limits on
/// numbers or lengths. None if the schema has an object with free keys.
std::optional<OrderedJson> strictSchema(const OrderedJson &schema);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_SCHEMA_H
