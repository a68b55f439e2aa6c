//===- FuzzJSON.cpp - The readers of JSON on arbitrary text ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every reader of a JSON value sees every input; most refuse it at once.
// Beside what the sanitizers see, an error must be one printable line, and
// what was accepted must survive being written and read again.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "Mutators.h"
#include "sparseditto/Runtime/Floor.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/Kernel.h"
#include <cmath>

using namespace sparseditto;
using namespace sparseditto::fuzz;
namespace json = llvm::json;

static std::string print(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// Reads `value`; if that works, `inspect`s it, and writes and reads it again.
template <typename Read, typename Write, typename Inspect>
static void checkReader(const json::Value &value, Read read, Write write,
                        Inspect inspect) {
  auto first = read(value);
  if (!first)
    return checkError(first.takeError());
  inspect(*first);
  const std::string text = print(write(*first));
  llvm::Expected<json::Value> written = parseJSON(text, "written");
  check(bool(written), "what was written is JSON");
  auto second = read(*written);
  check(bool(second), "what was written is accepted");
  check(print(write(*second)) == text, "reading again changes nothing");
}

static void inspectManifest(const KernelManifest &manifest) {
  check(!llvm::errorToBool(manifest.verify()),
        "a manifest that was read holds");
  for (int64_t n : {manifest.nMin, manifest.nMax, int64_t(INT32_MAX)}) {
    auto grid = gridFor(manifest, std::max<int64_t>(n, 1));
    if (!grid)
      checkError(grid.takeError());
    LaunchArguments arguments;
    arguments.n = n;
    if (llvm::Error error = checkLaunchArguments(manifest, arguments))
      checkError(std::move(error));
  }
}

static void inspectFloor(const FloorCurve &floor) {
  double last = 0;
  for (double bytes : {0.0, 1.0, 1e3, 1e6, 1e7, 1e8, 1e9, 1e12}) {
    const double time = floor.microseconds(bytes);
    check(std::isfinite(time) && time > 0, "a floor is a time");
    check(time >= last, "more bytes take no less time");
    last = time;
  }
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  return mutateJSON(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<json::Value> value = parseJSON(text, "fuzz.json");
  if (!value) {
    checkError(value.takeError(), "fuzz.json: ");
    return 0;
  }
  auto toJSON = [](const auto &object) { return object.toJSON(); };
  auto toJSONFree = [](const auto &object) {
    return sparseditto::toJSON(object);
  };
  auto nothing = [](const auto &) {};
  checkReader(*value, Job::fromJSON, toJSON, nothing);
  checkReader(*value, JobResult::fromJSON, toJSON, nothing);
  checkReader(*value, ModuleJob::fromJSON, toJSON, nothing);
  checkReader(*value, ModuleJobResult::fromJSON, toJSON, nothing);
  checkReader(*value, Measurement::fromJSON, toJSON, nothing);
  checkReader(*value, FloorCurve::fromJSON, toJSON, inspectFloor);
  checkReader(*value, strategyFromJSON, toJSONFree, nothing);
  checkReader(*value, problemFromJSON, toJSONFree, nothing);
  checkReader(*value, KernelManifest::fromJSON, toJSON, inspectManifest);
  return 0;
}
