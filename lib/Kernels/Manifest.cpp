//===- Manifest.cpp - What a launcher must know about a kernel ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Support/JSONFields.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include <limits>

using namespace sparseditto;
namespace json = llvm::json;

// The ABI passes sizes and strides as i32.
static constexpr int64_t maxExtent = std::numeric_limits<int32_t>::max();
static constexpr size_t maxArgs = 64;
static constexpr unsigned maxThreads = 1024;
// No chip has this much; the chip's own limit is checked where it is known.
static constexpr int64_t maxShared = 1 << 20;

template <typename... Ts>
static llvm::Error fail(const char *format, const Ts &...values) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), format,
                                 values...);
}

llvm::StringRef sparseditto::name(ArgKind kind) {
  switch (kind) {
  case ArgKind::Packed:
    return "packed";
  case ArgKind::X:
    return "x";
  case ArgKind::Y:
    return "y";
  case ArgKind::Bias:
    return "bias";
  case ArgKind::Residual:
    return "residual";
  case ArgKind::N:
    return "n";
  case ArgKind::LdX:
    return "ldx";
  case ArgKind::LdY:
    return "ldy";
  case ArgKind::LdR:
    return "ldr";
  }
  llvm_unreachable("unknown argument kind");
}

std::optional<ArgKind> sparseditto::parseArgKind(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<ArgKind>>(text)
      .Case("packed", ArgKind::Packed)
      .Case("x", ArgKind::X)
      .Case("y", ArgKind::Y)
      .Case("bias", ArgKind::Bias)
      .Case("residual", ArgKind::Residual)
      .Case("n", ArgKind::N)
      .Case("ldx", ArgKind::LdX)
      .Case("ldy", ArgKind::LdY)
      .Case("ldr", ArgKind::LdR)
      .Default(std::nullopt);
}

std::vector<KernelArg> sparseditto::activationArgs(const Problem &problem) {
  std::vector<KernelArg> args;
  auto pointer = [&](ArgKind kind, ElementType type) {
    args.push_back({kind, name(kind).str(), type, byteSize(type)});
  };
  auto scalar = [&](ArgKind kind) {
    args.push_back({kind, name(kind).str(), ElementType::I32, 0});
  };
  pointer(ArgKind::X, problem.type);
  pointer(ArgKind::Y, problem.outputType);
  if (problem.epilogue.bias)
    pointer(ArgKind::Bias, ElementType::F32);
  if (problem.epilogue.residual)
    pointer(ArgKind::Residual, problem.outputType);
  scalar(ArgKind::N);
  scalar(ArgKind::LdX);
  scalar(ArgKind::LdY);
  if (problem.epilogue.residual)
    scalar(ArgKind::LdR);
  return args;
}

bool sparseditto::isPackagePath(llvm::StringRef path) {
  if (path.empty() || path.size() > 1024 ||
      path.find_first_of("\\:\"'") != llvm::StringRef::npos ||
      !llvm::all_of(path, llvm::isPrint))
    return false;
  while (true) {
    auto [component, rest] = path.split('/');
    if (component.empty() || component == "." || component == "..")
      return false;
    if (component.size() == path.size())
      return true;
    path = rest;
  }
}

bool sparseditto::isPlainName(llvm::StringRef text) {
  return !text.empty() && text.size() <= 256 && llvm::all_of(text, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.';
  });
}

static bool isSymbol(llvm::StringRef text) {
  if (text.empty() || text.size() > 256 || llvm::isDigit(text.front()))
    return false;
  return llvm::all_of(
      text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; });
}

