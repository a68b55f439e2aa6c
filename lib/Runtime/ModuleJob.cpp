//===- ModuleJob.cpp - A lowered module to run, as files ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/ModuleJob.h"
#include "sparseditto/Support/JSONFields.h"
#include <limits>

using namespace sparseditto;
namespace json = llvm::json;

static constexpr int64_t maxInt64 = std::numeric_limits<int64_t>::max();
static constexpr size_t maxItems = 1 << 16;

json::Value ModuleJob::toJSON() const {
  return json::Object{{"path", path},
                      {"name", json::fixUTF8(name)},
                      {"entry", json::fixUTF8(entry)},
                      {"inputs", json::Array(inputs)},
                      {"n", n}};
}

llvm::Expected<ModuleJob> ModuleJob::fromJSON(const json::Value &value) {
  ModuleJob job;
  JSONFields fields(value, "module job");
  fields.string("path", job.path);
  fields.string("name", job.name);
  fields.string("entry", job.entry);
  if (const json::Array *inputs = fields.array("inputs", 0, maxItems))
    for (const json::Value &input : *inputs)
      job.inputs.push_back(input.getAsString().value_or("").str());
  fields.integer("n", 1, std::numeric_limits<int32_t>::max(), job.n);
  if (llvm::Error error = fields.finish())
    return error;
  return job;
}

/// A list of objects, each read by `read`.
template <typename T, typename Read>
static void readList(JSONFields &fields, llvm::StringRef key,
                     std::vector<T> &out, Read read) {
  const json::Array *items = fields.array(key, 0, maxItems);
  if (!items)
    return;
  for (const json::Value &item : *items) {
    JSONFields inner(item, key);
    T value;
    read(inner, value);
    out.push_back(std::move(value));
    fields.take(inner.finish());
  }
}

static json::Array toJSON(llvm::ArrayRef<ModuleJobResult::Tensor> tensors) {
  json::Array array;
  for (const ModuleJobResult::Tensor &tensor : tensors)
    array.push_back(json::Object{{"type", tensor.type},
                                 {"min", tensor.min},
                                 {"max", tensor.max},
                                 {"not_finite", tensor.notFinite}});
  return array;
}

static void readTensor(JSONFields &fields, ModuleJobResult::Tensor &tensor) {
  fields.string("type", tensor.type);
  fields.number("min", tensor.min);
  fields.number("max", tensor.max);
  fields.integer("not_finite", 0, maxInt64, tensor.notFinite);
}

json::Value ModuleJobResult::toJSON() const {
  json::Array uses;
  for (const Kernel &kernel : kernels)
    uses.push_back(json::Object{{"name", json::fixUTF8(kernel.name)},
                                {"launches", kernel.launches},
                                {"blocks", kernel.blocks},
                                {"threads", kernel.threads},
                                {"warp_operations", kernel.warpOperations},
                                {"grid", kernel.grid},
                                {"block", kernel.block},
                                {"seconds", kernel.seconds}});
  return json::Object{{"entry", json::fixUTF8(entry)},
                      {"kernels", std::move(uses)},
                      {"inputs", ::toJSON(inputs)},
                      {"results", ::toJSON(results)},
                      {"leaked_bytes", leakedBytes}};
}

llvm::Expected<ModuleJobResult>
ModuleJobResult::fromJSON(const json::Value &value) {
  ModuleJobResult result;
  JSONFields fields(value, "module result");
  fields.string("entry", result.entry);
  readList(
      fields, "kernels", result.kernels, [](JSONFields &inner, Kernel &kernel) {
        inner.string("name", kernel.name);
        inner.integer("launches", 0, maxInt64, kernel.launches);
        inner.integer("blocks", 0, maxInt64, kernel.blocks);
        inner.integer("threads", 0, maxInt64, kernel.threads);
        inner.integer("warp_operations", 0, maxInt64, kernel.warpOperations);
        inner.string("grid", kernel.grid);
        inner.string("block", kernel.block);
        inner.number("seconds", kernel.seconds);
      });
  readList(fields, "inputs", result.inputs, readTensor);
  readList(fields, "results", result.results, readTensor);
  fields.integer("leaked_bytes", 0, maxInt64, result.leakedBytes);
  if (llvm::Error error = fields.finish())
    return error;
  return result;
}
