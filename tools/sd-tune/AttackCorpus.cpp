//===- AttackCorpus.cpp - Candidates that must be refused -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttackCorpus.h"
#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Target/Compile.h"
#include "sparseditto/Verify/Inputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace sparseditto;
using namespace sparseditto::tool;

namespace {
struct EmbeddedFile {
  llvm::StringRef name, contents;
};
} // namespace

static constexpr EmbeddedFile files[] = {
#include "Attacks.inc"
};

//===----------------------------------------------------------------------===//
// Headers
//===----------------------------------------------------------------------===//

template <typename T> static bool parseNumber(llvm::StringRef text, T &out) {
  return !text.getAsInteger(10, out);
}
static bool parseNumber(llvm::StringRef text, double &out) {
  return !text.getAsDouble(out);
}

/// "4", "N", "N/16" or "4*N/16".
static bool parseGridDim(llvm::StringRef text, GridDim &out) {
  auto [factor, rest] = text.split('*');
  if (!text.contains('N'))
    return parseNumber(text, out.factor);
  if (!text.contains('*'))
    rest = text;
  else if (!parseNumber(factor, out.factor))
    return false;
  out.divisor = 1;
  return rest.consume_front("N") &&
         (rest.empty() ||
          (rest.consume_front("/") && parseNumber(rest, out.divisor)));
}

/// m, k, type, layout; bias, relu, gelu, silu, residual; density, scale, ones,
/// tiny, lost (fields of Attack).
static bool parseProblem(llvm::StringRef key, llvm::StringRef value,
                         Attack &attack) {
  Problem &problem = attack.manifest.problem;
  if (key == "m")
    return parseNumber(value, problem.m);
  if (key == "k")
    return parseNumber(value, problem.k);
  if (key == "type") {
    std::optional<ElementType> type = parseElementType(value);
    problem.type = problem.outputType = type.value_or(ElementType::F16);
    return type.has_value();
  }
  if (key == "layout") {
    std::optional<Layout> layout = parseLayout(value);
    problem.layout = layout.value_or(Layout::TokenMajor);
    return layout.has_value();
  }
  if (key == "bias" || key == "residual" || key == "ones") {
    (key == "bias"       ? problem.epilogue.bias
     : key == "residual" ? problem.epilogue.residual
                         : attack.ones) = true;
    return value.empty();
  }
  if (std::optional<Activation> activation = parseActivation(key)) {
    problem.epilogue.activation = *activation;
    return value.empty();
  }
  if (key == "density")
    return parseNumber(value, attack.density);
  if (key == "scale")
    return parseNumber(value, attack.scale);
  if (key == "tiny")
    return parseNumber(value, attack.tiny);
  return key == "lost" && parseNumber(value, attack.lost);
}

/// grid=X[,Y[,Z]] with parseGridDim, block=THREADS, static and dynamic bytes of
/// shared memory, time=N, timeout=SECONDS.
static bool parseLaunch(llvm::StringRef key, llvm::StringRef value,
                        Attack &attack) {
  KernelManifest &manifest = attack.manifest;
  if (key == "grid") {
    for (GridDim &dim : manifest.grid) {
      auto [first, rest] = value.split(',');
      if (!first.empty() && !parseGridDim(first, dim))
        return false;
      value = rest;
    }
    return value.empty();
  }
  if (key == "block")
    return parseNumber(value, manifest.block[0]);
  if (key == "static")
    return parseNumber(value, manifest.staticSharedBytes);
  if (key == "dynamic")
    return parseNumber(value, manifest.dynamicSharedBytes);
  if (key == "time")
    return parseNumber(value, attack.timeN);
  return key == "timeout" && parseNumber(value, attack.timeoutSeconds);
}