static llvm::Error verifyArgs(const KernelManifest &manifest) {
  const std::vector<KernelArg> &args = manifest.args;
  if (args.size() > maxArgs)
    return fail("kernel '%s': %zu arguments, at most %zu are allowed",
                manifest.symbol.c_str(), args.size(), maxArgs);
  for (size_t i = 0; i < args.size(); ++i)
    if (!isPlainName(args[i].name))
      return fail("kernel '%s': name '%s' of argument %zu is not 1 to 256 "
                  "letters, digits and \"_-.\"",
                  manifest.symbol.c_str(), printable(args[i].name).c_str(), i);
  size_t packed = 0;
  while (packed < args.size() && args[packed].kind == ArgKind::Packed) {
    const KernelArg &arg = args[packed];
    if (arg.alignment == 0 || arg.alignment > 256 ||
        (arg.alignment & (arg.alignment - 1)) != 0)
      return fail("kernel '%s': packed argument '%s' has alignment %u, "
                  "expected a power of two up to 256",
                  manifest.symbol.c_str(), arg.name.c_str(), arg.alignment);
    ++packed;
  }
  std::vector<KernelArg> wanted = activationArgs(manifest.problem);
  if (args.size() - packed != wanted.size())
    return fail("kernel '%s': %zu arguments after the packed buffers, the "
                "problem needs %zu",
                manifest.symbol.c_str(), args.size() - packed, wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const KernelArg &got = args[packed + i];
    if (got.kind != wanted[i].kind)
      return fail("kernel '%s': argument %zu is '%s', expected '%s'",
                  manifest.symbol.c_str(), packed + i,
                  name(got.kind).str().c_str(),
                  name(wanted[i].kind).str().c_str());
    if (got.type != wanted[i].type)
      return fail("kernel '%s': argument '%s' has type %s, expected %s",
                  manifest.symbol.c_str(), name(got.kind).str().c_str(),
                  name(got.type).str().c_str(),
                  name(wanted[i].type).str().c_str());
    // Activations come from the caller: a kernel that wants more than element
    // alignment would fault on a legal call.
    if (got.alignment > wanted[i].alignment)
      return fail("kernel '%s': argument '%s' wants alignment %u, callers "
                  "promise only %u",
                  manifest.symbol.c_str(), name(got.kind).str().c_str(),
                  got.alignment, wanted[i].alignment);
  }
  return llvm::Error::success();
}

