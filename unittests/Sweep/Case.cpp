//===- Case.cpp - One kernel of the sweep ---------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Case.h"
#include "EmulatedCheck.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>

using namespace sparseditto;
using namespace sparseditto::test;

std::string test::name(const Epilogue &epilogue) {
  std::string text;
  auto add = [&](llvm::StringRef part) {
    text += (text.empty() ? "" : "+") + part.str();
  };
  if (epilogue.bias)
    add("bias");
  if (epilogue.activation != Activation::None)
    add(sparseditto::name(epilogue.activation));
  if (epilogue.residual)
    add("residual");
  return text.empty() ? "none" : text;
}

std::string SweepCase::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "family=" << family->name() << " m=" << problem.m << " k=" << problem.k
     << " type=" << sparseditto::name(problem.type)
     << " out=" << sparseditto::name(problem.outputType)
     << " layout=" << sparseditto::name(problem.layout)
     << " epilogue=" << test::name(problem.epilogue)
     << " weight=" << test::name(weight)
     << " side=" << (side == GuardedBufferOptions::End ? "end" : "start")
     << " seed=" << seed << " n=";
  llvm::interleave(n, os, ",");
  const Strategy defaults = family->declaration().defaults();
  llvm::StringRef separator = " knobs=";
  for (const auto &[knob, value] : strategy.knobs)
    if (value != defaults.get(knob)) {
      os << separator << knob << ':' << value;
      separator = ",";
    }
  return text;
}

static bool parseEpilogue(llvm::StringRef text, Epilogue &epilogue) {
  epilogue = {};
  if (text == "none")
    return true;
  for (llvm::StringRef part : llvm::split(text, '+')) {
    if (part == "bias")
      epilogue.bias = true;
    else if (part == "residual")
      epilogue.residual = true;
    else if (std::optional<Activation> activation = parseActivation(part))
      epilogue.activation = *activation;
    else
      return false;
  }
  return true;
}

/// Sets one field; false if the value is not one.
static bool setField(SweepCase &result, llvm::StringRef key,
                     llvm::StringRef value) {
  auto assign = [](auto parsed, auto &field) {
    if (parsed)
      field = *parsed;
    return bool(parsed);
  };
  auto positive = [](llvm::StringRef text, int64_t &number) {
    return !text.getAsInteger(10, number) && number > 0;
  };
  Problem &problem = result.problem;
  if (key == "family") {
    result.family = findFamily(value);
    if (result.family)
      result.strategy = result.family->declaration().defaults();
    return result.family;
  }
  if (key == "m")
    return positive(value, problem.m);
  if (key == "k")
    return positive(value, problem.k);
  if (key == "type")
    return assign(parseElementType(value), problem.type);
  if (key == "out")
    return assign(parseElementType(value), problem.outputType);
  if (key == "layout")
    return assign(parseLayout(value), problem.layout);
  if (key == "epilogue")
    return parseEpilogue(value, problem.epilogue);
  if (key == "weight")
    return assign(parseWeightKind(value), result.weight);
  if (key == "side") {
    result.side = value == "start" ? GuardedBufferOptions::Start
                                   : GuardedBufferOptions::End;
    return value == "start" || value == "end";
  }
  if (key == "seed")
    return !value.getAsInteger(10, result.seed);
  if (key == "n") {
    for (llvm::StringRef part : llvm::split(value, ','))
      if (!positive(part, result.n.emplace_back()))
        return false;
    return true;
  }
  if (key == "knobs" && result.family) {
    for (llvm::StringRef part : llvm::split(value, ',')) {
      auto [knob, number] = part.split(':');
      int64_t parsed;
      if (!result.strategy.get(knob) || number.getAsInteger(10, parsed))
        return false;
      result.strategy.set(knob, parsed);
    }
    return true;
  }
  return false;
}

llvm::Expected<SweepCase> SweepCase::parse(llvm::StringRef text) {
  SweepCase result;
  llvm::SmallVector<llvm::StringRef> fields;
  llvm::SplitString(text, fields);
  for (llvm::StringRef field : fields) {
    auto [key, value] = field.split('=');
    if (!setField(result, key, value))
      return makeError("cannot read '{0}' in case '{1}'", field, text);
  }
  if (!result.family || result.problem.m == 0 || result.problem.k == 0 ||
      result.n.empty())
    return makeError("case '{0}' lacks family, m, k or n", text);
  return result;
}

SweepOutcome test::runCase(const SweepCase &sweepCase, bool thorough) {
  const auto start = std::chrono::steady_clock::now();
  const Problem &problem = sweepCase.problem;
  Matrix weight = makeWeight(sweepCase.weight, problem.type, problem.m,
                             problem.k, sweepCase.seed);
  CheckOptions options;
  options.n = sweepCase.n;
  options.onlyGivenN = true;
  options.allVariants = thorough;
  options.maxOneHotLaunches = thorough ? 1 << 20 : 4;
  options.seed = sweepCase.seed;
  SweepOutcome outcome;
  auto result =
      checkOnEmulator(*sweepCase.family, weight, problem, sweepCase.strategy,
                      options, 90, sweepCase.side, &outcome.buildSeconds);
  outcome.totalSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (!result) {
    outcome.failure = llvm::toString(result.takeError());
    return outcome;
  }
  outcome.launches = result->launches;
  if (result->status != CheckStatus::Verified)
    outcome.failure =
        sparseditto::name(result->status).str() + ": " +
        (result->failure ? result->failure->message : "no message");
  return outcome;
}
