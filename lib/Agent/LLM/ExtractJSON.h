//===- ExtractJSON.h - Finding JSON in a model's text -----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_EXTRACTJSON_H
#define SPARSEDITTO_LIB_AGENT_LLM_EXTRACTJSON_H

#include "Json.h"
#include <vector>

namespace sparseditto::chat {

/// The JSON objects that a text may mean, the likeliest first: the whole text,
/// fenced blocks from the last one, balanced braces from the last ones. At most
/// a few; `error` says why there is none.
std::vector<Json> findObjects(llvm::StringRef text, std::string &error);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_EXTRACTJSON_H