llvm::Error KernelManifest::verify() const {
  if (!isSymbol(symbol))
    return fail("kernel symbol '%s' is not an identifier of 1 to 256 "
                "characters",
                printable(symbol).c_str());
  const char *kernel = symbol.c_str();
  if (!isPlainName(strategy.family))
    return fail("kernel '%s': family '%s' is not 1 to 256 letters, digits and "
                "\"_-.\"",
                kernel, printable(strategy.family).c_str());
  if (!isPlainName(format) || formatVersion < 1)
    return fail("kernel '%s': packed format '%s' v%d is not 1 to 256 letters, "
                "digits and \"_-.\" and a version of at least 1",
                kernel, printable(format).c_str(), formatVersion);
  // Empty until a target fills it in.
  if (!chip.empty() && !isPlainName(chip))
    return fail("kernel '%s': chip '%s' is not 1 to 256 letters, digits and "
                "\"_-.\"",
                kernel, printable(chip).c_str());
  if (problem.m < 1 || problem.m > maxExtent || problem.k < 1 ||
      problem.k > maxExtent)
    return fail("kernel '%s': shape %lld x %lld, each side must be in "
                "[1, 2147483647]",
                kernel, (long long)problem.m, (long long)problem.k);
  if (nMin < 1 || nMin > maxExtent || nMax < 0 || nMax > maxExtent ||
      (nMax != 0 && nMax < nMin))
    return fail("kernel '%s': N range [%lld, %lld] is empty or out of range",
                kernel, (long long)nMin, (long long)nMax);
  for (const GridDim &dim : grid)
    if (dim.factor < 1 || dim.factor > maxExtent || dim.divisor < 0 ||
        dim.divisor > maxExtent)
      return fail("kernel '%s': grid dimension %lld * ceil(N / %lld) is out of "
                  "range",
                  kernel, (long long)dim.factor, (long long)dim.divisor);
  uint64_t threads = 1;
  for (unsigned dim : block) {
    if (dim < 1 || dim > maxThreads)
      return fail("kernel '%s': block dimension %u, must be in [1, 1024]",
                  kernel, dim);
    threads *= dim;
  }
  if (threads > maxThreads)
    return fail("kernel '%s': %llu threads a block, at most 1024 are allowed",
                kernel, (unsigned long long)threads);
  if (staticSharedBytes > maxShared || dynamicSharedBytes > maxShared)
    return fail("kernel '%s': %u + %u bytes of shared memory are more than any "
                "chip has",
                kernel, staticSharedBytes, dynamicSharedBytes);
  if (weightBytes < 0)
    return fail("kernel '%s': negative weight bytes", kernel);
  if (custom && strategy.family != customFamily)
    return fail("kernel '%s': rewritten, but of family '%s' and not '%s'",
                kernel, strategy.family.c_str(), customFamily.data());
  if (custom && custom->approvedBy.empty() != custom->approvedHash.empty())
    return fail("kernel '%s': approved without a name or a hash", kernel);
  std::vector<const std::string *> files = {&ptxFile, &cubinFile, &mlirFile};
  if (custom)
    files.push_back(&custom->diffFile);
  for (const std::string *file : files)
    if (!file->empty() && !isPackagePath(*file))
      return fail("kernel '%s': file name '%s' is not a plain relative path",
                  kernel, printable(*file).c_str());
  return verifyArgs(*this);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

json::Value sparseditto::toJSON(const Strategy &strategy) {
  json::Array knobs;
  for (const auto &[name, value] : strategy.knobs)
    knobs.push_back(json::Object{{"name", name}, {"value", value}});
  return json::Object{{"family", strategy.family}, {"knobs", std::move(knobs)}};
}

json::Value sparseditto::toJSON(const Problem &problem) {
  return json::Object{
      {"m", problem.m},
      {"k", problem.k},
      {"type", name(problem.type)},
      {"output_type", name(problem.outputType)},
      {"layout", name(problem.layout)},
      {"epilogue",
       json::Object{{"bias", problem.epilogue.bias},
                    {"activation", name(problem.epilogue.activation)},
                    {"residual", problem.epilogue.residual}}},
      {"tune_n", problem.tuneN}};
}

json::Object sparseditto::reviewToJSON(const CustomKernel &custom) {
  if (custom.approvedHash.empty())
    return json::Object{{"state", "unreviewed"}};
  return json::Object{{"state", "approved"},
                      {"by", json::fixUTF8(custom.approvedBy)},
                      {"hash", custom.approvedHash}};
}

json::Value KernelManifest::toJSON() const {
  json::Array gridJson, blockJson, argsJson;
  for (const GridDim &dim : grid)
    gridJson.push_back(
        json::Object{{"factor", dim.factor}, {"divisor", dim.divisor}});
  for (unsigned dim : block)
    blockJson.push_back(int64_t(dim));
  for (const KernelArg &arg : args)
    argsJson.push_back(json::Object{{"kind", name(arg.kind)},
                                    {"name", arg.name},
                                    {"type", name(arg.type)},
                                    {"alignment", int64_t(arg.alignment)}});
  json::Object object{
      {"symbol", symbol},
      {"strategy", sparseditto::toJSON(strategy)},
      {"format", json::Object{{"name", format}, {"version", formatVersion}}},
      {"packed", packedIndex},
      {"problem", sparseditto::toJSON(problem)},
      {"n_min", nMin},
      {"n_max", nMax},
      {"grid", std::move(gridJson)},
      {"block", std::move(blockJson)},
      {"static_shared_bytes", int64_t(staticSharedBytes)},
      {"dynamic_shared_bytes", int64_t(dynamicSharedBytes)},
      {"args", std::move(argsJson)},
      {"weight_bytes", weightBytes},
      {"chip", chip},
      {"ptx_version", int64_t(ptxVersion)},
      {"ptx", ptxFile},
      {"cubin", cubinFile},
      {"mlir", mlirFile},
      {"source_hash", sourceHash},
      {"record_id", recordId}};
  if (custom)
    object["custom"] = json::Object{{"base", sparseditto::toJSON(custom->base)},
                                    {"reason", json::fixUTF8(custom->reason)},
                                    {"diff", custom->diffFile},
                                    {"review", reviewToJSON(*custom)}};
  return object;
}

/// Absent from packages without rewritten kernels, and from old ones.
static llvm::Expected<CustomKernel> customFromJSON(const json::Value &value) {
  CustomKernel custom;
  JSONFields fields(value, "custom");
  if (const json::Value *item = fields.get("base")) {
    llvm::Expected<Strategy> base = strategyFromJSON(*item);
    if (base)
      custom.base = std::move(*base);
    else
      fields.take(base.takeError());
  }
  fields.string("reason", custom.reason);
  fields.string("diff", custom.diffFile);
  if (const json::Value *item = fields.get("review")) {
    JSONFields review(*item, "review");
    std::string state;
    review.string("state", state);
    if (state == "approved") {
      review.string("by", custom.approvedBy);
      review.string("hash", custom.approvedHash);
      if (review.ok() &&
          (custom.approvedBy.empty() || custom.approvedHash.empty()))
        review.take(fail("approved without a name or a hash"));
    } else if (review.ok() && state != "unreviewed") {
      review.take(fail("unknown state '%s'", state.c_str()));
    }
    fields.take(review.finish());
  }
  if (llvm::Error error = fields.finish())
    return error;
  return custom;
}

llvm::Expected<Strategy>
sparseditto::strategyFromJSON(const json::Value &value) {
  Strategy strategy;
  JSONFields fields(value, "strategy");
  fields.string("family", strategy.family);
  if (const json::Array *knobs = fields.array("knobs", 0, 256))
    for (const json::Value &item : *knobs) {
      std::string name;
      int64_t knobValue = 0;
      JSONFields knob(item, "knob");
      knob.string("name", name);
      knob.integer("value", std::numeric_limits<int64_t>::min(),
                   std::numeric_limits<int64_t>::max(), knobValue);
      if (knob.ok() && (!isPlainName(name) || strategy.get(name)))
        fields.take(fail("knob name '%s' is not 1 to 256 letters, digits and "
                         "\"_-.\", or given twice",
                         printable(name).c_str()));
      fields.take(knob.finish());
      strategy.knobs.emplace_back(std::move(name), knobValue);
    }
  if (llvm::Error error = fields.finish())
    return error;
  return strategy;
}

llvm::Expected<Problem> sparseditto::problemFromJSON(const json::Value &value) {
  Problem problem;
  JSONFields fields(value, "problem");
  fields.integer("m", 1, maxExtent, problem.m);
  fields.integer("k", 1, maxExtent, problem.k);
  fields.word("type", parseElementType, problem.type);
  fields.word("output_type", parseElementType, problem.outputType);
  fields.word("layout", parseLayout, problem.layout);
  fields.integer("tune_n", 1, maxExtent, problem.tuneN);
  if (const json::Value *item = fields.get("epilogue")) {
    JSONFields epilogue(*item, "epilogue");
    epilogue.boolean("bias", problem.epilogue.bias);
    epilogue.word("activation", parseActivation, problem.epilogue.activation);
    epilogue.boolean("residual", problem.epilogue.residual);
    fields.take(epilogue.finish());
  }
  if (llvm::Error error = fields.finish())
    return error;
  return problem;
}

llvm::Expected<KernelManifest>
KernelManifest::fromJSON(const json::Value &value) {
  KernelManifest manifest;
  JSONFields fields(value, "kernel");
  fields.string("symbol", manifest.symbol);
  if (const json::Value *item = fields.get("strategy")) {
    llvm::Expected<Strategy> strategy = strategyFromJSON(*item);
    if (strategy)
      manifest.strategy = std::move(*strategy);
    else
      fields.take(strategy.takeError());
  }
  if (const json::Value *item = fields.get("format")) {
    JSONFields format(*item, "format");
    format.string("name", manifest.format);
    format.integer("version", 1, maxExtent, manifest.formatVersion);
    fields.take(format.finish());
  }
  if (const json::Value *item = fields.get("problem")) {
    llvm::Expected<Problem> problem = problemFromJSON(*item);
    if (problem)
      manifest.problem = *problem;
    else
      fields.take(problem.takeError());
  }
  fields.integer("packed", -1, 1 << 16, manifest.packedIndex);
  fields.integer("n_min", 1, maxExtent, manifest.nMin);
  fields.integer("n_max", 0, maxExtent, manifest.nMax);
  if (const json::Array *grid = fields.array("grid", 3, 3))
    for (size_t i = 0; i < 3; ++i) {
      JSONFields dim((*grid)[i], "grid dimension");
      dim.integer("factor", 1, maxExtent, manifest.grid[i].factor);
      dim.integer("divisor", 0, maxExtent, manifest.grid[i].divisor);
      fields.take(dim.finish());
    }
  if (const json::Array *block = fields.array("block", 3, 3))
    for (size_t i = 0; i < 3; ++i) {
      std::optional<int64_t> size = (*block)[i].getAsInteger();
      if (size && *size >= 1 && *size <= maxThreads)
        manifest.block[i] = unsigned(*size);
      else
        fields.take(
            fail("block dimension %zu is not an integer in [1, 1024]", i));
    }
  fields.integer("static_shared_bytes", 0, maxShared,
                 manifest.staticSharedBytes);
  fields.integer("dynamic_shared_bytes", 0, maxShared,
                 manifest.dynamicSharedBytes);
  if (const json::Array *args = fields.array("args", 0, maxArgs))
    for (const json::Value &item : *args) {
      KernelArg arg;
      JSONFields field(item, "argument");
      field.word("kind", parseArgKind, arg.kind);
      field.string("name", arg.name);
      field.word("type", parseElementType, arg.type);
      field.integer("alignment", 0, 256, arg.alignment);
      fields.take(field.finish());
      manifest.args.push_back(std::move(arg));
    }
  fields.integer("weight_bytes", 0, std::numeric_limits<int64_t>::max(),
                 manifest.weightBytes);
  fields.string("chip", manifest.chip);
  fields.integer("ptx_version", 0, 1000, manifest.ptxVersion);
  fields.string("ptx", manifest.ptxFile);
  fields.string("cubin", manifest.cubinFile);
  fields.string("mlir", manifest.mlirFile);
  fields.string("source_hash", manifest.sourceHash);
  fields.string("record_id", manifest.recordId);
  if (const json::Value *item = fields.find("custom")) {
    llvm::Expected<CustomKernel> custom = customFromJSON(*item);
    if (custom)
      manifest.custom = std::move(*custom);
    else
      fields.take(custom.takeError());
  }
  if (llvm::Error error = fields.finish())
    return error;
  if (llvm::Error error = manifest.verify())
    return error;
  return manifest;
}
