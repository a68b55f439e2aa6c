//===- Problem.cpp - One product to lower ---------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Problem.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;

llvm::StringRef sparseditto::name(Layout layout) {
  switch (layout) {
  case Layout::TokenMajor:
    return "token-major";
  case Layout::FeatureMajor:
    return "feature-major";
  }
  llvm_unreachable("unknown layout");
}

std::optional<Layout> sparseditto::parseLayout(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<Layout>>(text)
      .Case("token-major", Layout::TokenMajor)
      .Case("feature-major", Layout::FeatureMajor)
      .Default(std::nullopt);
}

llvm::StringRef sparseditto::name(Activation activation) {
  switch (activation) {
  case Activation::None:
    return "none";
  case Activation::Relu:
    return "relu";
  case Activation::Gelu:
    return "gelu";
  case Activation::Silu:
    return "silu";
  }
  llvm_unreachable("unknown activation");
}

std::optional<Activation> sparseditto::parseActivation(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<Activation>>(text)
      .Case("none", Activation::None)
      .Case("relu", Activation::Relu)
      .Case("gelu", Activation::Gelu)
      .Case("silu", Activation::Silu)
      .Default(std::nullopt);
}

std::optional<int64_t> Strategy::get(llvm::StringRef knob) const {
  for (const auto &[name, value] : knobs)
    if (name == knob)
      return value;
  return std::nullopt;
}

void Strategy::set(llvm::StringRef knob, int64_t value) {
  for (auto &[name, current] : knobs)
    if (name == knob) {
      current = value;
      return;
    }
  knobs.emplace_back(knob.str(), value);
}

std::string Strategy::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << family << '{';
  llvm::StringRef separator = "";
  for (const auto &[name, value] : knobs) {
    os << separator << name << '=' << value;
    separator = ",";
  }
  os << '}';
  return text;
}

std::optional<Strategy> sparseditto::parseStrategy(llvm::StringRef text) {
  constexpr size_t maxKnobs = 256;
  Strategy strategy;
  auto [family, rest] = text.split('{');
  if (family.empty() || !rest.consume_back("}"))
    return std::nullopt;
  strategy.family = family.str();
  while (!rest.empty()) {
    auto [knob, others] = rest.split(',');
    auto [name, number] = knob.split('=');
    int64_t value = 0;
    if (name.empty() || number.getAsInteger(10, value) || strategy.get(name) ||
        strategy.knobs.size() == maxKnobs)
      return std::nullopt;
    strategy.set(name, value);
    rest = others;
  }
  // One spelling for each strategy: no comma at the end, no "+1".
  if (strategy.str() != text)
    return std::nullopt;
  return strategy;
}