/// "emulator illegal,load_failed REGEX"
static llvm::Error parseExpectation(llvm::StringRef text, Attack &attack) {
  AttackRun run;
  auto [place, rest] = text.split(' ');
  auto [statuses, pattern] = rest.split(' ');
  run.place = place.str();
  run.policy = !place.consume_back("-unchecked");
  run.gpu = place == "gpu";
  if (!run.gpu && place != "emulator")
    return makeError("'{0}' is no place", run.place);
  for (llvm::StringRef item : llvm::split(statuses, ',')) {
    std::optional<RunStatus> status = parseRunStatus(item);
    if (!status)
      return makeError("'{0}' is no status", item);
    if ((*status == RunStatus::Verified) != (attack.mode == 0))
      return makeError("expects '{0}' of {1}", item,
                       attack.mode == 0 ? "a control" : "an attack");
    run.statuses.push_back(*status);
  }
  run.pattern = pattern.trim().str();
  if (run.pattern.empty() && attack.mode != 0)
    return makeError("does not say which message it expects");
  if (std::string fault;
      !run.pattern.empty() && !llvm::Regex(run.pattern).isValid(fault))
    return makeError("'{0}' is no pattern: {1}", run.pattern, fault);
  attack.runs.push_back(std::move(run));
  return llvm::Error::success();
}

static llvm::Error parseHeader(llvm::StringRef text, Attack &attack) {
  auto pairs = [&](llvm::StringRef list, auto parse) -> llvm::Error {
    llvm::SmallVector<llvm::StringRef> items;
    list.split(items, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef item : items) {
      auto [key, value] = item.split('=');
      if (!parse(key, value, attack))
        return makeError("cannot read '{0}'", item);
    }
    return llvm::Error::success();
  };
  while (text.consume_front("// ")) {
    auto [line, rest] = text.split('\n');
    text = rest;
    auto [key, value] = line.split(": ");
    llvm::Error error = llvm::Error::success();
    if (key == "attack") {
      if (value.consumeInteger(10, attack.mode))
        error = makeError("has no mode");
      attack.title = value.trim().str();
    } else if (key == "problem") {
      error = pairs(value, parseProblem);
    } else if (key == "launch") {
      error = pairs(value, parseLaunch);
    } else if (key == "expect") {
      error = parseExpectation(value, attack);
    }
    // Other lines are for people.
    if (error)
      return error;
  }
  if (attack.title.empty() || attack.runs.empty())
    return makeError("says not what it is or what to expect of it");
  return llvm::Error::success();
}

llvm::Expected<Attack> tool::parseAttack(llvm::StringRef name,
                                         llvm::StringRef text) {
  Attack attack;
  attack.text = text;
  attack.isPtx = name.ends_with(".ptx");
  attack.name = name.rsplit('.').first.str();
  KernelManifest &manifest = attack.manifest;
  manifest.symbol = "candidate";
  manifest.strategy.family = "custom";
  manifest.format = "rows";
  if (llvm::Error error = parseHeader(text, attack))
    return makeError("attack {0}: {1}", name, llvm::toString(std::move(error)));
  const Problem &problem = manifest.problem;
  manifest.problem.tuneN = std::max<int64_t>(1, attack.timeN);
  manifest.args.push_back({ArgKind::Packed, "values", problem.type, 256});
  llvm::append_range(manifest.args, activationArgs(problem));
  manifest.weightBytes = problem.m * problem.k * byteSize(problem.type);
  if (llvm::Error error = manifest.verify())
    return makeError("attack {0}: {1}", name, llvm::toString(std::move(error)));
  return attack;
}

llvm::Expected<std::vector<Attack>> tool::readAttackCorpus() {
  std::vector<Attack> corpus;
  for (const EmbeddedFile &file : files) {
    llvm::Expected<Attack> attack = parseAttack(file.name, file.contents);
    if (!attack)
      return attack.takeError();
    corpus.push_back(std::move(*attack));
  }
  llvm::sort(corpus,
             [](const Attack &a, const Attack &b) { return a.name < b.name; });
  return corpus;
}

