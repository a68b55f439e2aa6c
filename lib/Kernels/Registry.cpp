//===- Registry.cpp - All families, and what they share -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Families.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace sparseditto;

KernelFamily::~KernelFamily() = default;

llvm::ArrayRef<const KernelFamily *> sparseditto::allFamilies() {
  static const KernelFamily *const families[] = {&nmFamily(), &blockFamily(),
                                                 &csrFamily(), &channelFamily(),
                                                 &denseFamily()};
  return families;
}

const KernelFamily *sparseditto::findFamily(llvm::StringRef name) {
  for (const KernelFamily *family : allFamilies())
    if (family->name() == name)
      return family;
  return nullptr;
}

const KnobDeclaration *FamilyDeclaration::find(llvm::StringRef knob) const {
  for (const KnobDeclaration &declared : knobs)
    if (declared.name == knob)
      return &declared;
  return nullptr;
}

Strategy FamilyDeclaration::defaults() const {
  Strategy strategy;
  strategy.family = name;
  for (const KnobDeclaration &knob : knobs)
    strategy.set(knob.name, knob.defaultValue);
  return strategy;
}

llvm::json::Value FamilyDeclaration::toSchema() const {
  llvm::json::Object properties;
  llvm::json::Array required;
  for (const KnobDeclaration &knob : knobs) {
    llvm::json::Array values;
    std::string help = knob.help;
    for (auto [i, value] : llvm::enumerate(knob.values)) {
      values.push_back(value);
      if (!knob.valueNames.empty())
        help += (i == 0 ? " (" : ", ") + std::to_string(value) + " = " +
                knob.valueNames[i];
    }
    if (!knob.valueNames.empty())
      help += ")";
    properties[knob.name] = llvm::json::Object{{"type", "integer"},
                                               {"enum", std::move(values)},
                                               {"default", knob.defaultValue},
                                               {"description", help}};
    required.push_back(knob.name);
  }
  return llvm::json::Object{
      {"type", "object"},
      {"description", summary + ". Accepts " + accepts},
      {"properties",
       llvm::json::Object{
           {"family", llvm::json::Object{{"const", name}}},
           {"knobs", llvm::json::Object{{"type", "object"},
                                        {"properties", std::move(properties)},
                                        {"required", std::move(required)},
                                        {"additionalProperties", false}}}}},
      {"required", llvm::json::Array{"family", "knobs"}}};
}

llvm::Error sparseditto::checkKnobs(const FamilyDeclaration &declaration,
                                    const Strategy &strategy) {
  if (strategy.family != declaration.name)
    return makeError("expected family {0}, got {1}", declaration.name,
                     strategy.family);
  for (const auto &[knob, value] : strategy.knobs)
    if (!declaration.find(knob))
      return llvm::createStringError(
          "family " + declaration.name + " has no knob '" + knob +
          "', expected one of " +
          llvm::join(llvm::map_range(declaration.knobs,
                                     [](const KnobDeclaration &declared) {
                                       return declared.name;
                                     }),
                     ", "));
  for (const KnobDeclaration &knob : declaration.knobs) {
    std::optional<int64_t> value = strategy.get(knob.name);
    if (!value)
      return llvm::createStringError("family " + declaration.name + ": knob '" +
                                     knob.name + "' is missing");
    if (!llvm::is_contained(knob.values, *value))
      return llvm::createStringError(
          "family " + declaration.name + ": knob '" + knob.name + "' got " +
          std::to_string(*value) + ", expected one of " +
          llvm::join(
              llvm::map_range(knob.values,
                              [](int64_t v) { return std::to_string(v); }),
              ", "));
  }
  return llvm::Error::success();
}

llvm::Error KernelFamily::check(const Strategy &strategy,
                                const Problem &problem,
                                unsigned computeCapability) const {
  if (llvm::Error error = checkKnobs(declaration(), strategy))
    return error;
  if (computeCapability < declaration().minComputeCapability)
    return makeError(
        "family {0}: expected compute capability of at least {1}, got {2}",
        declaration().name, declaration().minComputeCapability,
        computeCapability);
  return llvm::Error::success();
}

llvm::Expected<PackedWeight>
sparseditto::packChecked(const KernelFamily &family, const Matrix &weight,
                         const Strategy &strategy) {
  if (llvm::Error error = checkKnobs(family.declaration(), strategy))
    return error;
  auto packed = family.pack(weight, strategy);
  if (!packed)
    return packed.takeError();
  auto back = family.unpack(*packed);
  if (!back)
    return back.takeError();
  auto differ = [&](int64_t r, int64_t c) {
    return makeError("family {0}: packing changed the weight at ({1}, {2})",
                     family.name(), r, c);
  };
  if (back->rows != weight.rows || back->cols != weight.cols ||
      back->type != weight.type)
    return llvm::createStringError("family " + family.name() +
                                   ": packing changed the shape or type");
  const unsigned bytes = byteSize(weight.type);
  for (int64_t r = 0; r < weight.rows; ++r) {
    const size_t rowBytes = size_t(weight.cols) * bytes;
    if (weight.cols == 0 ||
        std::memcmp(weight.at(r, 0), back->at(r, 0), rowBytes) == 0)
      continue;
    for (int64_t c = 0; c < weight.cols; ++c)
      if (std::memcmp(weight.at(r, c), back->at(r, c), bytes) != 0 &&
          !(weight.value(r, c) == 0 && back->value(r, c) == 0))
        return differ(r, c);
  }
  return packed;
}