//===----------------------------------------------------------------------===//
// Packages
//===----------------------------------------------------------------------===//

static llvm::Expected<Matrix> makeWeight(const Attack &attack) {
  const Problem &problem = attack.manifest.problem;
  llvm::Expected<Matrix> weight =
      Matrix::allocate("attack", problem.type, problem.m, problem.k);
  if (!weight)
    return weight.takeError();
  const unsigned size = byteSize(problem.type);
  Random random(2024);
  for (int64_t i = 0; i < weight->numElements(); ++i) {
    bool kept = random.uniform() < attack.density;
    double value = attack.ones ? 1 : random.normal();
    if (i == attack.tiny)
      value = 0x1p-20;
    storeFromDouble(problem.type, kept ? value * attack.scale : 0,
                    weight->mutableData() + i * size);
  }
  return weight;
}

/// PTX that was written for sm_80, for another chip.
static std::string retarget(llvm::StringRef ptx, const Chip &chip,
                            unsigned version) {
  std::string text = ptx.str();
  auto replace = [&](llvm::StringRef from, const std::string &to) {
    if (size_t at = text.find(from.str()); at != std::string::npos)
      text.replace(at, from.size(), to);
  };
  replace(".version 8.0", ".version " + std::to_string(version / 10) + "." +
                              std::to_string(version % 10));
  replace(".target sm_80", ".target " + chip.name.str());
  return text;
}

llvm::Error tool::writeAttackPackage(const Attack &attack, const Chip &chip,
                                     bool forGpu, llvm::StringRef directory) {
  llvm::Expected<Matrix> weight = makeWeight(attack);
  if (!weight)
    return weight.takeError();
  KernelManifest manifest = attack.manifest;
  manifest.chip = chip.name.str();
  std::vector<std::pair<std::string, std::string>> contents;
  if (attack.isPtx) {
    manifest.ptxVersion = std::max(80u, chip.minPtx);
    manifest.ptxFile = "kernels/candidate.ptx";
    contents.emplace_back(manifest.ptxFile,
                          retarget(attack.text, chip, manifest.ptxVersion));
  } else {
    manifest.mlirFile = "kernels/candidate.mlir";
    contents.emplace_back(manifest.mlirFile, attack.text.str());
    if (forGpu) {
      llvm::Expected<IsolatedCompile> compiled =
          compileKernelIsolated(attack.text, chip, PtxasOptions());
      if (!compiled)
        return compiled.takeError();
      if (compiled->outcome != CompileOutcome::Compiled)
        return llvm::createStringError(compiled->diagnostic);
      manifest.ptxVersion = compiled->kernel.ptxVersion;
      manifest.ptxFile = "kernels/candidate.ptx";
      contents.emplace_back(manifest.ptxFile, compiled->kernel.ptx);
      if (!compiled->kernel.cubin.empty()) {
        manifest.cubinFile = "kernels/candidate.cubin";
        contents.emplace_back(manifest.cubinFile, compiled->kernel.cubin);
      }
    }
  }

  const Problem &problem = manifest.problem;
  PackedWeight packed;
  packed.format = manifest.format;
  packed.m = problem.m;
  packed.k = problem.k;
  packed.type = problem.type;
  std::vector<uint8_t> bytes = weight->bytes().vec();
  if (attack.lost >= 0)
    storeFromDouble(problem.type, 0,
                    &bytes[size_t(attack.lost) * byteSize(problem.type)]);
  packed.buffers.push_back(
      {"values", problem.type, {problem.m, problem.k}, std::move(bytes)});

  Package package;
  package.sourceVersion = SPARSEDITTO_VERSION;
  PackageLayer &layer = package.layers.emplace_back();
  layer.name = "attack";
  layer.problem = problem;
  layer.weight = std::move(*weight);
  layer.packed.push_back(std::move(packed));
  layer.kernels.push_back(std::move(manifest));
  return writePackage(package, contents, directory);
}
